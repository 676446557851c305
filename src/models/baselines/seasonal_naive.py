"""Seasonal naive forecasts: the next observation is the one a season ago; and the season, found from the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from models.forecasting.filtering import Filtered, MaskedSequences, State, before_end
from models.forecasting.fitting import Fitted, Problem

SEASONS = 3  # whole seasons that the longest sequence has to have
LEAST_PEAK = 0.3  # autocorrelation of a season
LEAST_RISE = 0.2  # of the peak above the deepest trough before it


class SeasonalNaive(nn.Module):
    """ô_t = o_{t−season}, and o_{t−1} while fewer than `season` rows were seen; before the first 0, the training mean.

    The state is a ring of `season` rows (batch, d, season), the place of its oldest (batch, 1), and how many were seen
    (batch, 1), counted from the first of which anything was observed: a first row that is wholly 0 is the stand-in for
    a missing one. A row that is as that of a season ago, such as any forecast, moves the place alone: no copy.
    Source: Hyndman and Athanasopoulos, "Forecasting: principles and practice", section 5.2.
    Raises ValueError for a season below 1.
    """

    def __init__(self, *, dimension: int, season: int) -> None:
        super().__init__()
        if season < 1:
            raise ValueError(f"a season has at least 1 step, got {season}")
        self.architecture = {"dimension": dimension, "season": season}
        self.season = season
        self.origin: Tensor
        self.register_buffer("origin", torch.zeros(dimension))

    def initial_state(self, batch: int) -> State:
        nothing = self.origin.new_zeros(batch, 1)
        return self.origin.new_zeros(batch, len(self.origin), self.season), nothing.long(), nothing

    def predict(self, state: State) -> Tensor:
        rows, place, seen = state
        return self._row(rows, torch.where(seen < self.season, (place - 1) % self.season, place))

    def update(self, state: State, observation: Tensor) -> State:
        rows, place, seen = state
        if not torch.equal(self._row(rows, place), observation):
            rows = rows.scatter(2, self._everywhere(rows, place), observation.unsqueeze(-1))
        begun = (seen > 0) | (observation != self.origin).any(1, keepdim=True)
        return rows, (place + 1) % self.season, seen + begun

    def filter_masked(self, start: State, values: Tensor, mask: Tensor) -> Filtered:
        """What `filter_sequences` gives; the rows of all steps share their memory."""
        rows, place, seen = start
        order = (place + torch.arange(self.season, device=place.device)) % self.season
        oldest_first = rows.gather(2, order.unsqueeze(1).expand_as(rows))
        series = torch.cat([oldest_first.transpose(1, 2), values], 1)
        begun = (seen > 0) | (mask & (values != self.origin)).any(2).cummax(1).values
        counts = torch.cat([seen, seen + begun.cumsum(1)], 1).to(seen)
        for t in (~mask).any(2).any(0).nonzero()[:, 0].tolist():
            gone = ~mask[:, t]
            predicted = torch.where(counts[:, t, None] < self.season, series[:, t + self.season - 1], series[:, t])
            series[:, t + self.season] = torch.where(gone, predicted, values[:, t])
        windows, seen = series.unfold(1, self.season, 1)[:, :-1], counts[:, :-1].unsqueeze(2)
        predictions = torch.where(seen < self.season, windows[..., -1], windows[..., 0])
        return Filtered(
            predictions, series[:, self.season :], (windows, torch.zeros_like(seen, dtype=torch.long), seen)
        )

    @staticmethod
    def _everywhere(rows: Tensor, place: Tensor) -> Tensor:
        return place.unsqueeze(1).expand(-1, rows.shape[1], 1)

    def _row(self, rows: Tensor, place: Tensor) -> Tensor:
        """(batch, d): of each ring the row at its place (batch, 1)."""
        return rows.gather(2, self._everywhere(rows, place)).squeeze(2)


def without_trend(values: Tensor, mask: Tensor) -> Tensor:
    """Each feature less its mean and its least-squares line in time, 0 where nothing was observed. (time, feature)."""
    count = mask.sum(0).clamp(min=1)
    time = torch.arange(len(values), dtype=values.dtype, device=values.device).unsqueeze(1)
    time = torch.where(mask, time - (time * mask).sum(0) / count, 0.0)
    values = torch.where(mask, values - (values * mask).sum(0) / count, 0.0)
    return values - time * ((time * values).sum(0) / time.square().sum(0).clamp(min=1.0))


def autocorrelation(part: MaskedSequences, *, most: int) -> Tensor:
    """(most + 1,): r_L = Σ x_t x_{t+L} / Σ x_t² over all sequences and features, of x without mean and linear trend.

    The products of gaps are 0, and no lag is divided by its own number of products: r falls with the lag, so that of a
    season and its multiples the season has the highest peak. NaN where nothing varies.
    """
    total = torch.zeros(most + 1, dtype=torch.float64, device=part.values.device)
    for values, mask in zip(part.values, part.mask, strict=True):
        used = int(before_end(mask.unsqueeze(0)).sum())
        rest = without_trend(values[:used].double(), mask[:used])
        spectrum = torch.fft.rfft(rest, used + most, dim=0).abs().square().sum(1)
        total += torch.fft.irfft(spectrum, used + most)[: most + 1]
    return total / total[0]


def find_season(part: MaskedSequences, *, most: int | None = None) -> tuple[int, float] | None:
    """The lag of the highest peak of the `autocorrelation`, and its height; None where no peak is clear.

    A peak is clear from `LEAST_PEAK` on and `LEAST_RISE` above the deepest trough before it. Only lags are looked at
    that fit `SEASONS` times into the longest sequence, and none above `most`.
    """
    longest = int(before_end(part.mask).sum(1).max()) // SEASONS
    longest = longest if most is None else min(longest, most)
    if longest < 2:
        return None
    found = autocorrelation(part, most=longest + 1)
    before, here, after = found[1:-2], found[2:-1], found[3:]
    troughs = found[1:-1].cummin(0).values[:-1]
    clear = (here > before) & (here >= after) & (here >= LEAST_PEAK) & (here - troughs >= LEAST_RISE)
    if not bool(clear.any()):
        return None
    place = int(torch.where(clear, here, -torch.inf).argmax())
    return place + 2, float(here[place])


def seasonal_naive(part: MaskedSequences, season: int) -> SeasonalNaive:
    """The model in the data's dtype and on its device."""
    values = part.values
    return SeasonalNaive(dimension=values.shape[2], season=season).to(dtype=values.dtype, device=values.device)


@dataclass(frozen=True, kw_only=True)
class Seasonal:
    """`model=seasonal_naive`. season: in steps; None finds it, see `find_season`.

    Raises ValueError where none is found.
    """

    name: ClassVar[str] = "seasonal_naive"
    trained: ClassVar[bool] = False
    season: int | None = None

    def fit(self, problem: Problem) -> Fitted:
        found = (self.season, None) if self.season is not None else find_season(problem.train)
        if found is None:
            raise ValueError("the training part has no clear season; give model.season=STEPS, or take another model")
        return Fitted(seasonal_naive(problem.train, found[0]), {"season": found[0]})
