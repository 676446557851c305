"""The sections of `recipe=trace`; see `pipeline.settings.schema`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from models.choices import DISTRIBUTIONS
from pipeline.settings.config_psrnn import (
    PSRNN_CHOICES,
    PSRNN_MAY_BE_EMPTY,
    PSRNN_NOT_NEGATIVE,
    PSRNN_POSITIVE,
    FeaturesConfig,
    InitialiseConfig,
    ReadoutConfig,
)

PROBLEMS = ("synthetic", "roget", "condmat", "precipitation", "smoother", "hessian")
PRODUCTS = ("exact", "implicit")


@dataclass
class TraceDataConfig:
    root: str | None = None
    source: str = MISSING
    seed: int = MISSING


@dataclass
class MatrixConfig:
    """What the matrix is made with; each problem uses some of it."""

    size: int = MISSING
    points: int = MISSING
    length: float = MISSING
    ridge: float = MISSING
    smoothing: float = MISSING
    steps: int = MISSING
    products: str = MISSING


@dataclass
class EstimateConfig:
    methods: list[str] = MISSING
    queries: list[int] = MISSING
    distribution: str = MISSING
    epsilon: float = MISSING
    trials: int = MISSING
    runs: int = MISSING


@dataclass
class TimingConfig:
    queries: list[int] = MISSING
    trials: int = MISSING
    processes: int = MISSING


@dataclass
class HessianConfig:
    """The PSRNN and the chunks of its training part, of whose loss the matrix is the Hessian."""

    data: Any = MISSING
    kernel: Any = MISSING
    sampler: Any = MISSING
    model: Any = MISSING
    update: str = MISSING
    features: FeaturesConfig = field(default_factory=FeaturesConfig)
    initialise: InitialiseConfig = field(default_factory=InitialiseConfig)
    readout: ReadoutConfig = field(default_factory=ReadoutConfig)
    first_step: int = MISSING
    horizon: int = MISSING
    chunks: int = MISSING


@dataclass
class TraceSections:
    problem: str = MISSING
    data: TraceDataConfig = field(default_factory=TraceDataConfig)
    matrix: MatrixConfig = field(default_factory=MatrixConfig)
    hessian: HessianConfig = field(default_factory=HessianConfig)
    estimate: EstimateConfig = field(default_factory=EstimateConfig)
    timing: TimingConfig = field(default_factory=TimingConfig)


SHARED = ("update", "features.", "initialise.", "readout.")  # the settings of a PSRNN that `hessian` has too


def of_hessian(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Those of a PSRNN's settings that `hessian` has too, as they are named there."""
    return tuple(f"hessian.{key}" for key in keys if key.startswith(SHARED))


TRACE_CHOICES: dict[str, tuple[str, ...]] = {
    "problem": PROBLEMS,
    "matrix.products": PRODUCTS,
    "estimate.distribution": DISTRIBUTIONS,
    **{key: PSRNN_CHOICES[key.removeprefix("hessian.")] for key in of_hessian(tuple(PSRNN_CHOICES))},
}
TRACE_POSITIVE = (
    "matrix.size", "matrix.points", "matrix.length", "matrix.smoothing", "matrix.steps", "estimate.queries",
    "estimate.epsilon", "estimate.trials", "estimate.runs", "timing.queries", "timing.processes",
    "hessian.horizon", "hessian.chunks", *of_hessian(PSRNN_POSITIVE),
)  # fmt: skip
TRACE_MAY_BE_EMPTY = of_hessian(PSRNN_MAY_BE_EMPTY)
TRACE_NOT_NEGATIVE = ("matrix.ridge", "timing.trials", "hessian.first_step", *of_hessian(PSRNN_NOT_NEGATIVE))
TRACE_CAPS = {
    "matrix.size": "steps", "matrix.points": "steps", "estimate.queries": "steps", "timing.queries": "steps",
    "estimate.trials": "sequences", "estimate.runs": "seeds", "timing.trials": "seeds", "timing.processes": "seeds",
    "hessian.features.count": "seeds", "hessian.chunks": "sequences",
}  # fmt: skip
