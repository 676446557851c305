"""The settings of `recipe=mctn`, and what the rest of the pipeline knows of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from pipeline.settings.fields import setting
from pipeline.settings.schema import CommonConfig
from pipeline.systems.mctn.comparison import SENTIMENT
from pipeline.systems.registry import System

# as `models.mctn.network.Share` and `models.sequence.recurrent.Feedback` name them, whose modules import torch
SHARES, FEEDBACKS = ("padded", "core", "none"), ("none", "prediction", "teacher")


@dataclass
class WeightsConfig:
    translation: float = setting(at_least=0)
    cycle: float = setting(at_least=0)
    second: float = setting(at_least=0)


@dataclass
class MctnSectionConfig:
    arm: str = MISSING
    share: str = setting(choices=SHARES)
    feedback: str = setting(choices=FEEDBACKS)
    teacher_forcing: float = setting(at_least=0, at_most=1)
    units: int = setting(above=0, cap="count")
    layers: int = setting(above=0)
    dropout: float = setting(at_least=0, below=1)
    modality_dropout: float = setting(at_least=0, below=1)
    weights: WeightsConfig = field(default_factory=WeightsConfig)
    bar: str | None = None
    missing: str | None = None


@dataclass
class FitConfig:
    epochs: int = setting(at_least=0, cap="epochs")
    learning_rate: float = setting(above=0)
    batch_size: int = setting(above=0)
    clip: float = setting(above=0)
    l2: float = setting(at_least=0)
    patience: int | None = setting(None, at_least=1)


@dataclass
class MctnConfig(CommonConfig):
    """Holds the settings of `recipe=mctn`."""

    data: Any = MISSING
    mctn: MctnSectionConfig = field(default_factory=MctnSectionConfig)
    fit: FitConfig = field(default_factory=FitConfig)


SYSTEM = System(
    settings=MctnConfig,
    entry="pipeline.systems.mctn.recipe:train",
    check="pipeline.systems.mctn.checks:check",
    comparison=SENTIMENT,
    servable="pipeline.systems.mctn.servable:servable",
    data=("data.utterances:Utterances",),
    redraw="pipeline.systems.mctn.redraw:multirun_from",
)
