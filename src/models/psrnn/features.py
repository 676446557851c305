"""The random features of a PSRNN: windows, bandwidths and frequencies, from the training part alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from models.features.bandwidth import MEDIAN_OF_PAIRS, BandwidthRule, bandwidth
from models.features.kernels import Gaussian, IsotropicKernel, Kernel
from models.features.metric import Metric, metric_of
from models.features.samplers import Orthogonal, Sampler, draw_frequencies
from models.forecasting.filtering import MaskedSequences
from models.forecasting.traces import traces_along
from models.psrnn.initialise import Frequencies, Metrics
from models.psrnn.windows import Windows, extract_windows
from models.runtime.seeding import Generators

MAPS = ("history", "future", "observation")


@dataclass(frozen=True, kw_only=True)
class FeatureDraw:
    """Says how the random features are drawn: `count` frequencies for each of the three maps, 2·count features
    (and as many more as the window has numbers, with `linear`).

    window: k, the number of observations in a history and in a future; history, future: other numbers than k. delay: j,
    the observations that the third map is of, the newest and those before it. traces: time constants of exponential
    traces of the past (`models.forecasting.traces`), which the history has beside its observations. kernel: whose law
    the frequencies follow, at the bandwidth that `bandwidth` reads off the windows. sampler: how the frequencies of a
    map depend on one another. whiten, linear: the exponent g and the weight a of `models.features.metric`.
    """

    count: int = 20
    window: int = 2
    history: int | None = None
    future: int | None = None
    delay: int = 1
    traces: Sequence[float] = ()
    kernel: Kernel = field(default_factory=Gaussian)
    sampler: Sampler = field(default_factory=Orthogonal)
    bandwidth: BandwidthRule = MEDIAN_OF_PAIRS
    whiten: float = 0.0
    linear: float = 0.0

    @property
    def past(self) -> int:
        """Returns the number of observations in a history."""
        return self.window if self.history is None else self.history

    @property
    def ahead(self) -> int:
        """Returns the number of observations in a future."""
        return self.window if self.future is None else self.future

    @property
    def span(self) -> int:
        """Returns the number of rows, of history, shifted future and the one between, that a time step needs."""
        return self.past + self.ahead + 1

    def inputs(self, dimension: int) -> tuple[int, int, int]:
        """Returns how many numbers history, future and delayed observation have, of `dimension` observed features."""
        return (self.past + len(self.traces)) * dimension, self.ahead * dimension, self.delay * dimension


class Features(NamedTuple):
    """Holds the frequencies of the three maps, their bandwidths, and the training windows.

    A bandwidth is in standardised units, or in those that the metric of its map gives.
    """

    frequencies: Frequencies
    bandwidths: dict[str, float]
    windows: Windows


def windows_of(train: MaskedSequences, draw: FeatureDraw) -> Windows:
    """Returns the windows of sequences (sequence, time, feature), with the traces after the observations of each
    history. Raises ValueError as `extract_windows` and `traces_along` do."""
    windows = extract_windows(train.values, train.mask, length=draw.past, future=draw.ahead, delay=draw.delay)
    if not draw.traces:
        return windows
    traces = traces_along(torch.where(train.mask, train.values, 0.0), draw.traces)[windows.sequence, windows.time]
    return windows._replace(history=torch.cat([windows.history, traces], 1))


def draw_features(train: MaskedSequences, draw: FeatureDraw, generators: Generators) -> Features:
    """Returns one bandwidth, one metric and one set of frequencies each for history, future and observation.

    train (sequence, time, feature). Raises ValueError where no window of the training part is observed throughout, and
    as `metric_of`, `bandwidth` and `draw_frequencies` do.
    """
    windows = windows_of(train, draw)
    bandwidths: dict[str, float] = {}
    frequencies: list[Tensor] = []
    metrics: list[Metric | None] = []
    for name in MAPS:
        points = getattr(windows, name)
        metrics.append(metric_of(points, whiten=draw.whiten, linear=draw.linear))
        points = points if metrics[-1] is None else metrics[-1].applied(points)
        bandwidths[name] = bandwidth(
            points, draw.bandwidth, adjacent=windows.adjacent, generator=generators(f"bandwidth/{name}")
        )
        drawn = draw_frequencies(
            kernel=draw.kernel, sampler=draw.sampler, count=draw.count, dimension=points.shape[1],
            bandwidth=bandwidths[name], generator=generators(f"frequencies/{name}"),
        )  # fmt: skip
        frequencies.append(drawn.to(points))
    return Features(Frequencies(*frequencies, metrics=Metrics(*metrics), delay=draw.delay), bandwidths, windows)


def radii(frequencies: Tensor, bandwidth: float) -> Tensor:
    """Returns ‖w_i‖ of the frequencies w (count, dimension), as at bandwidth 1: (count,)."""
    return frequencies.double().norm(dim=1) * bandwidth


def law(kernel: IsotropicKernel, count: int, dimension: int) -> Tensor:
    """Returns the quantiles of a kernel's radial law at (i − ½)/count, i = 1 … count: (count,)."""
    return kernel.radius_quantile((torch.arange(count, dtype=torch.float64) + 0.5) / count, dimension)
