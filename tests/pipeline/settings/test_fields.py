"""The rule of each setting: that every number has one, and what it refuses and lowers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, get_args

import pytest
from omegaconf import OmegaConf

from pipeline.host.errors import PipelineError
from pipeline.settings.fields import Rule, apply_caps, check_rules, free_sections, rules_of, setting, settings_in
from pipeline.settings.schema import SizeConfig
from pipeline.systems.registry import SYSTEMS, schemas


def counts(kind: Any) -> bool:
    """Whether a type is that of a number, or holds numbers: int, float | None, list[int]."""
    return kind in (int, float) or any(counts(inner) for inner in get_args(kind))


def unbounded(schema: type) -> set[str]:
    """The settings of a schema that are numbers and that no bound holds."""
    return {
        key for key, kind, rule in settings_in(schema) if counts(kind) and (rule is None or not rule.bounded)
    }  # fmt: skip


@dataclass
class InnerConfig:
    shares: list[float] = setting(above=0, below=1)
    many: list[int] | None = setting(None, at_least=0, cap="steps", may_be_empty=True)
    free: float | None = None


@dataclass
class OuterConfig:
    name: str = setting("one", choices=("one", "two"))
    number: int = setting(3, at_least=1, at_most=4, cap="count")
    loose: int = 1
    switch: bool = True
    inner: InnerConfig = field(default_factory=InnerConfig)
    size: SizeConfig = field(default_factory=SizeConfig)


def outer(**changed: Any) -> Any:
    return OmegaConf.merge(OmegaConf.structured(OuterConfig), {"inner": {"shares": [0.5]}}, changed)


@pytest.mark.parametrize("recipe", SYSTEMS)
def test_every_number_of_every_recipe_has_a_rule(recipe: str) -> None:
    assert sum(counts(kind) for _, kind, _ in settings_in(schemas()[recipe])) >= 8
    assert unbounded(schemas()[recipe]) == set()


def test_a_number_without_a_rule_is_found() -> None:
    assert unbounded(OuterConfig) == {"loose", "inner.free"}


def test_sections_of_any_keys_are_told_by_the_schema() -> None:
    assert free_sections(schemas()["psrnn"]) == ("data", "kernel", "sampler", "model")
    assert free_sections(schemas()["trace"]) == ()  # its data are known by their keys
    assert not free_sections(SizeConfig)


@pytest.mark.parametrize("recipe", SYSTEMS)
def test_every_cap_is_a_limit_of_size(recipe: str) -> None:
    caps = {rule.cap for rule in rules_of(schemas()[recipe]).values()} - {None}
    assert caps <= {key for key, *_ in settings_in(SizeConfig)}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"name": "twoo"}, "name=twoo is unknown; choose one of one, two; did you mean two"),
        ({"number": 0}, "number=0 must be 1 or greater"),
        ({"number": 5}, "number=5 must be at most 4"),
        ({"inner": {"shares": [0.5, 0.0]}}, r"inner.shares=\[0.5, 0.0\] must be greater than 0"),
        ({"inner": {"shares": [1.0]}}, r"inner.shares=\[1.0\] must be below 1"),
        ({"inner": {"shares": []}}, "inner.shares is empty; give at least one value"),
        ({"inner": {"shares": [math.nan]}}, "must be greater than 0"),
        ({"size": {"sequences": -1}}, "size.sequences=-1 must be greater than 0"),
    ],
)
def test_a_value_that_breaks_its_rule_is_refused(changed: dict[str, Any], message: str) -> None:
    check_rules(outer())
    with pytest.raises(PipelineError, match=message):
        check_rules(outer(**changed))


def test_numbers_are_finite_and_words_may_replace_a_bound() -> None:
    with pytest.raises(PipelineError, match=r"x=inf must be finite"):
        Rule(above=0).check("x", math.inf)
    with pytest.raises(PipelineError, match=r"x=2 must be less than two"):
        Rule(below=2, said_below="less than two").check("x", 2)
    Rule(above=0).check("x", None)


def test_caps_lower_numbers_and_lists_and_nothing_else() -> None:
    config = outer(inner={"many": [9, 2, 7]}, size={"count": 2, "steps": 7})
    apply_caps(config)
    assert (config.number, config.inner.many, config.loose) == (2, [2, 7], 1)
    free = outer(inner={"many": [9, 2, 7]})
    apply_caps(free)
    assert (free.number, free.inner.many) == (3, [9, 2, 7])


def test_of_a_list_of_words_the_first_are_kept() -> None:
    rule = Rule(cap="names")
    words = OmegaConf.create(["c", "a", "b"])
    assert rule.lowered(words, OmegaConf.create({"names": 2})) == ["c", "a"]
    assert rule.lowered(words, OmegaConf.create({"names": 9})) == ["c", "a", "b"]
    assert rule.lowered(words, OmegaConf.create({"names": None})) is words
    assert rule.lowered(OmegaConf.create([]), OmegaConf.create({"names": 2})) == []
