"""What a readout with groups of inputs is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field

from models.features.kernels import Gaussian, Kernel
from models.features.samplers import Orthogonal, Sampler
from models.runtime.parameters import MOST_UNITS, not_negative, number, numbers, shown, whole_number, yes_or_no


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

    Raises TypeError, naming the setting, for a value of another kind, and ValueError for numbers out of range, for
    features of nothing, without lags or traces, and for differences without lags.
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
        whole_number("lags", self.lags, least=0, most=MOST_UNITS)
        object.__setattr__(self, "traces", numbers("traces", self.traces))
        whole_number("count", self.count, least=0, most=MOST_UNITS)
        number("bandwidth", self.bandwidth)
        not_negative("whiten", self.whiten, most=1)
        whole_number("direct", self.direct)
        yes_or_no("difference", self.difference)
        yes_or_no("shared", self.shared)
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"kernel must be one of models.features.kernels, as Gaussian(), got {shown(self.kernel)}")
        if not isinstance(self.sampler, Sampler):
            raise TypeError(
                f"sampler must be one of models.features.samplers, as Orthogonal(), got {shown(self.sampler)}"
            )
        if self.difference and not self.lags:
            raise ValueError("difference takes the last row from what is seen; give lags of 1 or more")
        if self.count and not (self.lags or self.traces):
            raise ValueError("count asks for features of recent observations; give lags or traces")
