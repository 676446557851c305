"""Settings that carry their own rules: what a value must be, and which limit of `size` lowers it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from omegaconf import MISSING, DictConfig, OmegaConf

from pipeline.host.errors import PipelineError
from pipeline.settings.nearest import did_you_mean

RULE = "rule"  # under which the metadata of a field hold its rule


@dataclass(frozen=True)
class Rule:
    """Says what each number of a setting, or of its list, must be; `choices` are the words that it may be.

    finite: it must be a finite number, whatever its size. cap: the setting of `size` that it is lowered to. said_below:
    what is said of `below` in place of the number.
    """

    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None
    choices: tuple[str, ...] = ()
    cap: str | None = None
    may_be_empty: bool = False
    may_be_infinite: bool = False
    finite: bool = False
    said_below: str | None = None

    @property
    def bounded(self) -> bool:
        """Says whether the rule refuses any number."""
        bounds = (self.above, self.at_least, self.below, self.at_most)
        return self.finite or any(bound is not None for bound in bounds)

    @property
    def bounds(self) -> str:
        """The words for what a number must be: "from 0 to 1", "greater than 0 and below 1"."""
        above, at_least, below, at_most = (
            None if bound is None else f"{bound:.12g}"
            for bound in (self.above, self.at_least, self.below, self.at_most)
        )
        if at_least and at_most and not (above or below):
            return f"from {at_least} to {at_most}"
        upper = [f"at most {at_most}"] if at_most else [self.said_below or f"below {below}"] if below else []
        lower = [f"greater than {above}"] if above else []
        if at_least:
            lower.append(f"at least {at_least}" if upper else f"{at_least} or greater")
        return " and ".join([*lower, *upper])

    def broken_by(self, number: float) -> str | None:
        """Says what the number must be and is not; returns None where the number obeys the rule. NaN obeys no bound."""
        obeys = (
            (self.above is None or number > self.above)
            and (self.at_least is None or number >= self.at_least)
            and (self.below is None or number < self.below)
            and (self.at_most is None or number <= self.at_most)
        )
        if not obeys:
            return self.bounds
        return None if self.may_be_infinite or math.isfinite(number) else "finite"

    def check(self, key: str, value: Any) -> None:
        """Raises PipelineError, naming key and value, where the value breaks the rule. The value None is left alone."""
        values = list(value) if OmegaConf.is_list(value) else [] if value is None else [value]
        if OmegaConf.is_list(value) and not values and not self.may_be_empty:
            raise PipelineError(f"{key} is empty; give at least one value")
        for one in values:
            if self.choices and one not in self.choices:
                words = f"{key}={one} is unknown; choose one of {', '.join(self.choices)}"
                raise PipelineError(words + did_you_mean(str(one), self.choices))
            broken = self.broken_by(one) if self.bounded else None
            if broken is not None:
                raise PipelineError(f"{key}={value} must be {broken}")

    def lowered(self, value: Any, size: Any) -> Any:
        """Returns the value as its cap in `size` lowers it.

        Of a list of numbers each is lowered, and each result stands once, in rising order. Of a list of words the first
        ones are kept, as many as the cap allows.
        """
        limit = getattr(size, self.cap) if self.cap is not None else None
        if limit is None or value is None:
            return value
        if not OmegaConf.is_list(value):
            return min(value, limit)
        words = any(isinstance(one, str) for one in value)
        return list(value[:limit]) if words else sorted({min(one, limit) for one in value})


def setting(default: Any = MISSING, **rule: Any) -> Any:
    """Returns a field of a schema that carries `Rule(**rule)`; without a default it needs a value.

    Raises TypeError for a word that no rule has.
    """
    metadata = {RULE: Rule(**rule)}
    if isinstance(default, list):
        return field(default_factory=lambda: list(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def settings_in(schema: type) -> Iterator[tuple[str, Any, Rule | None]]:
    """Yields every setting of a schema and of the sections inside it: dotted key, type and rule, which is None where
    the setting has no rule.

    Of a list of sections each setting stands there once, `tune.space[].low`.
    """
    hints = get_type_hints(schema)
    for item in fields(schema):
        kind = hints[item.name]
        section, many = (get_args(kind)[0], "[]") if get_origin(kind) is list else (kind, "")
        if isinstance(section, type) and is_dataclass(section):
            yield from ((f"{item.name}{many}.{key}", inner, rule) for key, inner, rule in settings_in(section))
        else:
            yield item.name, kind, item.metadata.get(RULE)


@cache
def free_sections(schema: type) -> tuple[str, ...]:
    """Returns the settings that are of any kind and have to be given. They are sections whose keys are those of the
    class or function that their `_target_` names."""
    given = {item.name for item in fields(schema) if item.default is MISSING}
    return tuple(key for key, kind, _ in settings_in(schema) if kind is Any and key in given)


@cache
def rules_of(schema: type) -> dict[str, Rule]:
    """Returns the rules of a schema by dotted key."""
    return {key: rule for key, _, rule in settings_in(schema) if rule is not None}


def rules(config: DictConfig) -> dict[str, Rule]:
    """Returns the rules of the schema that a configuration was composed with; none where there is no schema."""
    schema = OmegaConf.get_type(config)
    return rules_of(schema) if is_dataclass(schema) else {}


def places(config: DictConfig, key: str) -> list[str]:
    """Returns the keys at which a setting stands: its own key, or for a list of sections its key in each of them,
    `tune.space[0].low`."""
    before, many, after = key.partition("[]")
    sections = OmegaConf.select(config, before) if many else None
    if not many:
        return [key]
    return [place for i in range(len(sections or ())) for place in places(config, f"{before}[{i}]{after}")]


def check_rules(config: DictConfig, *, section: str = "") -> None:
    """Raises PipelineError for the first setting that breaks its rule. Only settings that begin with `section` are
    checked."""
    for key, rule in rules(config).items():
        if key.startswith(section):
            for place in places(config, key):
                rule.check(place, OmegaConf.select(config, place))


def capped(config: DictConfig) -> Iterator[tuple[str, Any, Any]]:
    """Yields each setting that has a limit in `size` and that the limit may change: dotted key, value and the value as
    `Rule.lowered` gives it."""
    for key, rule in rules(config).items():
        for place in places(config, key) if rule.cap is not None else ():
            value = OmegaConf.select(config, place)
            lowered = rule.lowered(value, config.size)
            if lowered is not value:
                yield place, value, lowered


def apply_caps(config: DictConfig) -> None:
    """Lowers what exceeds the limits of `size`. This is done after composition, so that the limit wins over an
    experiment."""
    for place, _, lowered in capped(config):
        OmegaConf.update(config, place, lowered)


def lowered_in_words(config: DictConfig) -> tuple[str, ...]:
    """Returns the settings that `size` lowers, as "features.count 16 → 10". A configuration whose caps were applied has
    none."""
    return tuple(
        f"{place} {in_words(value)} → {in_words(lowered)}"
        for place, value, lowered in capped(config)
        if set(listed(value)) != set(listed(lowered))
    )


def listed(value: Any) -> list[Any]:
    """Returns a list of the settings as it is, and any other value in a list."""
    return list(value) if OmegaConf.is_list(value) or isinstance(value, list) else [value]


def in_words(value: Any) -> str:
    """Returns a value as a person types it, a list with its brackets."""
    one = not (OmegaConf.is_list(value) or isinstance(value, list))
    return str(value) if one else f"[{','.join(map(str, value))}]"
