"""The settings of `recipe=trace`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from models.choices import DISTRIBUTIONS, TRACE_METHODS, UPDATES
from pipeline.settings.fields import setting
from pipeline.settings.schema import CommonConfig
from pipeline.systems.psrnn.config import FeaturesConfig, InitialiseConfig, ReadoutConfig
from pipeline.systems.registry import System

OWN = "own"
PROBLEMS = ("synthetic", "roget", "condmat", "precipitation", "smoother", "hessian", OWN)
PRODUCTS = ("exact", "implicit")
FUNCTIONS = ("identity", "cube", "exp", "inverse", "log", "smoother")
COMPONENTS = ("all", "largest")


GRAPH, POINTS, MATRIX = "data.graphs:Graph", "data.points:Points", "data.matrices:SymmetricMatrix"
RECORDS = {"roget": GRAPH, "condmat": GRAPH, "precipitation": POINTS, "smoother": POINTS, OWN: MATRIX}  # of `data`


def problem_of(path: str | None) -> str:
    """Returns the problem for `${problem_of:${data.path}}`: a matrix of one's own where its file is given, else
    diag(1/i²)."""
    return "synthetic" if path is None else OWN


@dataclass
class MatrixConfig:
    """Says what the matrix is made with; each problem uses some of it. path to exact_rows: of a matrix of one's own;
    the first three are what data=matrix is read with."""

    path: str | None = None
    component: str = setting(choices=COMPONENTS)
    loops: bool = True
    exact_rows: int = setting(at_least=0)
    size: int = setting(above=0, cap="steps")
    points: int = setting(above=0, cap="steps")
    length: float = setting(above=0)
    ridge: float = setting(at_least=0)
    smoothing: float = setting(above=0)
    steps: int = setting(above=0)
    products: str = setting(choices=PRODUCTS)


@dataclass
class EstimateConfig:
    methods: list[str] = setting(choices=TRACE_METHODS)
    queries: list[int] = setting(above=0, cap="steps")
    distribution: str = setting(choices=DISTRIBUTIONS)
    epsilon: float = setting(above=0)
    trials: int = setting(above=0, cap="sequences")
    runs: int = setting(above=0, cap="seeds")


@dataclass
class TimingConfig:
    queries: list[int] = setting(above=0, cap="steps")
    trials: int = setting(at_least=0, cap="seeds")
    processes: int = setting(above=0, cap="seeds")


@dataclass
class HessianFeaturesConfig(FeaturesConfig):
    """Holds the settings of features as those of a PSRNN, with few frequencies: the Hessian has 8m³ rows and more."""

    count: int = setting(above=0, cap="seeds")
    projection: int | None = setting(None, above=0)


@dataclass
class HessianConfig:
    """Says which PSRNN, and which chunks of its training part, have the loss whose Hessian the matrix is."""

    data: Any = MISSING
    kernel: Any = MISSING
    sampler: Any = MISSING
    model: Any = MISSING
    update: str = setting(choices=UPDATES)
    features: HessianFeaturesConfig = field(default_factory=HessianFeaturesConfig)
    initialise: InitialiseConfig = field(default_factory=InitialiseConfig)
    readout: ReadoutConfig = field(default_factory=ReadoutConfig)
    first_step: int = setting(at_least=0)
    horizon: int = setting(above=0)
    chunks: int = setting(above=0, cap="sequences")


@dataclass
class TraceConfig(CommonConfig):
    """Holds the settings of `recipe=trace`."""

    problem: str = setting(choices=PROBLEMS)
    function: str = setting(choices=FUNCTIONS)
    data: Any = MISSING
    matrix: MatrixConfig = field(default_factory=MatrixConfig)
    hessian: HessianConfig = field(default_factory=HessianConfig)
    estimate: EstimateConfig = field(default_factory=EstimateConfig)
    timing: TimingConfig = field(default_factory=TimingConfig)


SYSTEM = System(
    settings=TraceConfig,
    entry="pipeline.systems.trace.recipe:estimate",
    check="pipeline.systems.trace.recipe:check",
    data=(GRAPH, POINTS, MATRIX),
    resolvers=(problem_of,),
)
