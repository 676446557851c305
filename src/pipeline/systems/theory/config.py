"""The settings of `recipe=theory`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from pipeline.host.errors import PipelineError
from pipeline.settings.fields import setting
from pipeline.settings.schema import CommonConfig, refuse_repeated
from pipeline.systems.registry import System


@dataclass
class TheorySettings:
    kernels: list[str] = setting(cap="names")
    samplers: list[str] = MISSING
    baselines: list[str] = MISSING
    dimensions: list[int] = setting(above=0, may_be_empty=True)
    data: list[str] = setting(may_be_empty=True, cap="names")
    rows: int = setting(above=0, cap="steps")
    window: int = setting(above=0)
    counts: list[int] = setting(above=0, cap="count")
    draws: int = setting(above=0, cap="seeds")
    ridge: float = setting(above=0)
    noise: float = setting(at_least=0)
    thresholds: list[float] = setting(above=0)
    dense_rows: int = setting(above=0)
    preconditioner: int = setting(above=0)


@dataclass
class TheoryConfig(CommonConfig):
    """Holds the settings of `recipe=theory`. kernels, samplers and datasets hold a section with a `_target_` for every
    name."""

    kernels: dict[str, Any] = MISSING
    samplers: dict[str, Any] = MISSING
    datasets: dict[str, Any] = MISSING
    theory: TheorySettings = field(default_factory=TheorySettings)


def check(settings: TheoryConfig) -> None:
    """Raises PipelineError for settings that leave nothing to measure or to compare, before anything is loaded."""
    theory = settings.theory
    for section in ("counts", "dimensions", "thresholds"):
        refuse_repeated(f"theory.{section}", getattr(theory, section))
    refuse_repeated("theory.data", theory.data)
    unknown = [name for name in theory.data if name not in settings.datasets]
    if unknown:
        raise PipelineError(f"theory.data: {unknown[0]} is unknown; choose among {', '.join(settings.datasets)}")
    if not theory.dimensions and not theory.data:
        raise PipelineError("theory.dimensions and theory.data are both empty; give one of them")
    if theory.rows < 2:
        raise PipelineError(
            f"theory.rows={theory.rows}: a kernel matrix of one point is always approximated; take more"
        )
    unknown = [name for name in theory.baselines if name not in theory.samplers]
    if unknown or not theory.baselines:
        raise PipelineError(f"theory.baselines={list(theory.baselines)} must be among theory.samplers, at least one")
    if settings.dtype != "float64":
        raise PipelineError(f"dtype={settings.dtype}: recipe=theory computes in float64; leave dtype out")


SYSTEM = System(
    settings=TheoryConfig,
    entry="pipeline.systems.theory.recipe:study_of_draws",
    check="pipeline.systems.theory.config:check",
)
