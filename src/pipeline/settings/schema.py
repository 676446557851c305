"""The schema of the configuration: a misspelt key, a value out of range or a senseless combination ends at once."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING, DictConfig, OmegaConf

from pipeline.host.errors import PipelineError
from pipeline.settings.config_psrnn import (
    PSRNN_CAPS,
    PSRNN_CHOICES,
    PSRNN_MAY_BE_EMPTY,
    PSRNN_NOT_NEGATIVE,
    PSRNN_POSITIVE,
    EvaluateConfig,
    FeaturesConfig,
    InitialiseConfig,
    ReadoutConfig,
    RefineConfig,
    SearchConfig,
    check_lags,
)
from pipeline.settings.config_ssgp import (
    SSGP_CAPS,
    SSGP_MAY_BE_EMPTY,
    SSGP_NOT_NEGATIVE,
    SSGP_POSITIVE,
    AutoencoderConfig,
    GpytorchConfig,
    SsgpSectionConfig,
    StreamConfig,
)
from pipeline.settings.config_theory import (
    THEORY_CAPS,
    THEORY_MAY_BE_EMPTY,
    THEORY_NOT_NEGATIVE,
    THEORY_POSITIVE,
    TheorySettings,
)
from pipeline.settings.config_trace import (
    TRACE_CAPS,
    TRACE_CHOICES,
    TRACE_MAY_BE_EMPTY,
    TRACE_NOT_NEGATIVE,
    TRACE_POSITIVE,
    TraceSections,
)
from pipeline.settings.nearest import did_you_mean


@dataclass
class TrackingConfig:
    enabled: bool = True
    uri: str | None = None
    wait: float = 60.0
    register: str | None = None
    experiment: str | None = None
    log_model: Any = None
    detail: str = "full"
    parent: str | None = None


@dataclass
class CompareConfig:
    """What the parent of a multirun draws and tests; see `pipeline.compare.summary`."""

    figure: str = "count"
    arm: str | None = None
    baseline: str | None = None
    challenger: str | None = None


@dataclass
class SizeConfig:
    sequences: int | None = None
    steps: int | None = None
    count: int | None = None
    epochs: int | None = None
    seeds: int | None = None


@dataclass
class CommonConfig:
    """What every recipe has."""

    recipe: str = MISSING
    run_name: str | None = None
    seed: int = 0
    resume: Any = False
    threads: int | None = None
    device: str = "auto"
    dtype: str = "float64"
    extensions: list[str] = field(default_factory=list)
    tracking: TrackingConfig = field(default_factory=TrackingConfig)
    compare: CompareConfig = field(default_factory=CompareConfig)
    size: SizeConfig = field(default_factory=SizeConfig)


@dataclass
class PsrnnConfig(CommonConfig):
    """`recipe=psrnn`. The sections with a `_target_` are free: their keys are those of the class they name."""

    data: Any = MISSING
    kernel: Any = MISSING
    sampler: Any = MISSING
    update: str = MISSING
    features: FeaturesConfig = field(default_factory=FeaturesConfig)
    initialise: InitialiseConfig = field(default_factory=InitialiseConfig)
    model: Any = MISSING
    readout: ReadoutConfig = field(default_factory=ReadoutConfig)
    refine: RefineConfig = field(default_factory=RefineConfig)
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)


@dataclass
class NewDataConfig:
    path: str = MISSING
    group: str | None = None
    time: str | None = None
    delimiter: str | None = None
    decimal: str = "point"


@dataclass
class ModelUriConfig:
    uri: str = MISSING


@dataclass
class PredictConfig(CommonConfig):
    """`recipe=predict`."""

    data: NewDataConfig = field(default_factory=NewDataConfig)
    model: ModelUriConfig = field(default_factory=ModelUriConfig)
    horizon: int = 0
    interval: float = 0.0
    output: str | None = None


@dataclass
class TuneConfig(PsrnnConfig):
    """`recipe=tune`."""

    tune: SearchConfig = field(default_factory=SearchConfig)


@dataclass
class TheoryConfig(CommonConfig):
    """`recipe=theory`. kernels, samplers and datasets hold a section with a `_target_` for every name."""

    kernels: dict[str, Any] = MISSING
    samplers: dict[str, Any] = MISSING
    datasets: dict[str, Any] = MISSING
    theory: TheorySettings = field(default_factory=TheorySettings)


@dataclass
class TraceConfig(TraceSections, CommonConfig):
    """`recipe=trace`."""


@dataclass
class SsgpConfig(CommonConfig):
    """`recipe=ssgp`."""

    data: Any = MISSING
    kernel: Any = MISSING
    samplers: Any = MISSING
    ssgp: SsgpSectionConfig = field(default_factory=SsgpSectionConfig)
    autoencoder: AutoencoderConfig = field(default_factory=AutoencoderConfig)
    gpytorch: GpytorchConfig = field(default_factory=GpytorchConfig)
    stream: StreamConfig = field(default_factory=StreamConfig)


SCHEMAS = {
    "psrnn": PsrnnConfig, "predict": PredictConfig, "tune": TuneConfig, "theory": TheoryConfig, "trace": TraceConfig,
    "ssgp": SsgpConfig,
}  # fmt: skip


def register_schemas() -> None:
    """Make the schemas known to Hydra as `schema/<recipe>`; the YAML of each recipe begins with its own.

    That of tune comes after recipe=psrnn and leaves its values alone.
    """
    for name, schema in SCHEMAS.items():
        node = OmegaConf.structured(schema)
        if name == "tune":
            node.update({setting.name: MISSING for setting in fields(PsrnnConfig)})
        ConfigStore.instance().store(group="schema", name=name, node=node)


def refuse_repeated(key: str, values: Sequence[Any]) -> None:
    """Raise PipelineError where a value stands twice."""
    if len(set(values)) < len(values):
        raise PipelineError(f"{key}={list(values)} names one twice; name each once")


CHOICES: dict[str, tuple[str, ...]] = {
    "device": ("auto", "cpu", "cuda"),
    "dtype": ("float64", "float32", "bfloat16"),
    "tracking.detail": ("full", "summary"),
    "compare.figure": ("count", "epoch", "contenders", "trials"),
    **PSRNN_CHOICES,
    **TRACE_CHOICES,
}

POSITIVE = ("threads", *PSRNN_POSITIVE, *THEORY_POSITIVE, *TRACE_POSITIVE, *SSGP_POSITIVE)
NOT_NEGATIVE = (
    "tracking.wait", "horizon", "interval", "seed", *PSRNN_NOT_NEGATIVE, *THEORY_NOT_NEGATIVE, *TRACE_NOT_NEGATIVE,
    *SSGP_NOT_NEGATIVE,
)  # fmt: skip
MAY_BE_EMPTY = (*PSRNN_MAY_BE_EMPTY, *THEORY_MAY_BE_EMPTY, *TRACE_MAY_BE_EMPTY, *SSGP_MAY_BE_EMPTY)
CAPS = {**PSRNN_CAPS, **THEORY_CAPS, **TRACE_CAPS, **SSGP_CAPS}


def apply_caps(config: DictConfig) -> None:
    """Lower what exceeds the limits of `size`; done after composition, so that it wins over an experiment."""
    for key, cap in CAPS.items():
        limit, value = OmegaConf.select(config, f"size.{cap}"), OmegaConf.select(config, key)
        if limit is not None and value is not None:
            lowered = sorted({min(v, limit) for v in value}) if OmegaConf.is_list(value) else min(value, limit)
            OmegaConf.update(config, key, lowered)


def _require(config: DictConfig, keys: tuple[str, ...], holds: Callable[[float], bool], words: str) -> None:
    for key in keys:
        value = OmegaConf.select(config, key)
        numbers = [] if value is None else list(value) if OmegaConf.is_list(value) else [value]
        if OmegaConf.is_list(value) and not numbers and key not in MAY_BE_EMPTY:
            raise PipelineError(f"{key} is empty; give at least one value")
        if not all(holds(number) for number in numbers):
            raise PipelineError(f"{key}={value} must be {words}")


def _check_register(config: DictConfig, log_model: str) -> None:
    name = config.tracking.register
    if name is None:
        return
    if not re.fullmatch(r"[\w-]+", name):
        raise PipelineError(f"tracking.register={name} must consist of letters, digits, _ and -")
    if not config.tracking.enabled or log_model == "false":
        raise PipelineError("tracking.register needs the model; leave out tracking=off and tracking.log_model=false")


def _check_dtype(config: DictConfig) -> None:
    if config.dtype == "bfloat16" and config.recipe not in ("psrnn", "tune"):
        raise PipelineError(
            f"dtype=bfloat16 saves the update of model=psrnn in half the bytes; recipe={config.recipe} has none, "
            "leave dtype out"
        )


def validate(config: DictConfig) -> None:
    """Raise PipelineError, naming the key and the choices, for the first value that makes no sense."""
    missing = sorted(OmegaConf.missing_keys(config))
    if missing:
        raise PipelineError(f"{missing[0]} has no value; give {missing[0]}=… on the command line")
    for key, choices in CHOICES.items():
        value = OmegaConf.select(config, key)
        if value is not None and value not in choices:
            nearest = did_you_mean(str(value), choices)
            raise PipelineError(f"{key}={value} is unknown; choose one of {', '.join(choices)}{nearest}")
    _require(config, POSITIVE, lambda number: number > 0, "greater than 0")
    _require(config, NOT_NEGATIVE, lambda number: number >= 0, "0 or greater")
    _require(config, ("interval",), lambda number: number < 1, "below 1, as 0.9 is")
    _require(config, ("seed",), lambda number: number < 2**32, "less than 2³² = 4294967296")
    _require(config, (*POSITIVE, *NOT_NEGATIVE), math.isfinite, "finite")
    log_model = str(OmegaConf.select(config, "tracking.log_model")).lower()
    if log_model not in ("none", "true", "best", "false"):
        raise PipelineError(f"tracking.log_model={log_model} is unknown; choose one of true, best, false")
    _check_register(config, log_model)
    check_lags(config)
    _check_dtype(config)
    if not (isinstance(config.resume, bool) or config.resume == "auto"):
        raise PipelineError(f"resume={config.resume} is unknown; choose one of true, false, auto")
    if config.resume and not config.tracking.enabled:
        raise PipelineError(f"resume={str(config.resume).lower()} needs the tracking store; leave out tracking=off")
