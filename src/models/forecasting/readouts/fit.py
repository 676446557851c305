"""The maps of a grouped readout in closed form: ridges on validation for each horizon, direct or iterated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from models.forecasting.burn_in import spread
from models.forecasting.filtering import (
    MaskedSequences,
    State,
    filter_sequences,
    has_gaps,
    iterated,
    up_to_end,
)
from models.forecasting.horizons import horizon_targets
from models.forecasting.readouts.inputs import GROUPS
from models.forecasting.readouts.model import GroupedReadout
from models.forecasting.readouts.settings import GroupedSettings
from models.numerics.grouped_ridge import Columns, Exponents, choose_ridges
from models.numerics.ridge import RegressionData, masked_mse
from models.runtime.seeding import Generators

ORIGINS = 512  # rows of the validation part from which direct and iterated forecasts are compared
WORTH = 1e-4  # share of the error that iterated forecasts have to save, so that a near tie is not left to rounding


class HorizonFit(NamedTuple):
    """Holds, for one horizon: the validation errors of its own map and of iterated forecasts, over the same rows;
    whether its own map is used; and the ridge of each group that there is, by its name."""

    horizon: int
    direct_error: float
    iterated_error: float
    direct: bool
    ridges: dict[str, float]


class GroupedFit(NamedTuple):
    """Holds the model, the fit of each of its horizons, and their number that was too long for the data: from the
    shortest of these on nothing is regressed."""

    model: GroupedReadout
    horizons: list[HorizonFit]
    left_out: int

    @property
    def chosen(self) -> dict[str, Any]:
        """Returns the ridges of horizon 1, and how many horizons are forecast directly, by names for tables."""
        ridges = {f"readout.ridge.{name}": ridge for name, ridge in self.horizons[0].ridges.items()}
        return {**ridges, "readout.direct.used": sum(each.direct for each in self.horizons)}


class Part(NamedTuple):
    """Holds the states and the inputs of the maps along a part, each (sequence, time, …), its values, its scored
    entries, and the first row that forecasts are made from."""

    states: State
    inputs: Tensor
    values: Tensor
    scored: Tensor
    first: int

    def ahead(self, horizon: int) -> tuple[Tensor, Tensor]:
        """Returns what `targets_ahead` does for this part."""
        return targets_ahead(self.values, self.scored, horizon, self.first)

    def rows(self, horizon: int) -> RegressionData:
        """Returns inputs, and the rows `horizon` steps after the last that was seen, where these are scored."""
        targets, keep = self.ahead(horizon)
        used = keep.any(2)
        return RegressionData(self.inputs[used], targets[used], keep[used])

    @property
    def begins(self) -> Tensor:
        """Returns which rows (sequence, time) forecasts are made from: those from `first` to the last scored one."""
        begins = self.scored.any(2).flip(1).cumsum(1).flip(1) > 0
        begins[:, : self.first] = False
        return begins


def targets_ahead(values: Tensor, scored: Tensor, horizon: int, first: int) -> tuple[Tensor, Tensor]:
    """Returns what `horizon_targets` does, but that nothing counts before the row `first`."""
    targets, keep = horizon_targets(values, scored, horizon)
    keep[:, :first] = False
    return targets, keep


def first_row(part: MaskedSequences, history: int) -> int:
    """Returns the first row that forecasts are made from: the first that is scored, or `history`, whichever is
    later."""
    return max(history, int(part.scored.any(2).any(0).int().argmax()))


def part_of(model: GroupedReadout, part: MaskedSequences, filled: Tensor) -> Part:
    """Returns the part as the model sees it. filled (sequence, time, d): its values, with something in the gaps."""
    states = model.states_observed(model.initial_state(len(filled)), filled)
    return Part(states, model.inputs(states), part.values, part.scored, first_row(part, model.history))


def groups_of(model: GroupedReadout) -> tuple[Tensor, list[str]]:
    """Returns the place of the group of each input, (input,), and the names of the groups that have any."""
    sizes = {name: size for name, size in zip(GROUPS, model.group_sizes, strict=True) if size}
    places = [torch.full((size,), place) for place, size in enumerate(sizes.values())]
    return torch.cat([*places, torch.empty(0, dtype=torch.int64)]).to(model.bias.device), list(sizes)


def reachable(train: MaskedSequences, validation: MaskedSequences, *, history: int, most: int) -> int:
    """Returns the longest horizon, at most `most`, for which both parts have a scored row of each feature so far ahead
    of one that has `history` rows before it; 0 where there are none at all."""
    reach = 0
    for horizon in range(1, most + 1):
        parts = (
            targets_ahead(part.values, part.scored, horizon, first_row(part, history))[1]
            for part in (train, validation)
        )
        if not all(bool(keep.flatten(0, 1).any(0).all()) for keep in parts):
            break
        reach = horizon
    return reach


def solve_maps(model: GroupedReadout, train: Part, validation: Part) -> Iterator[tuple[Exponents, float]]:
    """Sets the map of each horizon, the search for whose ridges begins where that of the one before ended; yields the
    powers of ten of its ridges, and its validation error."""
    groups, _ = groups_of(model)
    begins = train.begins
    columns, start = Columns(train.inputs[begins]), None
    for horizon in range(1, len(model.direct) + 1):
        targets, keep = train.ahead(horizon)
        used = keep.any(2)
        moments = columns.moments(used[begins], targets[used], keep[used])
        fit = choose_ridges(moments, columns.units, validation.rows(horizon), groups, start=start)
        model.set_map(horizon, fit.readout)
        start = fit.exponents
        yield fit.exponents, fit.error


def compared(model: GroupedReadout, part: Part) -> tuple[list[float], list[float]]:
    """Returns the errors of direct and of iterated forecasts of each horizon, from the same rows of the part; infinite
    where a forecast is not a number."""
    horizons = range(1, len(model.direct) + 1)
    begins = part.ahead(horizons[-1])[1].any(2)
    sequence, time = spread(begins.nonzero(), ORIGINS).unbind(1)
    fed_back = iterated(model, tuple(part_[sequence, time] for part_ in part.states), horizons)
    inputs = part.inputs[sequence, time]
    errors: tuple[list[float], list[float]] = [], []
    for horizon in horizons:
        targets, keep = (of[sequence, time] for of in part.ahead(horizon))
        own = nn.functional.linear(inputs, model.weight[horizon - 1], model.bias[horizon - 1])
        for found, forecasts in zip(errors, (own, fed_back[:, horizon - 1]), strict=True):
            found.append(float(masked_mse(forecasts, targets, keep).nan_to_num(nan=torch.inf)))
    return errors


def filled_by(model: Any, part: MaskedSequences) -> Tensor:
    """Returns the values of the part (sequence, time, d), with the model's predictions in the gaps."""
    if not has_gaps(part.mask):
        return part.values
    return filter_sequences(model, part.values, up_to_end(part.mask)).filled


