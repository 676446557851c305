"""The season of time series, found from the data."""

from __future__ import annotations

import torch
from torch import Tensor

from models.forecasting.filtering import MaskedSequences, before_end

SEASONS = 3  # whole seasons that the longest sequence has to have
LEAST_PEAK = 0.3  # autocorrelation of a season
LEAST_RISE = 0.2  # of the peak above the deepest trough before it


def without_trend(values: Tensor, mask: Tensor) -> Tensor:
    """Returns each feature less its mean and its least-squares line in time, 0 where nothing was observed.

    values, mask and the result are (time, feature).
    """
    count = mask.sum(0).clamp(min=1)
    time = torch.arange(len(values), dtype=values.dtype, device=values.device).unsqueeze(1)
    time = torch.where(mask, time - (time * mask).sum(0) / count, 0.0)
    values = torch.where(mask, values - (values * mask).sum(0) / count, 0.0)
    return values - time * ((time * values).sum(0) / time.square().sum(0).clamp(min=1.0))


def autocorrelation(part: MaskedSequences, *, most: int) -> Tensor:
    """Returns (most + 1,): r_L = Σ x_t x_{t+L} / Σ x_t² over all sequences and features, of x without mean and linear
    trend.

    The products of gaps are 0, and no lag is divided by its own number of products: r falls with the lag, so that of a
    season and its multiples the season has the highest peak. They are NaN where nothing varies.
    """
    total = torch.zeros(most + 1, dtype=torch.float64, device=part.values.device)
    for values, mask in zip(part.values, part.mask, strict=True):
        used = int(before_end(mask.unsqueeze(0)).sum())
        rest = without_trend(values[:used].double(), mask[:used])
        spectrum = torch.fft.rfft(rest, used + most, dim=0).abs().square().sum(1)
        total += torch.fft.irfft(spectrum, used + most)[: most + 1]
    return total / total[0]


def find_season(part: MaskedSequences, *, most: int | None = None) -> tuple[int, float] | None:
    """Returns the lag, in steps, of the highest peak of the `autocorrelation`, and its height; None where no peak is
    clear.

    A peak is clear from `LEAST_PEAK` on and `LEAST_RISE` above the deepest trough before it. Only lags are looked at
    that fit `SEASONS` times into the longest sequence, and none above `most`.
    """
    longest = int(before_end(part.mask).sum(1).max()) // SEASONS
    longest = longest if most is None else min(longest, most)
    if longest < 2:
        return None
    heights = autocorrelation(part, most=longest + 1)
    before, here, after = heights[1:-2], heights[2:-1], heights[3:]
    troughs = heights[1:-1].cummin(0).values[:-1]
    clear = (here > before) & (here >= after) & (here >= LEAST_PEAK) & (here - troughs >= LEAST_RISE)
    if not bool(clear.any()):
        return None
    place = int(torch.where(clear, here, -torch.inf).argmax())
    return place + 2, float(here[place])
