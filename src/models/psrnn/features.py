"""The random features of a PSRNN: windows, bandwidths and frequencies, from the training part alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from models.features.bandwidth import MEDIAN_OF_PAIRS, BandwidthRule, bandwidth
from models.features.kernels import Gaussian, IsotropicKernel, Kernel
from models.features.samplers import Orthogonal, Sampler, draw_frequencies
from models.forecasting.filtering import MaskedSequences
from models.psrnn.initialise import Frequencies
from models.psrnn.windows import Windows, extract_windows
from models.runtime.seeding import Generators

MAPS = ("history", "future", "observation")


@dataclass(frozen=True, kw_only=True)
class FeatureDraw:
    """Says how the random features are drawn: `count` frequencies for each of the three maps, 2·count features.

    window: k, the number of observations in a history and in a future. kernel: whose law the frequencies follow, at
    the bandwidth that `bandwidth` reads off the windows. sampler: how the frequencies of a map depend on one another.
    """

    count: int = 20
    window: int = 2
    kernel: Kernel = field(default_factory=Gaussian)
    sampler: Sampler = field(default_factory=Orthogonal)
    bandwidth: BandwidthRule = MEDIAN_OF_PAIRS


class Features(NamedTuple):
    """Holds the frequencies of the three maps, their bandwidths in standardised units, and the training windows."""

    frequencies: Frequencies
    bandwidths: dict[str, float]
    windows: Windows


def draw_features(train: MaskedSequences, draw: FeatureDraw, generators: Generators) -> Features:
    """Returns one bandwidth and one set of frequencies each for history, future and observation.

    train (sequence, time, feature). Raises ValueError where no window of the training part is observed throughout, and
    as `bandwidth` and `draw_frequencies` do.
    """
    windows = extract_windows(train.values, train.mask, length=draw.window)
    bandwidths: dict[str, float] = {}
    frequencies: list[Tensor] = []
    for name in MAPS:
        points = getattr(windows, name)
        bandwidths[name] = bandwidth(
            points, draw.bandwidth, adjacent=windows.adjacent, generator=generators(f"bandwidth/{name}")
        )
        drawn = draw_frequencies(
            kernel=draw.kernel, sampler=draw.sampler, count=draw.count, dimension=points.shape[1],
            bandwidth=bandwidths[name], generator=generators(f"frequencies/{name}"),
        )  # fmt: skip
        frequencies.append(drawn.to(points))
    return Features(Frequencies(*frequencies), bandwidths, windows)


def radii(frequencies: Tensor, bandwidth: float) -> Tensor:
    """Returns ‖w_i‖ of the frequencies w (count, dimension), as at bandwidth 1: (count,)."""
    return frequencies.double().norm(dim=1) * bandwidth


def law(kernel: IsotropicKernel, count: int, dimension: int) -> Tensor:
    """Returns the quantiles of a kernel's radial law at (i − ½)/count, i = 1 … count: (count,)."""
    return kernel.radius_quantile((torch.arange(count, dtype=torch.float64) + 0.5) / count, dimension)
