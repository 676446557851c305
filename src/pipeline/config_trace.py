"""The sections of `recipe=trace`; see `pipeline.config`."""

from __future__ import annotations

from dataclasses import dataclass, field

from omegaconf import MISSING

from models.trace.queries import DISTRIBUTIONS

PROBLEMS = ("synthetic", "roget", "condmat", "precipitation")
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
class TraceSections:
    problem: str = MISSING
    data: TraceDataConfig = field(default_factory=TraceDataConfig)
    matrix: MatrixConfig = field(default_factory=MatrixConfig)
    estimate: EstimateConfig = field(default_factory=EstimateConfig)
    timing: TimingConfig = field(default_factory=TimingConfig)


TRACE_CHOICES: dict[str, tuple[str, ...]] = {
    "problem": PROBLEMS,
    "matrix.products": PRODUCTS,
    "estimate.distribution": DISTRIBUTIONS,
}
TRACE_POSITIVE = (
    "matrix.size", "matrix.points", "matrix.length", "matrix.steps", "estimate.queries", "estimate.epsilon",
    "estimate.trials", "estimate.runs", "timing.queries", "timing.processes",
)  # fmt: skip
TRACE_NOT_NEGATIVE = ("matrix.ridge", "timing.trials")
TRACE_CAPS = {
    "matrix.size": "steps", "matrix.points": "steps", "estimate.queries": "steps", "timing.queries": "steps",
    "estimate.trials": "sequences", "estimate.runs": "seeds", "timing.trials": "seeds", "timing.processes": "seeds",
}  # fmt: skip
