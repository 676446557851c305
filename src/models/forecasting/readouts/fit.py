"""The maps of a grouped readout in closed form: ridges on validation for each horizon, direct or iterated."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from models.forecasting.errors_ahead import error_ahead_of
from models.forecasting.filtering import MaskedSequences, filter_sequences, has_gaps, up_to_end
from models.forecasting.readouts.differences import Differences
from models.forecasting.readouts.inputs import GROUPS
from models.forecasting.readouts.model import GroupedReadout
from models.forecasting.readouts.parts import Part, compared_rows, late_rows, part_of
from models.forecasting.readouts.settings import GroupedSettings
from models.forecasting.rolling import iterated
from models.numerics.grouped_ridge import Exponents, choose_ridges, raised_ridges
from models.numerics.held_out import least_error
from models.numerics.ridge import AffineMap, infinite_where_nan, masked_mse
from models.numerics.ties import WORTH, first_of_least
from models.runtime.seeding import Generators

GROWN = 4.0  # times the error of the training mean: that of forecasts without a clue is 2, so more are growing


class HorizonFit(NamedTuple):
    """Holds the fit of one horizon: the validation errors of its own map and of iterated forecasts, over the same rows;
    whether its own map is used; and the ridge of each group that there is, by its name. The error of iterated forecasts
    is NaN where there were none."""

    horizon: int
    direct_error: float
    iterated_error: float
    direct: bool
    ridges: dict[str, float]


class ErrorAhead(NamedTuple):
    """Holds what gives the error of a model's forecasts of one to many steps, and the error below which all are
    alike."""

    error: Callable[[Any], float]
    rounding: float

    @classmethod
    def along(cls, part: MaskedSequences, *, leads: int) -> ErrorAhead:
        """Returns `models.forecasting.errors_ahead.error_ahead_of` along a part whose last `leads` columns are known
        ahead."""
        return cls(partial(error_ahead_of, part=part, leads=leads), least_error(part.values, part.scored))


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


def groups_of(model: GroupedReadout) -> tuple[Tensor, list[str]]:
    """Returns the place of the group of each input, (input,), and the names of the groups that have any."""
    sizes = {name: size for name, size in zip(GROUPS, model.group_sizes, strict=True) if size}
    places = [torch.full((size,), place) for place, size in enumerate(sizes.values())]
    return torch.cat([*places, torch.empty(0, dtype=torch.int64)]).to(model.bias.device), list(sizes)


def reachable(train: MaskedSequences, validation: MaskedSequences, *, history: int, most: int) -> int:
    """Returns the longest horizon, at most `most`, for which the training part has a scored row of each feature so far
    ahead of one that has `history` rows before it, and the validation part one of any feature; 0 where there are none
    at all."""
    parts, reach = [(part.scored, late_rows(part, history).unsqueeze(2)) for part in (train, validation)], 0
    for horizon in range(1, most + 1):
        fitted_to, held_out = (
            scored[:, horizon - 1 :] & late[:, : late.shape[1] - horizon + 1] for scored, late in parts
        )
        if not (bool(fitted_to.flatten(0, 1).any(0).all()) and bool(held_out.any())):
            break
        reach = horizon
    return reach


def solve_maps(
    model: GroupedReadout, train: Part, validation: Part, differences: Differences | None = None
) -> Iterator[tuple[Exponents, float]]:
    """Sets the map of each horizon, the search for whose ridges begins where that of the one before ended; yields the
    powers of ten of its ridges, and its validation error.

    differences: taken in both parts, if any.
    """
    groups, _ = groups_of(model)
    start = None
    for horizon, own in enumerate(train.regressions(len(model.direct)), start=1):
        fit = choose_ridges(own.moments, own.units, validation.rows(horizon), groups, start=start)
        model.set_map(horizon, fit.readout if differences is None else differences.undone(fit.readout))
        start = fit.exponents
        yield fit.exponents, fit.error


def solve_shared(
    model: GroupedReadout, train: Part, validation: Part, differences: Differences | None = None
) -> Exponents:
    """Sets the maps of all horizons by one regression, whose ridges have the least mean error over them; returns their
    powers of ten. Raises ValueError as `Part.rows_of_all`."""
    groups, _ = groups_of(model)
    horizons = len(model.direct)
    moments, units = train.regression_of_all(horizons)
    fit = choose_ridges(moments, units, validation.rows_of_all(horizons), groups)
    set_shared(model, fit.readout if differences is None else differences.undone(fit.readout))
    return fit.exponents


def set_shared(model: GroupedReadout, readout: AffineMap) -> None:
    """Sets the maps of all horizons to their rows of one map, (horizons · d, input)."""
    parts = zip(*(each.unflatten(0, (len(model.direct), -1)).unbind() for each in readout), strict=True)
    for horizon, (weight, bias) in enumerate(parts, start=1):
        model.set_map(horizon, AffineMap(weight, bias))


def solve_fed_back(
    model: GroupedReadout, train: Part, exponents: Exponents, differences: Differences | None, ahead: ErrorAhead
) -> Exponents:
    """Sets the first map, which alone gives all horizons, with larger ridges where its forecasts of several steps have
    less error then, see `raised_ridges`; returns the powers of ten of its ridges. Of nearly equal ones the smallest are
    taken.

    exponents: of the ridges of the map that the model has, which are the best for one step. differences: taken in the
    training part, if any.
    """
    groups, _ = groups_of(model)
    moments, units = next(train.regressions(1))
    tried = list(raised_ridges(moments, units, groups, exponents))
    maps = [readout if differences is None else differences.undone(readout) for _, readout in tried]
    errors = []
    for readout in maps:
        model.set_map(1, readout)
        errors.append(ahead.error(model))
    place = first_of_least(errors, ahead.rounding)
    model.set_map(1, maps[place])
    return tried[place][0]


class Compared(NamedTuple):
    """Holds the errors of each horizon, from the same rows of a part: of direct and of iterated forecasts, infinite
    where a forecast is not a number, and of the training mean."""

    direct: list[float]
    iterated: list[float]
    mean: list[float]


def compare_direct(model: GroupedReadout, part: Part) -> Compared:
    """Returns the errors of direct and of iterated forecasts, and of the training mean."""
    horizons = range(1, len(model.direct) + 1)
    rows = compared_rows(part.values, part.scored, part.late, horizons[-1])
    fed_back = iterated(model, tuple(state[rows] for state in part.states), horizons)
    inputs = part.inputs[rows]
    errors = Compared([], [], [])
    for horizon in horizons:
        targets, keep = (of[rows] for of in part.ahead(horizon))
        own = nn.functional.linear(inputs, model.weight[horizon - 1], model.bias[horizon - 1])
        for found, forecasts in zip(errors, (own, fed_back[:, horizon - 1], torch.zeros_like(targets)), strict=True):
            found.append(float(infinite_where_nan(masked_mse(forecasts, targets, keep))))
    return errors


def can_be_fed_back(errors: Compared) -> list[bool]:
    """Returns for each horizon whether iterated forecasts do not grow up to twice as far ahead, or up to the last one:
    nowhere on the way more than `GROWN` times the training mean's error.

    Two independent draws from the data differ by twice the variance, so forecasts that are merely of no use stay below.
    This is judged by the mean over rows of the validation part; a single row elsewhere may diverge sooner.
    """
    bounded = [fed_back <= GROWN * mean for fed_back, mean in zip(errors.iterated, errors.mean, strict=True)]
    return [all(bounded[: 2 * horizon]) for horizon in range(1, len(bounded) + 1)]


def filled_by(model: Any, part: MaskedSequences) -> Tensor:
    """Returns the values of the part (sequence, time, d), with the model's predictions in the gaps."""
    if not has_gaps(part.mask):
        return part.values
    return filter_sequences(model, part.values, up_to_end(part.mask)).filled


