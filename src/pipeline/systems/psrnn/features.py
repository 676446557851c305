"""Stage two: windows, bandwidths and frequencies, from the training part only."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.features.bandwidth import bandwidth
from models.features.samplers import draw_frequencies
from models.psrnn.initialise import Frequencies
from models.psrnn.windows import Windows, extract_windows
from pipeline.job.seeding import generator
from pipeline.systems.psrnn.load import Loaded

MAPS = ("history", "future", "observation")


class Features(NamedTuple):
    """Frequencies of the three maps, their bandwidths in standardised units, and the training windows."""

    frequencies: Frequencies
    bandwidths: dict[str, float]
    windows: Windows


def draw_features(loaded: Loaded, settings: Any, *, kernel: Any, sampler: Any, window: int, seed: int) -> Features:
    """One bandwidth and one set of frequencies each for history, future and observation."""
    windows = extract_windows(loaded.train.values, loaded.train.mask, length=window)
    rule = settings.bandwidth
    bandwidths: dict[str, float] = {}
    frequencies: list[Tensor] = []
    for name in MAPS:
        points = getattr(windows, name)
        bandwidths[name] = bandwidth(
            points, rule=rule.rule, value=rule.value, percentile=rule.percentile, scale=rule.scale, pairs=rule.pairs,
            adjacent=windows.adjacent, generator=generator(seed, f"bandwidth/{name}"),
        )  # fmt: skip
        drawn = draw_frequencies(
            kernel=kernel, sampler=sampler, count=settings.count, dimension=points.shape[1], bandwidth=bandwidths[name],
            generator=generator(seed, f"frequencies/{name}"),
        )  # fmt: skip
        frequencies.append(drawn.to(points))
    return Features(Frequencies(*frequencies), bandwidths, windows)


def radii(frequencies: Tensor, bandwidth: float) -> Tensor:
    """‖w_i‖ at bandwidth 1."""
    return frequencies.double().norm(dim=1) * bandwidth


def law(kernel: Any, count: int, dimension: int) -> Tensor:
    """Quantiles of the kernel's radial law at (i − ½)/count, i = 1 … count."""
    return kernel.radius_quantile((torch.arange(count, dtype=torch.float64) + 0.5) / count, dimension)
