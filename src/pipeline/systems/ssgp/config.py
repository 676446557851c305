"""The settings of `recipe=ssgp`, and what the rest of the pipeline knows of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from omegaconf import MISSING

from pipeline.settings.fields import setting
from pipeline.settings.schema import CommonConfig
from pipeline.systems.registry import System
from pipeline.systems.ssgp.comparison import PROCESSES

ONE_MODEL = "a run trains one model: model=ssgp sampler=iid features.count=64 seed=0"


@dataclass
class FeatureCountConfig:
    count: int = setting(above=0, cap="count")


@dataclass
class SsgpSectionConfig:
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
    """Holds the settings of `recipe=ssgp`."""

    MOVED: ClassVar[dict[str, str]] = {
        "ssgp.arms": f"{ONE_MODEL}; several: +experiment=ssgp contender=ssgp/iid,ssgp/orthogonal,ridge",
        "ssgp.counts": f"{ONE_MODEL}; several: +experiment=ssgp features.count=16,32,64",
        "ssgp.seeds": f"{ONE_MODEL}; several: +experiment=ssgp 'seed=range(8)'",
        "samplers": f"{ONE_MODEL}; several: +experiment=ssgp contender=ssgp/iid,ssgp/orthogonal",
    }

    data: Any = MISSING
    model: Any = MISSING
    kernel: Any = MISSING
    sampler: Any = MISSING
    features: FeatureCountConfig = field(default_factory=FeatureCountConfig)
    ssgp: SsgpSectionConfig = field(default_factory=SsgpSectionConfig)
    autoencoder: AutoencoderConfig = field(default_factory=AutoencoderConfig)
    gpytorch: GpytorchConfig = field(default_factory=GpytorchConfig)
    stream: StreamConfig = field(default_factory=StreamConfig)


SYSTEM = System(
    settings=SsgpConfig,
    entry="pipeline.systems.ssgp.recipe:train",
    check="pipeline.systems.ssgp.checks:check",
    comparison=PROCESSES,
    servable="pipeline.systems.ssgp.servable:servable",
    data=("data.points:Points",),
    model=("models.ssgp.method:PointModel",),
    redraw="pipeline.systems.ssgp.redraw:study_from",
)