@torch.no_grad()
def fit_grouped(
    base: nn.Module, train: MaskedSequences, validation: MaskedSequences, settings: GroupedSettings,
    generators: Generators, *, leads: int | None = None,
) -> GroupedFit:  # fmt: skip
    """Returns the base beneath a grouped readout that is fitted to the training part, its ridges and, for each horizon,
    direct or iterated forecasts chosen by the validation part.

    train, validation: standardised sequences (sequence, time, feature). Gaps are filled by the base, then, in a second
    fit, by the model itself. Horizons for which the parts are too short are left out.
    leads: how many of the last columns are known ahead. With a number the ridges of a readout with one map are chosen
    by forecasts of several steps, see `solve_fed_back`; with None by one-step predictions.
    Raises ValueError where no row is left to fit to, and as `choose_ridges` and the drawing of frequencies do.
    """
    dimension = train.values.shape[2]
    history = max(settings.lags, int(getattr(base, "history", 0)))
    horizons = reachable(train, validation, history=history, most=settings.direct)
    if not horizons:
        raise ValueError(f"no training and validation row of each feature has {history} rows before it; lower lags")
    model = GroupedReadout(
        base, dimension=dimension, lags=settings.lags, traces=settings.traces, count=settings.count, horizons=horizons
    ).to(train.values)
    filled = [filled_by(base, part) for part in (train, validation)]
    if settings.count:
        draw_features(model, train, filled[0], settings, generators)
    ahead = None if leads is None or horizons > 1 else ErrorAhead.along(validation, leads=leads)
    held_out, exponents = solved(model, train, validation, filled, settings, ahead)
    if has_gaps(train.mask) or has_gaps(validation.mask):
        filled = [filled_by(model, part) for part in (train, validation)]
        held_out, exponents = solved(model, train, validation, filled, settings, ahead)
    fits = choose_direct(model, held_out, exponents, iterate=not settings.shared)
    return GroupedFit(model, fits, settings.direct - horizons)


