"""The stages before refinement, chosen once by what the config group `model` names; the border of the settings."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Protocol

from models.features.bandwidth import RULES_OF_PAIRS, BandwidthRule
from models.features.samplers import check_pair
from models.forecasting.fitting import solves_again
from models.psrnn.features import FeatureDraw
from models.psrnn.fit import Regression
from models.psrnn.method import Psrnn
from models.runtime.seeding import generators_of
from pipeline.host.devices import DTYPES
from pipeline.host.errors import PipelineError, said_of
from pipeline.host.memory import memory_of
from pipeline.job.study import Study
from pipeline.settings.build import build
from pipeline.systems.psrnn.config import PsrnnConfig
from pipeline.systems.psrnn.first_model import Initialised, MethodStages
from pipeline.systems.psrnn.lags import readout_settings
from pipeline.systems.psrnn.load import Parts
from pipeline.systems.psrnn.own_models import check_method, rehearse
from pipeline.systems.psrnn.too_large import refuse_too_large
from pipeline.systems.psrnn.two_stage import PsrnnStages
from pipeline.tracking.run import keeps_models


class Stages(Protocol):
    """Says what leads to the model before refinement, for a PSRNN and for any other forecaster.

    drawn: whether frequencies are drawn, so that the run's name says by which kernel and sampler. method: what the
    group `model` names. span: the rows that the windows of a time step have to be observed in, 1 without windows.
    """

    drawn: ClassVar[bool]

    @property
    def method(self) -> Any: ...
    @property
    def span(self) -> int: ...

    def words(self) -> str:
        """Returns the model in a few words, without what every model has."""
        ...

    def first_model(self, parts: Parts, study: Study) -> Initialised:
        """Runs the stages, each of which is logged before the next begins."""
        ...


def draw_of(settings: Any, method: Psrnn, kernel: Any, sampler: Any, *, within: str = "") -> FeatureDraw:
    """Returns the settings `features`, and those of the windows, as models take them. within: see `regression_of`."""
    bandwidth = settings.bandwidth
    pairs = {"pairs": bandwidth.pairs} if bandwidth.rule in RULES_OF_PAIRS else {}  # an experiment may set them unasked
    with said_of(f"{within}features.bandwidth"):
        rule = BandwidthRule(bandwidth.rule, bandwidth.value, bandwidth.percentile, bandwidth.scale, **pairs)
    return FeatureDraw(
        count=settings.count, window=method.window, history=method.history, future=method.future, delay=method.delay,
        traces=tuple(settings.traces), kernel=kernel, sampler=sampler, bandwidth=rule, whiten=settings.whiten,
        linear=settings.linear,
    )  # fmt: skip


def regression_of(
    settings: Any, *, rank: int | None = None, learn_frequencies: bool = False, within: str = ""
) -> Regression:
    """Returns the settings `update`, `initialise` and `features.projection` of a section as models take them.

    within: what stands before the names of these settings, a section and a dot. Raises PipelineError for random
    parameters with a projection.
    """
    initialise = settings.initialise
    if initialise.method == "random" and settings.features.projection is not None:
        chosen = f"{within}initialise.method=random" if within else "initialise=random"
        raise PipelineError(f"{chosen} has no regression to find {within}features.projection by; leave one of them out")
    return Regression(
        update=settings.update, whitening=initialise.whitening, ridge=initialise.ridge, scale=initialise.scale,
        chunk=initialise.chunk, projection=settings.features.projection, rank=rank,
        random=initialise.method == "random", learn_frequencies=learn_frequencies,
    )  # fmt: skip


def psrnn_stages(settings: PsrnnConfig, method: Psrnn, kernel: Any, sampler: Any) -> PsrnnStages:
    """Returns the stages of a PSRNN. Raises PipelineError for sizes that no memory here could hold. Warns of
    `features.linear` beside no lags."""
    refuse_too_large(settings.features, memory_of(settings.device))
    if settings.features.linear and settings.readout.lags == 0:
        warnings.warn(
            f"features.linear={settings.features.linear:g} makes the state alone worse, whose unit norm spoils its "
            "linear part; take readout=skip or readout=auto with it",
            stacklevel=2,
        )
    return PsrnnStages(
        method,
        draw_of(settings.features, method, kernel, sampler),
        regression_of(settings, rank=method.terms, learn_frequencies=settings.refine.learn_frequencies),
        readout_settings(settings.readout),
        generators_of(settings.seed),
        memory_of(settings.device),
    )


def method_stages(settings: PsrnnConfig, method: Any) -> MethodStages:
    """Returns the stages of a model that is no PSRNN. Raises PipelineError for a model of a person's own that could not
    be used or kept."""
    stages = MethodStages(
        method, readout_settings(settings.readout), generators_of(settings.seed), keeps_models(settings.tracking)
    )
    check_method(method)
    rehearse(method, stages.readout, dtype=DTYPES[settings.dtype], kept=stages.kept)
    return stages


def check_refit(settings: PsrnnConfig, method: Any) -> None:
    """Raises PipelineError for `refit=true` of a run that keeps no model, or whose model has nothing to solve again. A
    readout in groups (`readout.fitted_last`) can be solved again above every model."""
    if not settings.refit:
        return
    if not keeps_models(settings.tracking):
        raise PipelineError(
            "refit=true changes the logged model alone, and none is logged; leave out refit, or tracking=off and "
            "tracking.log_model=false"
        )
    if settings.readout.fitted_last:
        return
    if not solves_again(method):
        raise PipelineError(
            f"refit=true: model={method.name} has nothing to solve again; leave out refit, or take readout=kernel or "
            "another model"
        )
    if method.trained and settings.refine.epochs and not settings.refine.solve_readout:
        raise PipelineError(
            "refit=true solves the readout again, which refine.solve_readout=false trains by gradient; leave out one "
            "of them"
        )


def stages_of(settings: PsrnnConfig) -> Stages:
    """Returns the stages of the model, after kernel, sampler and model were built and checked.

    Raises ValueError for a sampler that cannot draw for the kernel, PipelineError for a dtype not of this model, and as
    `check_refit`.
    """
    kernel = build("kernel", settings.kernel, settings.extensions)
    sampler = build("sampler", settings.sampler, settings.extensions)
    check_pair(kernel, sampler)
    method = build("model", settings.model, settings.extensions)
    psrnn = isinstance(method, Psrnn)
    if settings.dtype == "bfloat16" and not (psrnn and method.terms is None):
        raise PipelineError(
            f"dtype=bfloat16 saves the update of model=psrnn in half the bytes; with model={method.name} leave "
            "dtype out, or take float32"
        )
    stages = psrnn_stages(settings, method, kernel, sampler) if psrnn else method_stages(settings, method)
    check_refit(settings, method)
    return stages
