"""The settings of `recipe=tune`, which are those of the recipe that it searches and a section of its own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from omegaconf import MISSING

from pipeline.settings.fields import setting
from pipeline.systems.registry import system

SEARCHED = system("psrnn")
Searched: Any = SEARCHED.settings


@dataclass
class DrawnConfig:
    """A setting that a search draws: from `low` to `high` (both whole: whole numbers), or one of `choices`."""

    key: str = MISSING
    low: Any = None
    high: Any = None
    log: bool = False
    choices: list[Any] | None = None


@dataclass
class SearchConfig:
    trials: int = setting(above=0, cap="trials")
    trial: int | None = setting(None, at_least=0)
    space: list[DrawnConfig] = MISSING
    warmup: int = setting(at_least=0)
    storage: str | None = None


@dataclass
class TuneConfig(Searched):
    """`recipe=tune`."""

    tune: SearchConfig = field(default_factory=SearchConfig)


SYSTEM = replace(SEARCHED, settings=TuneConfig, entry="pipeline.systems.tune.recipe:trial")