def solved(
    model: GroupedReadout, train: MaskedSequences, validation: MaskedSequences, filled: list[Tensor],
    settings: GroupedSettings, ahead: ErrorAhead | None,
) -> tuple[Part, list[Exponents]]:  # fmt: skip
    """Sets the maps; returns the validation part as the model sees it, and the powers of ten of each map's ridges.

    filled: the values of both parts, with something in the gaps. ahead: by which the ridges of a single map are settled
    (`solve_fed_back`); None leaves them as they are.
    """
    seen = [part_of(model, part, values) for part, values in zip((train, validation), filled, strict=True)]
    fitted_to, held_out, differences = *seen, None
    if settings.difference:
        differences = model.differences
        fitted_to, held_out = (part.differenced(differences) for part in seen)
    if settings.shared:
        return seen[1], [solve_shared(model, fitted_to, held_out, differences)] * len(model.direct)
    exponents = [powers for powers, _ in solve_maps(model, fitted_to, held_out, differences)]
    if ahead is not None:
        exponents = [solve_fed_back(model, fitted_to, exponents[0], differences, ahead)]
    return seen[1], exponents


def draw_features(
    model: GroupedReadout, train: MaskedSequences, filled: Tensor, settings: GroupedSettings, generators: Generators
) -> None:
    """Draws the random features of the model by the rows of h that its maps are fitted to."""
    seen = part_of(model, train, filled)
    model.features.draw(model.history_of(seen.states)[seen.ahead(1)[1].any(2)], settings, generators)


def own_errors(model: GroupedReadout, part: Part) -> list[float]:
    """Returns the error of each map, from the rows of the part from which all horizons are scored."""
    rows = part.rows_of_all(len(model.direct))
    forecasts = nn.functional.linear(rows.inputs, model.weight.flatten(0, 1), model.bias.flatten())
    by_horizon = (part.unflatten(1, (len(model.direct), -1)).unbind(1) for part in (forecasts, rows.targets, rows.mask))
    return [float(masked_mse(*own)) for own in zip(*by_horizon, strict=True)]


def choose_direct(
    model: GroupedReadout, validation: Part, exponents: list[Exponents], *, iterate: bool
) -> list[HorizonFit]:
    """Sets which horizons are forecast by their own maps: those where iterated forecasts do not have less error on the
    validation part, or grow soon after, see `can_be_fed_back`; or all where `iterate` is false, and the errors of
    these are NaN. Returns the fit of each horizon."""
    _, names = groups_of(model)
    unknown = [math.nan] * len(exponents)
    errors = compare_direct(model, validation) if iterate else Compared(own_errors(model, validation), unknown, unknown)
    fits = []
    for place, (own, fed_back, usable) in enumerate(
        zip(errors.direct, errors.iterated, can_be_fed_back(errors), strict=True)
    ):
        direct = not (usable and fed_back < (1 - WORTH) * own)
        model.direct[place] = direct
        ridges = {name: 10.0**power for name, power in zip(names, exponents[place], strict=True)}
        fits.append(HorizonFit(place + 1, own, fed_back, direct, ridges))
    return fits
