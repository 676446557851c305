"""A part of the data as a readout is fitted to it: inputs of the maps, and the rows ahead of each of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from torch import Tensor

from models.forecasting.filtering import MaskedSequences, State, begun_along, filter_sequences, rows_before
from models.forecasting.horizons import horizon_targets
from models.forecasting.readouts.differences import Differences
from models.forecasting.readouts.model import GroupedReadout
from models.forecasting.windows import wholly_scored
from models.numerics.evenly_spaced import evenly_spaced
from models.numerics.grouped_ridge import Columns
from models.numerics.ridge import CentredMoments, RegressionData
from models.numerics.standardisation import Standardisation

ORIGINS = 512  # rows of the validation part from which direct and iterated forecasts are compared


class Regression(NamedTuple):
    """Holds the centred moments of rows in standardised columns, and the units of these columns."""

    moments: list[CentredMoments]
    units: Standardisation


class Part(NamedTuple):
    """Holds the states and the inputs of the maps along a part, each (sequence, time, …), its values, its scored
    entries, the rows (sequence, time) that forecasts may be made from, and what is taken from all that is forecast from
    a row, if anything is (sequence, time, d)."""

    states: State
    inputs: Tensor
    values: Tensor
    scored: Tensor
    late: Tensor
    taken: Tensor | None = None

    def ahead(self, horizon: int) -> tuple[Tensor, Tensor]:
        """Returns what `targets_ahead` does for this part."""
        targets, keep = targets_ahead(self.values, self.scored, horizon, self.late)
        return (targets if self.taken is None else targets - self.taken), keep

    def differenced(self, differences: Differences) -> Part:
        """Returns the part as a regression of differences sees it."""
        return self._replace(inputs=differences.apply(self.inputs), taken=differences.last(self.inputs))

    def rows(self, horizon: int) -> RegressionData:
        """Returns inputs, and the rows `horizon` steps after the last that was seen, where these are scored."""
        targets, keep = self.ahead(horizon)
        used = keep.any(2)
        return RegressionData(self.inputs[used], targets[used], keep[used])

    def rows_of_all(self, horizons: int) -> RegressionData:
        """Returns inputs, and side by side the rows 1 to `horizons` steps after the last that was seen, where all of
        these are scored, in every feature that is scored at all: targets and mask (row, horizons · d). Raises
        ValueError where that is nowhere."""
        sequence, time = rows_throughout(self.scored, self.late, horizons)
        if not len(time):
            raise ValueError(
                f"no row has all of its next {horizons} rows scored; lower direct, or give each of "
                "them a regression of its own"
            )
        targets, keep = (of.unfold(1, horizons, 1)[sequence, time].transpose(1, 2) for of in (self.values, self.scored))
        if self.taken is not None:
            targets = targets - self.taken[sequence, time].unsqueeze(1)
        return RegressionData(self.inputs[sequence, time], targets.flatten(1), keep.flatten(1))

    def regressions(self, horizons: int) -> Iterator[Regression]:
        """Yields for each horizon the regression of the rows so far ahead on the inputs, where these are scored."""
        begins = self.begins
        columns = Columns(self.inputs[begins])
        for horizon in range(1, horizons + 1):
            targets, keep = self.ahead(horizon)
            used = keep.any(2)
            yield Regression(columns.moments(used[begins], targets[used], keep[used]), columns.units)

    def regression_of_all(self, horizons: int) -> Regression:
        """Returns the one regression of `rows_of_all`. Raises ValueError as that does."""
        rows = self.rows_of_all(horizons)
        columns = Columns(rows.inputs)
        return Regression(columns.moments(rows.mask.any(1), rows.targets, rows.mask), columns.units)

    @property
    def begins(self) -> Tensor:
        """Returns which rows (sequence, time) forecasts are made from: those of `late` up to the last scored one."""
        return self.late & (self.scored.any(2).flip(1).cumsum(1).flip(1) > 0)


def targets_ahead(values: Tensor, scored: Tensor, horizon: int, late: Tensor) -> tuple[Tensor, Tensor]:
    """Returns what `horizon_targets` does, but that only the rows `late` (sequence, time) count."""
    targets, keep = horizon_targets(values, scored, horizon)
    return targets, keep & late.unsqueeze(2)


def rows_throughout(scored: Tensor, late: Tensor, horizons: int) -> tuple[Tensor, Tensor]:
    """Returns sequence and time of those of the rows `late` (sequence, time) whose next `horizons` rows are all scored
    in scored (sequence, time, feature), see `wholly_scored`."""
    begins = wholly_scored(scored).unfold(1, horizons, 1).all(2)
    sequence, time = (begins & late[:, : begins.shape[1]]).nonzero().unbind(1)
    return sequence, time


def compared_rows(values: Tensor, scored: Tensor, late: Tensor, longest: int) -> tuple[Tensor, Tensor]:
    """Returns sequence and time of at most `ORIGINS` of the rows `late` (sequence, time), evenly spaced, with something
    to score `longest` steps ahead; values, scored (sequence, time, feature)."""
    begins = targets_ahead(values, scored, longest, late)[1].any(2)
    sequence, time = evenly_spaced(begins.nonzero(), ORIGINS).unbind(1)
    return sequence, time


def late_rows(part: MaskedSequences, history: int) -> Tensor:
    """Returns which rows (sequence, time) forecasts may be made from: those behind `history` rows of their sequence, or
    behind as many as the first that is scored has before it, whichever is more; see `rows_before`."""
    before, scored = rows_before(part.mask), part.scored.any(2)
    fewest = int(before[scored].min()) if bool(scored.any()) else 0
    return begun_along(part.mask) & (before >= max(history, fewest))


def part_of(model: GroupedReadout, part: MaskedSequences, filled: Tensor) -> Part:
    """Returns the part as the model sees it. filled (sequence, time, d): its values, with something in the gaps."""
    begun = begun_along(part.mask).unsqueeze(2).expand_as(filled)
    if bool(begun[:, 0].all()):
        states = model.states_observed(model.initial_state(len(filled)), filled)
    else:
        states = filter_sequences(model, filled, begun).states
    return Part(states, model.inputs(states), part.values, part.scored, late_rows(part, model.history))
