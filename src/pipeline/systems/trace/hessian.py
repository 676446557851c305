"""A small PSRNN by two-stage regression, and the Hessian of its training loss as an oracle."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from data.base import Dataset
from models.features.samplers import check_pair
from models.forecasting.bptt import TruncatedBPTT
from models.psrnn.features import draw_features
from models.psrnn.method import Psrnn
from models.runtime.seeding import generator, generators_of
from models.trace.hessian import ChunkLoss, Hessian, whole_chunks
from pipeline.host.devices import DTYPES
from pipeline.host.errors import PipelineError
from pipeline.settings.build import build
from pipeline.systems.psrnn.lags import readout_settings
from pipeline.systems.psrnn.load import cut, load
from pipeline.systems.psrnn.stages import draw_of, regression_of
from pipeline.systems.psrnn.two_stage import initialise
from pipeline.systems.trace.config import TraceConfig

SECTION = "hessian."  # stands before the names of the settings of this PSRNN


class FittedHessian(NamedTuple):
    """Holds the Hessian and its data. oracle: the Hessian of the mean squared one-step error on `chunks` chunks, whose
    value is `loss`."""

    dataset: Dataset
    oracle: Hessian
    chunks: int
    loss: float


def parts_of(settings: TraceConfig) -> tuple[Any, Any, Psrnn]:
    """Returns kernel, sampler and model. Raises PipelineError for a model other than a PSRNN that holds its update
    whole, and ValueError for a sampler that cannot draw for the kernel."""
    hessian = settings.hessian
    kernel, sampler, model = (
        build(f"hessian.{name}", getattr(hessian, name), settings.extensions) for name in ("kernel", "sampler", "model")
    )
    check_pair(kernel, sampler)
    if not isinstance(model, Psrnn) or model.terms is not None:
        raise PipelineError(f"hessian.model={type(model).__name__}: the Hessian is that of a PSRNN; use model=psrnn")
    return kernel, sampler, model


def some_chunks(objective: TruncatedBPTT, settings: TraceConfig) -> Tensor:
    """Returns the numbers (chunk,) of `hessian.chunks` chunks at most that are observed throughout, drawn under the
    seed. Raises PipelineError where every chunk has a gap."""
    whole = whole_chunks(objective)
    if not len(whole):
        raise PipelineError(
            f"hessian.horizon={objective.horizon}: no chunk of so many steps, counted from the begin of a sequence, is "
            "observed throughout; lower it"
        )
    order = torch.randperm(len(whole), generator=generator(settings.seed, "trace/hessian/chunks"))
    return whole[order[: settings.hessian.chunks].to(whole.device)]


def fitted_hessian(settings: TraceConfig, device: torch.device) -> FittedHessian:
    """Loads the data, fits a PSRNN, cuts the training part into chunks, and returns the Hessian. A chunk begins with
    the state that the fitted model has there, as in refinement. Raises PipelineError for another dtype than float64."""
    if settings.dtype != "float64":
        raise PipelineError(f"dtype={settings.dtype}: problem=hessian computes in float64; leave dtype out")
    hessian, (kernel, sampler, model) = settings.hessian, parts_of(settings)
    draw = draw_of(hessian.features, model, kernel, sampler, within=SECTION)
    dataset = build("hessian.data", hessian.data, settings.extensions)
    loaded = load(
        cut(dataset, sequences=settings.size.sequences, steps=settings.size.steps), span=draw.span,
        first_step=max(hessian.first_step, hessian.readout.lags or 0), dtype=DTYPES[settings.dtype], device=device,
    )  # fmt: skip
    generators = generators_of(settings.seed)
    features = draw_features(loaded.parts.train, draw, generators)
    fitted: Any = initialise(
        loaded.parts, features, regression_of(hessian, within=SECTION), readout_settings(hessian.readout), generators,
        within=SECTION,
    ).model  # fmt: skip
    objective = TruncatedBPTT(fitted, loaded.parts.train, horizon=hessian.horizon, batch_size=hessian.chunks)
    objective.refresh()
    loss = ChunkLoss(objective, some_chunks(objective, settings))
    oracle = Hessian(loss, objective.parameters())
    return FittedHessian(loaded.dataset, oracle, len(loss.batch), float(loss().detach()))
