"""What a readout with groups of inputs is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field

from models.features.kernels import Gaussian, Kernel
from models.features.samplers import Orthogonal, Sampler
from models.forecasting.traces import decays
from models.runtime.parameters import MOST_UNITS


@dataclass(frozen=True, kw_only=True)
class GroupedSettings:
    """Says which inputs a readout has beside the model's state, and how far ahead it is regressed.

    * lags: recent observations.
    * traces: time constants τ of exponential traces, in steps.
    * count: frequencies of random features Φ over h, which is the lags and traces together; 0: none.
    * bandwidth: a factor of the median distance between rows of h.
    * whiten: g of h̃ = S^(−g/2)(h − mean), S the covariance of h with 10⁻⁶ of its largest eigenvalue on the diagonal;
      0: columns in standard deviations.
    * direct: horizons 1 to this have a regression each; longer ones are iterated.
    * difference: whether the last row is taken from rows, traces and what is forecast, see `Differences`.
    * shared: whether one regression gives all horizons up to `direct`, with the same ridges and from the rows that all
      of them are scored from; none is iterated then.
    * kernel, sampler: how the frequencies are drawn.

    Raises ValueError for numbers out of range, for features of nothing, without lags or traces, and for differences
    without lags.
    """

    lags: int = 4
    traces: tuple[float, ...] = ()
    count: int = 0
    bandwidth: float = 1.0
    whiten: float = 0.0
    direct: int = 1
    difference: bool = False
    shared: bool = False
    kernel: Kernel = field(default_factory=Gaussian)
    sampler: Sampler = field(default_factory=Orthogonal)

    def __post_init__(self) -> None:
        decays(self.traces)
        if self.lags < 0 or self.count < 0:
            raise ValueError(f"lags ({self.lags}) and count ({self.count}) must be 0 or more")
        if max(self.lags, self.count) > MOST_UNITS:
            raise ValueError(f"lags ({self.lags}) and count ({self.count}) must be at most {MOST_UNITS}")
        if self.bandwidth <= 0 or not 0 <= self.whiten <= 1:
            raise ValueError(f"bandwidth ({self.bandwidth}) must be above 0, whiten ({self.whiten}) from 0 to 1")
        if self.direct < 1:
            raise ValueError(f"direct must be at least 1, got {self.direct}")
        if self.difference and not self.lags:
            raise ValueError("difference takes the last row from what is seen; give lags of 1 or more")
        if self.count and not (self.lags or self.traces):
            raise ValueError("count asks for features of recent observations; give lags or traces")
