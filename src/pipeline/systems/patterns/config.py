"""The settings of `recipe=patterns`: what attention to long documents sees, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from pipeline.host.errors import PipelineError
from pipeline.settings.fields import setting
from pipeline.settings.schema import CommonConfig, refuse_repeated
from pipeline.systems.registry import System

STUDIES = ("lengths", "masks", "cost")


@dataclass
class PatternsSettings:
    show: str = setting(choices=STUDIES)
    vocabulary: int = setting(above=0)
    lower_case: bool = MISSING
    words: int = setting(above=0, cap="steps")
    tokens: list[int] = setting(above=1, cap="steps")
    dense: int = setting(at_least=0, cap="steps")
    repeats: int = setting(above=0, cap="trials")
    heads: int = setting(above=0)
    width: int = setting(above=0)


@dataclass
class PatternsConfig(CommonConfig):
    """`recipe=patterns`. datasets and attentions hold a section with a `_target_` for every name."""

    datasets: dict[str, Any] = MISSING
    attentions: dict[str, Any] = MISSING
    patterns: PatternsSettings = field(default_factory=PatternsSettings)


def check(settings: PatternsConfig) -> None:
    """Raises PipelineError for settings that leave nothing to show, before anything is loaded."""
    refuse_repeated("patterns.tokens", settings.patterns.tokens)
    if not settings.datasets:
        raise PipelineError("datasets is empty; name one as '+data@datasets.NAME=CHOICE'")
    if not settings.attentions and settings.patterns.show != "lengths":
        raise PipelineError("attentions is empty; name one as '+attention@attentions.NAME=CHOICE'")


SYSTEM = System(
    settings=PatternsConfig,
    entry="pipeline.systems.patterns.recipe:show",
    check="pipeline.systems.patterns.config:check",
)
