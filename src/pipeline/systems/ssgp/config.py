"""The settings of `recipe=ssgp`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from pipeline.settings.fields import setting
from pipeline.settings.schema import CommonConfig
from pipeline.systems.registry import System


@dataclass
class SsgpSectionConfig:
    arms: list[str] = MISSING
    counts: list[int] = setting(above=0, cap="count")
    seeds: int = setting(above=0, cap="seeds")
    iterations: int = setting(above=0, cap="epochs")
    learning_rate: float = setting(above=0)
    every: int = setting(above=0)
    ridges: list[float] = setting(above=0)
    picture: int = setting(above=0, cap="steps")


@dataclass
class AutoencoderConfig:
    components: int = setting(above=0)
    latent: int = setting(above=0)
    alpha: float = setting(at_least=0)
    beta: float = setting(at_least=0)
    steps: int = setting(above=0, cap="epochs")
    batch_size: int = setting(above=0)
    learning_rate: float = setting(above=0)


@dataclass
class GpytorchConfig:
    points: int = setting(above=0, cap="steps")
    batch_size: int = setting(above=0)


@dataclass
class StreamConfig:
    rows: list[int] = setting(above=0, cap="steps", may_be_empty=True)
    dimension: int = setting(above=0)
    count: int = setting(above=0, cap="count")


@dataclass
class SsgpConfig(CommonConfig):
    """`recipe=ssgp`. samplers holds a section with a `_target_` for every name."""

    data: Any = MISSING
    kernel: Any = MISSING
    samplers: Any = MISSING
    ssgp: SsgpSectionConfig = field(default_factory=SsgpSectionConfig)
    autoencoder: AutoencoderConfig = field(default_factory=AutoencoderConfig)
    gpytorch: GpytorchConfig = field(default_factory=GpytorchConfig)
    stream: StreamConfig = field(default_factory=StreamConfig)


SYSTEM = System(
    settings=SsgpConfig,
    entry="pipeline.systems.ssgp.recipe:compare",
    check="pipeline.systems.ssgp.recipe:check",
    data=("data.points:Points",),
    redraw="pipeline.systems.ssgp.redraw:study_from",
)
