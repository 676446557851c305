"""The sections of `recipe=trace`; see `pipeline.config`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from models.numerics.ridge import SCALES
from models.psrnn.initialise import UPDATES
from models.trace.queries import DISTRIBUTIONS
from pipeline.config_psrnn import FeaturesConfig, InitialiseConfig, ReadoutConfig

PROBLEMS = ("synthetic", "roget", "condmat", "precipitation", "hessian")
PRODUCTS = ("exact", "lanczos")


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


TRACE_CHOICES: dict[str, tuple[str, ...]] = {
    "problem": PROBLEMS,
    "matrix.products": PRODUCTS,
    "estimate.distribution": DISTRIBUTIONS,
    "hessian.update": UPDATES,
    "hessian.initialise.method": ("two_stage", "random"),
    "hessian.initialise.scale": SCALES,
    "hessian.readout.scale": SCALES,
}
TRACE_POSITIVE = (
    "matrix.size", "matrix.points", "matrix.length", "matrix.steps", "estimate.queries", "estimate.epsilon",
    "estimate.trials", "estimate.runs", "timing.queries", "timing.processes",
    "hessian.features.count", "hessian.features.projection", "hessian.features.bandwidth.scale",
    "hessian.features.bandwidth.pairs", "hessian.initialise.ridge", "hessian.initialise.whitening",
    "hessian.initialise.chunk", "hessian.readout.ridges", "hessian.readout.state_ridges", "hessian.horizon",
    "hessian.chunks",
)  # fmt: skip
TRACE_NOT_NEGATIVE = ("matrix.ridge", "timing.trials", "hessian.readout.lags", "hessian.first_step")
TRACE_CAPS = {
    "matrix.size": "steps", "matrix.points": "steps", "estimate.queries": "steps", "timing.queries": "steps",
    "estimate.trials": "sequences", "estimate.runs": "seeds", "timing.trials": "seeds", "timing.processes": "seeds",
    "hessian.features.count": "seeds", "hessian.chunks": "sequences",
}  # fmt: skip
