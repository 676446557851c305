"""Sections of `recipe=psrnn` and `tune`; `recipe=trace` has those before refinement too."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING, DictConfig, OmegaConf

from models.choices import SCALES, UPDATES
from pipeline.host.errors import PipelineError


@dataclass
class BandwidthConfig:
    rule: str = MISSING
    value: float | None = None
    percentile: float = 50.0
    scale: float = 1.0
    pairs: int = 20000


@dataclass
class FeaturesConfig:
    count: int = MISSING
    projection: int | None = None
    bandwidth: BandwidthConfig = field(default_factory=BandwidthConfig)


@dataclass
class InitialiseConfig:
    method: str = MISSING
    ridge: float = MISSING
    scale: str = MISSING
    whitening: float = MISSING
    chunk: int = MISSING


@dataclass
class ReadoutConfig:
    lags: int | None = MISSING
    choices: list[int] = field(default_factory=list)
    ridges: list[float] = MISSING
    state_ridges: list[float] | None = None
    scale: str = MISSING


@dataclass
class RefineConfig:
    epochs: int = MISSING
    optimizer: str = MISSING
    learning_rate: float | None = None
    horizon: int = MISSING
    batch_size: int = MISSING
    clip: float = MISSING
    damping: float = MISSING
    solve_readout: bool = True
    learn_frequencies: bool = False


@dataclass
class EvaluateConfig:
    first_step: int = MISSING
    horizons: list[int] = MISSING
    orders: list[int] = MISSING
    ridges: list[float] = MISSING
    season: int | None = None


@dataclass
class DrawnConfig:
    """A setting that a search draws: from `low` to `high` (both whole: whole numbers), or one of `choices`."""

    key: str = MISSING
    low: Any = None
    high: Any = None
    log: bool = False
    choices: list[Any] | None = None


@dataclass
class SearchConfig:
    trials: int = MISSING
    trial: int | None = None
    space: list[DrawnConfig] = MISSING
    warmup: int = MISSING
    storage: str | None = None


PSRNN_CHOICES: dict[str, tuple[str, ...]] = {
    "update": UPDATES,
    "initialise.method": ("two_stage", "random"),
    "initialise.scale": SCALES,
    "readout.scale": SCALES,
    "refine.optimizer": ("auto", "kronecker", "sgd", "adam"),
}
PSRNN_POSITIVE = (
    "features.count", "features.bandwidth.scale", "features.bandwidth.pairs", "initialise.ridge",
    "initialise.whitening", "initialise.chunk", "features.projection", "readout.ridges", "readout.state_ridges",
    "refine.horizon", "refine.learning_rate", "refine.batch_size", "refine.clip", "refine.damping", "evaluate.horizons",
    "evaluate.orders", "evaluate.ridges", "tune.trials",
)  # fmt: skip
PSRNN_NOT_NEGATIVE = (
    "readout.lags", "readout.choices", "refine.epochs", "evaluate.first_step", "evaluate.season", "tune.warmup",
)  # fmt: skip
PSRNN_MAY_BE_EMPTY = ("evaluate.orders", "readout.choices")
PSRNN_CAPS = {"features.count": "count", "features.projection": "count", "refine.epochs": "epochs"}


def check_lags(config: DictConfig) -> None:
    """Raise PipelineError where nothing says how many lags; the PSRNN of a Hessian has those that its settings give."""
    if OmegaConf.select(config, "hessian") is not None and config.hessian.readout.lags is None:
        raise PipelineError("hessian.readout.lags has no value; give a number, 0 for the state alone")
    readout = OmegaConf.select(config, "readout")
    if readout is not None and readout.lags is None and not readout.choices:
        raise PipelineError("readout.lags=null leaves the choice to readout.choices, which is empty; give one of them")
