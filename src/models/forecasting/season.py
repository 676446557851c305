"""The season of time series, found from the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from models.forecasting.filtering import MaskedSequences, before_end
from models.numerics.standardisation import ROUNDING

SEASONS = 3  # whole seasons that the longest sequence has to have
LEAST_PEAK = 0.3  # autocorrelation of a season
NEARLY = 0.95  # of a peak's height: another one that counts as much
LEAST_RISE = 0.2  # of the peak above the deepest trough before it
CLEAR_GAIN = 0.25  # of what a shorter season leaves (1 - its peak): a multiple that gains more is the season
CLEAR_LEAD = 0.2  # of its own peak: a multiple that leads by more is the season, also where noise leaves much


def without_trend(values: Tensor, mask: Tensor) -> Tensor:
    """Returns each feature less its mean and its least-squares line in time, 0 where nothing was observed.

    values, mask and the result are (time, feature).
    """
    count = mask.sum(0).clamp(min=1)
    time = torch.arange(len(values), dtype=values.dtype, device=values.device).unsqueeze(1)
    time = torch.where(mask, time - (time * mask).sum(0) / count, 0.0)
    values = torch.where(mask, values - (values * mask).sum(0) / count, 0.0)
    return values - time * ((time * values).sum(0) / time.square().sum(0).clamp(min=1.0))


def beyond_rounding(rest: Tensor, values: Tensor) -> Tensor:
    """Returns what is left of each feature without its trend, 0 where that is no more than the rounding of its values.

    rest and values are (time, feature).
    """
    share = max(ROUNDING, 100 * torch.finfo(values.dtype).eps)
    return rest * (rest.square().sum(0) > share**2 * values.double().square().sum(0))


def autocorrelation(part: MaskedSequences, *, most: int) -> Tensor:
    """Returns (most + 1,): r_L = Σ x_t x_{t+L} / Σ x_t² over all sequences and features, of x without mean and linear
    trend.

    The products of gaps are 0, and no lag is divided by its own number of products: r falls with the lag, so that of a
    season and its multiples the season has the highest peak. They are NaN where nothing varies.
    """
    total = torch.zeros(most + 1, dtype=torch.float64, device=part.values.device)
    for values, mask in zip(part.values, part.mask, strict=True):
        used = int(before_end(mask.unsqueeze(0)).sum())
        if not used:
            continue
        rest = beyond_rounding(without_trend(values[:used].double(), mask[:used]), values[:used])
        spectrum = torch.fft.rfft(rest, used + most, dim=0).abs().square().sum(1)
        total += torch.fft.irfft(spectrum, used + most)[: most + 1]
    return total / total[0]


def pairs_left(part: MaskedSequences, lag: int) -> float:
    """Returns Σ max(n - lag, 0) / Σ n over sequences of n rows: the share by which r of a lag falls in
    `autocorrelation` for its fewer products."""
    rows = before_end(part.mask).sum(1)
    return float((rows - lag).clamp(min=0).sum() / rows.sum())


def clear_peaks(part: MaskedSequences, *, most: int | None = None) -> dict[int, float]:
    """Returns the heights of the clear peaks of the `autocorrelation` by their lags, in steps, ascending.

    A peak is clear from `LEAST_PEAK` on and `LEAST_RISE` above the deepest trough before it. Only lags are looked at
    that fit `SEASONS` times into the longest sequence, and none above `most`.
    """
    longest = int(before_end(part.mask).sum(1).max()) // SEASONS
    longest = longest if most is None else min(longest, most)
    if longest < 2:
        return {}
    heights = autocorrelation(part, most=longest + 1)
    before, here, after = heights[1:-2], heights[2:-1], heights[3:]
    troughs = heights[1:-1].cummin(0).values[:-1]
    clear = (here > before) & (here >= after) & (here >= LEAST_PEAK) & (here - troughs >= LEAST_RISE)
    places = clear.nonzero()[:, 0].tolist()
    return {place + 2: float(here[place]) for place in places}


def find_season(part: MaskedSequences, *, most: int | None = None) -> tuple[int, float] | None:
    """Returns the season in steps and its peak: the lag of the highest of the `clear_peaks`, or the shortest of which
    it is a multiple and no clearly higher one. Returns None where there is no peak.

    Multiples of a season have nearly its peak, so that noise makes one of them the highest. Two peaks are compared by
    their heights over `pairs_left`, no more than 1 each, since the sum of a longer lag has fewer products. Such a
    height h is clearly higher than that of a shorter lag s where h - s is more than `CLEAR_GAIN` of 1 - s, or more than
    `CLEAR_LEAD` of h.
    """
    return _shortest_of(part, clear_peaks(part, most=most), nearly=1.0)


class Seasons(NamedTuple):
    """Holds the season of `find_season` in steps, and the shortest season of which it is a multiple and whose peak is
    nearly as high: of a day and two days, the day. Each is None where there is none."""

    clear: int | None
    shortest: int | None


def find_seasons(part: MaskedSequences) -> Seasons:
    """Returns the seasons of a part; both are read from the same peaks, as these take the time."""
    peaks = clear_peaks(part)
    clear, shortest = (_shortest_of(part, peaks, nearly=nearly) for nearly in (1.0, NEARLY))
    return Seasons(clear and clear[0], shortest and shortest[0])


def _shortest_of(part: MaskedSequences, peaks: Mapping[int, float], *, nearly: float) -> tuple[int, float] | None:
    """Returns the first of ascending peaks that divides the highest, or that one, and its height, see `find_season`.
    nearly: share of the highest from which on a peak counts as much."""
    if not peaks:
        return None
    season = max(peaks, key=lambda lag: peaks[lag])
    level = {lag: min(peaks[lag] / pairs_left(part, lag), 1.0) for lag in peaks if season % lag == 0}
    highest = level[season]

    def counts(height: float) -> bool:
        lead = highest - height
        return height >= nearly * highest or lead <= min(CLEAR_GAIN * (1.0 - height), CLEAR_LEAD * highest)

    return next((lag, peaks[lag]) for lag, height in level.items() if counts(height))
