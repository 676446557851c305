"""What the config groups `model`, `kernel` and `sampler` of a forecasting run name, built and checked."""

from __future__ import annotations

from typing import Any, NamedTuple

from models.features.samplers import check_pair
from models.psrnn.method import Psrnn
from pipeline.host.devices import DTYPES
from pipeline.host.errors import PipelineError
from pipeline.settings.build import build
from pipeline.systems.psrnn.config import PsrnnConfig
from pipeline.systems.psrnn.lags import readout_settings
from pipeline.systems.psrnn.own_models import check_method, rehearse
from pipeline.tracking.run import keeps_models


class Parts(NamedTuple):
    """What the config groups `model`, `kernel` and `sampler` name; the last two serve the PSRNN alone."""

    method: Any
    kernel: Any
    sampler: Any

    @property
    def psrnn(self) -> bool:
        return isinstance(self.method, Psrnn)


def exchangeable_parts(settings: PsrnnConfig) -> Parts:
    """Build all three.

    Raises ValueError for a sampler that cannot draw for the kernel, PipelineError for a dtype not of this model.
    """
    kernel = build("kernel", settings.kernel, settings.extensions)
    sampler = build("sampler", settings.sampler, settings.extensions)
    check_pair(kernel, sampler)
    parts = Parts(build("model", settings.model, settings.extensions), kernel, sampler)
    if settings.dtype == "bfloat16" and not (parts.psrnn and parts.method.terms is None):
        raise PipelineError(
            f"dtype=bfloat16 saves the update of model=psrnn in half the bytes; with model={parts.method.name} leave "
            "dtype out, or take float32"
        )
    check_method(parts.method)
    rehearse(
        parts.method,
        readout_settings(settings.readout),
        dtype=DTYPES[settings.dtype],
        kept=keeps_models(settings.tracking),
    )
    return parts
