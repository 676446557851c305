"""The rule of each setting: that every number has one, and what it refuses and lowers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from inspect import signature
from typing import Any, get_args

import pytest
from hydra.utils import get_object
from omegaconf import MISSING, OmegaConf

from data.ranges import Count, Share
from models.ranges import NotNegative
from pipeline.host.errors import PipelineError
from pipeline.settings.fields import Rule, apply_caps, check_rules, free_sections, rules_of, setting, settings_in
from pipeline.settings.parameters import check_numbers, parameters_of, ranges_in
from pipeline.settings.schema import SizeConfig
from pipeline.systems.registry import SYSTEMS, schemas, targets_of


def counts(kind: Any) -> bool:
    """Whether a type is that of a number, or holds numbers: int, float | None, list[int]."""
    return kind in (int, float) or any(counts(inner) for inner in get_args(kind))


def unbounded(schema: type) -> set[str]:
    """The settings of a schema that are numbers and that no bound holds."""
    return {
        key for key, kind, rule in settings_in(schema) if counts(kind) and (rule is None or not rule.bounded)
    }  # fmt: skip


def unbounded_parameters(target: Any) -> set[str]:
    """The parameters of a class or function that are numbers and that no range holds."""
    return {
        name for name, kind in parameters_of(target).items()
        if counts(kind) and not any(rule.bounded for _, rule in ranges_in(kind))
    }  # fmt: skip


def loaded(
    *, path: str, held: Count, share: Share | None, ridges: list[NotNegative], loose: int, free: list[float] | None
) -> None:
    """A loader that says of some numbers what they must be."""


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
    assert unbounded_parameters(loaded) == {"loose", "free"}


@pytest.mark.parametrize("group", ["data", "kernel", "sampler", "model"])
def test_every_number_that_a_target_takes_has_a_range(group: str) -> None:
    targets = [get_object(target) for target in targets_of(group).values()]
    assert len(targets) >= 5
    assert any(counts(kind) for target in targets for kind in parameters_of(target).values())
    for target in targets:
        assert set(parameters_of(target)) == set(signature(target).parameters), target
        assert unbounded_parameters(target) == set(), target


def test_sections_of_any_keys_are_told_by_the_schema() -> None:
    assert free_sections(schemas()["psrnn"]) == ("data", "kernel", "sampler", "model")
    assert free_sections(schemas()["trace"]) == ("data",)
    assert free_sections(schemas()["theory"]) == ()
    assert not free_sections(SizeConfig)


@pytest.mark.parametrize("recipe", SYSTEMS)
def test_every_cap_is_a_limit_of_size(recipe: str) -> None:
    caps = {rule.cap for rule in rules_of(schemas()[recipe]).values()} - {None}
    assert caps <= {key for key, *_ in settings_in(SizeConfig)}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"name": "twoo"}, "name=twoo is unknown; choose one of one, two; did you mean two"),
        ({"number": 0}, "number=0 must be from 1 to 4"),
        ({"number": 5}, "number=5 must be from 1 to 4"),
        ({"inner": {"shares": [0.5, 0.0]}}, r"inner.shares=\[0.5, 0.0\] must be greater than 0"),
        ({"inner": {"shares": [1.0]}}, r"inner.shares=\[1.0\] must be greater than 0 and below 1"),
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


@dataclass
class DrawnConfig:
    low: float = setting(0.0, finite=True)
    high: float = 1.0
    most: int = setting(9, above=0, cap="count")


@dataclass
class ListedConfig:
    drawn: list[DrawnConfig] = MISSING
    size: SizeConfig = field(default_factory=SizeConfig)


def test_a_list_of_sections_has_the_rules_of_each() -> None:
    assert unbounded(ListedConfig) == {"drawn[].high"}
    config: Any = OmegaConf.merge(OmegaConf.structured(ListedConfig), {"size": {"count": 4}})
    check_rules(config)  # the list has no value yet
    config.drawn = [DrawnConfig(), DrawnConfig(low=-1.0, most=3)]
    check_rules(config)
    apply_caps(config)
    assert [one.most for one in config.drawn] == [4, 3]
    config.drawn[1].low = math.inf
    with pytest.raises(PipelineError, match=r"drawn\[1\]\.low=inf must be finite"):
        check_rules(config)


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


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"held": 0}, r"data\.held=0 must be 1 or greater"),
        ({"held": "abc"}, r"data\.held=abc must be a whole number"),
        ({"held": 1.5}, r"data\.held=1\.5 must be a whole number"),
        ({"held": True}, r"data\.held=True must be a whole number"),
        ({"held": [1]}, r"data\.held=\[1\] must be a whole number"),
        ({"held": None}, r"data\.held must have a value, not null"),
        ({"share": 1}, r"data\.share=1 must be greater than 0 and below 1"),
        ({"share": "much"}, r"data\.share=much must be a number"),
        ({"share": math.nan}, r"data\.share=nan must be greater than 0"),
        ({"ridges": 1.0}, r"data\.ridges must be a list, as in data\.ridges=\[…\]"),
        ({"ridges": [1.0, -0.5]}, r"data\.ridges=\[1\.0, -0\.5\] must be 0 or greater"),
        ({"ridges": [math.inf]}, r"data\.ridges=\[inf\] must be finite"),
    ],
)
def test_what_a_target_cannot_take_is_refused(given: dict[str, Any], message: str) -> None:
    fitting = {"_target_": "loaded", "path": "x", "held": 1, "share": None, "ridges": [0, 1e3], "loose": "any"}
    check_numbers("data", fitting, loaded)
    check_numbers("data", {**fitting, "share": 0.5, "held": {"_target_": "gives.a.number"}}, loaded)
    with pytest.raises(PipelineError, match=message):
        check_numbers("data", {**fitting, **given}, loaded)


def test_types_that_are_imported_for_checkers_alone_are_not_known() -> None:
    def own(seed: int) -> None: ...

    own.__annotations__["seed"] = "NotThere"
    assert parameters_of(own) == {}
