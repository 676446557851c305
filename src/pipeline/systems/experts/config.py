"""The settings of `recipe=experts`, and what the rest of the pipeline knows of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from pipeline.job.schedules import SCHEDULES
from pipeline.settings.fields import setting
from pipeline.settings.schema import CommonConfig
from pipeline.systems.experts.comparison import TRANSLATION
from pipeline.systems.registry import System

# as `models.experts.tags.TAGS` and `models.experts.arms.Start` name them, whose modules import torch
TAGS, STARTS = ("target", "task", "none"), ("independent", "copied")
SELECT = ("nll", "bleu")
ADAPT = ("all", "adapters", "tasks", "tasks+gates", "none")  # "none", or as `models.experts.growth` takes it


@dataclass
class MixtureConfig:
    arm: str = MISSING
    variant: str | None = None
    tag: str = setting(choices=TAGS)
    count: int = setting(above=0)
    top: int = setting(above=0)
    every: int = setting(above=0)
    start: str = setting(choices=STARTS)
    balance: float = setting(at_least=0)
    capacity: float | None = setting(None, above=0)


@dataclass
class AdapterConfig:
    count: int | None = setting(None, at_least=2)
    hidden: int = setting(above=0)


@dataclass
class TranslatorConfig:
    width: int = setting(above=0)
    heads: int = setting(above=0)
    hidden: int = setting(above=0)
    layers: int = setting(above=0)
    dropout: float = setting(at_least=0, below=1)


@dataclass
class VocabularyConfig:
    pieces: int = setting(above=0)
    prefix_space: bool = MISSING
    longest: int = setting(at_least=4, at_most=1000)


@dataclass
class SamplingConfig:
    temperature: float = setting(at_least=1)
    tokens: int = setting(above=0)


@dataclass
class FitConfig:
    epochs: int = setting(at_least=0, cap="epochs")
    updates: int = setting(above=0, cap="count")
    learning_rate: float = setting(above=0)
    schedule: str = setting(choices=tuple(SCHEDULES))
    warmup: int = setting(at_least=0, cap="count")
    clip: float = setting(above=0)
    smoothing: float = setting(at_least=0, below=1)
    patience: int | None = setting(None, at_least=1)
    select: str = setting(choices=SELECT)
    bleu: int = setting(at_least=0, cap="sequences")
    autocast: bool = MISSING


@dataclass
class FewshotConfig:
    languages: list[str] = setting([], may_be_empty=True)
    pairs: int = setting(above=0)
    adapt: str = setting(choices=ADAPT)
    epochs: int = setting(at_least=0, cap="epochs")
    updates: int = setting(above=0, cap="count")
    learning_rate: float = setting(above=0)
    warmup: int = setting(at_least=0, cap="count")


@dataclass
class DecodeConfig:
    beam: int = setting(at_least=1, at_most=8)
    penalty: float = setting(at_least=0)


@dataclass
class ExpertsConfig(CommonConfig):
    """Holds the settings of `recipe=experts`."""

    data: Any = MISSING
    experts: MixtureConfig = field(default_factory=MixtureConfig)
    adapter: AdapterConfig = field(default_factory=AdapterConfig)
    translator: TranslatorConfig = field(default_factory=TranslatorConfig)
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    fit: FitConfig = field(default_factory=FitConfig)
    fewshot: FewshotConfig = field(default_factory=FewshotConfig)
    decode: DecodeConfig = field(default_factory=DecodeConfig)


SYSTEM = System(
    settings=ExpertsConfig,
    entry="pipeline.systems.experts.recipe:train",
    check="pipeline.systems.experts.checks:check",
    comparison=TRANSLATION,
    redraw="pipeline.systems.experts.redraw:multirun_from",
    servable="pipeline.systems.experts.servable:servable",
    data=("data.text_pairs:TextPairs",),
)
