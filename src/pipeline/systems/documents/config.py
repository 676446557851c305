"""The settings of `recipe=documents`, and what the rest of the pipeline knows of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from pipeline.settings.fields import setting
from pipeline.settings.schema import CommonConfig
from pipeline.systems.documents.comparison import DOCUMENTS
from pipeline.systems.registry import System

TASKS = ("entities", "classes", "mlm")
LAYOUTS = ("boxes", "text")
OVERFLOWS = ("chunk", "cut")
MASKINGS = ("dynamic", "static", "whole_word")


@dataclass
class ReadingConfig:
    task: str = setting(choices=TASKS)
    layout: str = setting(choices=LAYOUTS)
    max_length: int = setting(at_least=8, at_most=65536, cap="steps")
    overflow: str = setting(choices=OVERFLOWS)
    stride: int = setting(at_least=0, cap="count")
    lower_case: bool = MISSING
    vocabulary: int = setting(above=0)
    jitter: int = setting(at_least=0)
    shuffle: bool = MISSING
    repeated: float | None = setting(None, above=0, at_most=1)
    baselines: bool = MISSING
    variant: str | None = None


@dataclass
class EncoderConfig:
    width: int = setting(above=0)
    heads: int = setting(above=0)
    hidden: int = setting(above=0)
    layers: int = setting(above=0)
    norm: str = setting(choices=("pre", "post"))
    dropout: float = setting(at_least=0, below=1)
    adjacent: int = setting(at_least=0)
    places: str = setting(choices=("drawn", "smooth"))
    spelling: bool = MISSING


@dataclass
class PretrainConfig:
    steps: int = setting(at_least=0, cap="count")
    evaluate_every: int = setting(above=0, cap="count")
    share: float = setting(above=0, below=1)
    masking: str = setting(choices=MASKINGS)
    learning_rate: float = setting(above=0)
    warmup: float = setting(at_least=0, at_most=1)
    weight_decay: float = setting(at_least=0)
    max_tokens: int = setting(at_least=8)


@dataclass
class FinetuneConfig:
    epochs: int = setting(at_least=0, cap="epochs")
    learning_rate: float = setting(above=0)
    warmup: float = setting(at_least=0, at_most=1)
    weight_decay: float = setting(at_least=0)
    class_weight: float = setting(at_least=0, at_most=1)
    patience: int | None = setting(None, at_least=1)
    max_tokens: int | None = setting(None, at_least=8)


@dataclass
class DocumentsConfig(CommonConfig):
    """Holds the settings of `recipe=documents`."""

    data: Any = MISSING
    pretrain_on: Any = None
    attention: Any = MISSING
    documents: ReadingConfig = field(default_factory=ReadingConfig)
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    pretrain: PretrainConfig = field(default_factory=PretrainConfig)
    finetune: FinetuneConfig = field(default_factory=FinetuneConfig)


SYSTEM = System(
    settings=DocumentsConfig,
    entry="pipeline.systems.documents.recipe:train",
    check="pipeline.systems.documents.checks:check",
    comparison=DOCUMENTS,
    redraw="pipeline.systems.documents.redraw:multirun_from",
    data=("data.pages:Documents",),
    servable="pipeline.systems.documents.servable:servable",
)
