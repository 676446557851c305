"""The settings of `recipe=psrnn`, and what the rest of the pipeline knows of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from models.choices import SCALES, UPDATES
from pipeline.host.errors import PipelineError
from pipeline.settings.fields import setting
from pipeline.settings.schema import CommonConfig
from pipeline.systems.psrnn.comparison import FORECASTS
from pipeline.systems.registry import System


@dataclass
class BandwidthConfig:
    rule: str = MISSING
    value: float | None = setting(None, above=0)
    percentile: float = setting(50.0, at_least=0, at_most=100)
    scale: float = setting(1.0, above=0)
    pairs: int = setting(20000, above=0)


@dataclass
class FeaturesConfig:
    count: int = setting(above=0, cap="count")
    projection: int | None = setting(None, above=0, cap="count")
    bandwidth: BandwidthConfig = field(default_factory=BandwidthConfig)
    linear: float = setting(0.0, at_least=0)
    whiten: float = setting(0.0, at_least=0, at_most=1)
    traces: list[float] = setting([], above=0, may_be_empty=True)


@dataclass
class InitialiseConfig:
    method: str = setting(choices=("two_stage", "random"))
    ridge: float = setting(above=0)
    scale: str = setting(choices=SCALES)
    whitening: float = setting(above=0)
    chunk: int = setting(above=0)


@dataclass
class ReadoutConfig:
    lags: int | None = setting(at_least=0)
    choices: list[int] = setting([], at_least=0, may_be_empty=True)
    ridges: list[float] = setting(above=0)
    state_ridges: list[float] | None = setting(None, above=0)
    scale: str = setting(choices=SCALES)
    grouped: bool = False
    count: int = setting(0, at_least=0, cap="count")
    bandwidth: float = setting(1.0, above=0)
    whiten: float = setting(0.0, at_least=0, at_most=1)
    traces: list[float] = setting([], above=0, may_be_empty=True)
    direct: int = setting(0, at_least=0)
    shared: bool = False
    difference: bool = False

    @property
    def fitted_last(self) -> bool:
        """Whether the finished model gets a readout in groups, which the stage `readout` fits."""
        return self.grouped or self.difference or self.count > 0 or bool(self.traces) or self.direct > 0


@dataclass
class RefineConfig:
    epochs: int = setting(at_least=0, cap="epochs")
    patience: int | None = setting(None, at_least=1)
    optimizer: str = setting(choices=("auto", "kronecker", "sgd", "adam"))
    learning_rate: float | None = setting(None, above=0)
    horizon: int = setting(above=0)
    batch_size: int = setting(above=0)
    clip: float = setting(above=0)
    damping: float = setting(above=0)
    solve_readout: bool = True
    learn_frequencies: bool = False


@dataclass
class EvaluateConfig:
    first_step: int = setting(at_least=0)
    horizons: list[int] = setting(above=0)
    orders: list[int] = setting(above=0, may_be_empty=True)
    ridges: list[float] = setting(above=0)
    season: int | None = setting(None, at_least=0)
    window: int | None = setting(None, above=0)


@dataclass
class PsrnnConfig(CommonConfig):
    """Holds the settings of `recipe=psrnn`. The sections with a `_target_` are free: their keys are those of the class
    they name."""

    data: Any = MISSING
    kernel: Any = MISSING
    sampler: Any = MISSING
    update: str = setting(choices=UPDATES)
    members: int = setting(1, above=0)
    refit: bool = False
    features: FeaturesConfig = field(default_factory=FeaturesConfig)
    initialise: InitialiseConfig = field(default_factory=InitialiseConfig)
    model: Any = MISSING
    readout: ReadoutConfig = field(default_factory=ReadoutConfig)
    refine: RefineConfig = field(default_factory=RefineConfig)
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)


def check(settings: PsrnnConfig) -> None:
    """Raises PipelineError where nothing says how many lags the readout has, for features of no rows, and for a
    difference without lags."""
    readout = settings.readout
    if readout.lags is None and not readout.choices:
        raise PipelineError("readout.lags=null leaves the choice to readout.choices, which is empty; give one of them")
    if readout.count and readout.lags == 0 and not readout.traces:
        raise PipelineError(
            f"readout.count={readout.count}: its features are of lags and traces, and there are none; give "
            "readout.lags=4, say, or readout.traces=[4,8,16]"
        )
    if readout.difference and readout.lags == 0:
        raise PipelineError(
            "readout.difference=true takes the last row from what is seen; give readout.lags of 1 or more"
        )


def readout_for(data: str) -> str:
    """Returns the readout for `${readout_for:${data}}`: on the paper's data the paper's, on a person's own table the
    one that validation chooses."""
    return "auto" if data == "table" else "linear"


def refine_for(data: str, model: str) -> str:
    """Returns the refinement for `${refine_for:${data},${model}}`: none for a PSRNN on a table, else "bptt".

    On a table the readout that validation chose leaves a PSRNN's refinement next to nothing to gain. The networks are
    trained by nothing else, so they keep it.
    """
    return "none" if data == "table" and model in ("psrnn", "psrnn_cp") else "bptt"


def projected_to(directions: int, count: int) -> int:
    """Returns how many directions are kept of 2m features, m = `count`, for `${projected_to:80,${features.count}}`: as
    many as are asked for, or all where there are fewer."""
    return min(directions, 2 * count)


SYSTEM = System(
    settings=PsrnnConfig,
    entry="pipeline.systems.psrnn.recipe:train",
    check="pipeline.systems.psrnn.config:check",
    comparison=FORECASTS,
    servable="pipeline.systems.psrnn.servable:servable",
    data=("data.base:Dataset",),
    bfloat16=True,
    resolvers=(readout_for, refine_for, projected_to),
)