@torch.no_grad()
def fit_grouped(
    base: nn.Module, train: MaskedSequences, validation: MaskedSequences, settings: GroupedSettings,
    generators: Generators,
) -> GroupedFit:  # fmt: skip
    """Returns the base beneath a grouped readout that is fitted to the training part, its ridges and, for each horizon,
    direct or iterated forecasts chosen by the validation part.

    train, validation: standardised sequences (sequence, time, feature). Gaps are filled by the base, then, in a second
    fit, by the model itself. Horizons for which the parts are too short are left out.
    Raises ValueError where no row is left to fit to, and as `choose_ridges` and the drawing of frequencies do.
    """
    dimension = train.values.shape[2]
    history = max(settings.lags, int(getattr(base, "history", 0)))
    horizons = reachable(train, validation, history=history, most=settings.direct)
    if not horizons:
        raise ValueError(
            f"no training and validation row of each feature has {history} rows before it; lower readout.lags"
        )
    model = GroupedReadout(
        base, dimension=dimension, lags=settings.lags, traces=settings.traces, count=settings.count, horizons=horizons
    ).to(train.values)
    filled = [filled_by(base, part) for part in (train, validation)]
    if settings.count:
        draw_features(model, train, filled[0], settings, generators)
    held_out, exponents = solved(model, train, validation, filled)
    if has_gaps(train.mask) or has_gaps(validation.mask):
        filled = [filled_by(model, part) for part in (train, validation)]
        held_out, exponents = solved(model, train, validation, filled)
    return GroupedFit(model, choose_direct(model, held_out, exponents), settings.direct - horizons)


def solved(
    model: GroupedReadout, train: MaskedSequences, validation: MaskedSequences, filled: list[Tensor]
) -> tuple[Part, list[Exponents]]:
    """Sets the maps; returns the validation part as the model sees it, and the powers of ten of each map's ridges.

    filled: the values of both parts, with something in the gaps.
    """
    fitted_to, held_out = (
        part_of(model, part, values) for part, values in zip((train, validation), filled, strict=True)
    )
    return held_out, [powers for powers, _ in solve_maps(model, fitted_to, held_out)]


def draw_features(
    model: GroupedReadout, train: MaskedSequences, filled: Tensor, settings: GroupedSettings, generators: Generators
) -> None:
    """Draws the random features of the model by the rows of h that its maps are fitted to."""
    seen = part_of(model, train, filled)
    model.features.draw(model.history_of(seen.states)[seen.ahead(1)[1].any(2)], settings, generators)


def choose_direct(model: GroupedReadout, validation: Part, exponents: list[Exponents]) -> list[HorizonFit]:
    """Sets which horizons are forecast by their own maps: those where iterated forecasts do not have less error on the
    validation part. Returns the fit of each horizon."""
    _, names = groups_of(model)
    fits = []
    for place, (own, fed_back) in enumerate(zip(*compared(model, validation), strict=True)):
        direct = not fed_back < (1 - WORTH) * own
        model.direct[place] = direct
        ridges = {name: 10.0**power for name, power in zip(names, exponents[place], strict=True)}
        fits.append(HorizonFit(place + 1, own, fed_back, direct, ridges))
    return fits
