"""The maps of a grouped readout solved again on more rows, with the ridges that were chosen for each horizon."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy

import torch

from models.forecasting.filtering import MaskedSequences, has_gaps
from models.forecasting.readouts.fit import HorizonFit, filled_by, groups_of, set_shared
from models.forecasting.readouts.model import GroupedReadout
from models.forecasting.readouts.parts import Part, part_of
from models.numerics.grouped_ridge import Exponents, solve_groups
from models.numerics.ridge import AffineMap


def exponents_of(ridges: Mapping[str, float], groups: Sequence[str]) -> Exponents:
    """Returns the powers of ten that the ridges of the groups are."""
    return tuple(round(math.log10(ridges[name])) for name in groups)


def maps_along(model: GroupedReadout, part: Part, horizons: Sequence[HorizonFit], *, shared: bool) -> list[AffineMap]:
    """Returns the map of each horizon along a part, or in a list the one of all, with the ridges of these fits."""
    groups, names = groups_of(model)
    most = len(horizons)
    regressions = [part.regression_of_all(most)] if shared else part.regressions(most)
    fits = horizons[:1] if shared else horizons
    return [
        solve_groups(own.moments, groups, exponents_of(fit.ridges, names), own.units)
        for own, fit in zip(regressions, fits, strict=True)
    ]


def solve_along(
    model: GroupedReadout, rows: MaskedSequences, horizons: Sequence[HorizonFit], *, shared: bool, difference: bool
) -> None:
    """Sets the maps to those of the rows, whose gaps the model fills; see `grouped_again`."""
    part = part_of(model, rows, filled_by(model, rows))
    if difference:
        maps = maps_along(model, part.differenced(model.differences), horizons, shared=shared)
        maps = [model.differences.undone(own) for own in maps]
    else:
        maps = maps_along(model, part, horizons, shared=shared)
    if shared:
        set_shared(model, maps[0])
    else:
        for horizon, own in enumerate(maps, start=1):
            model.set_map(horizon, own)


@torch.no_grad()
def grouped_again(
    model: GroupedReadout, rows: MaskedSequences, horizons: Sequence[HorizonFit], *, shared: bool, difference: bool
) -> GroupedReadout:
    """Returns a copy of the model whose maps are solved along other rows, standardised, with the ridges of `horizons`.

    The model beneath, the random features, and which horizons are direct stay. Gaps are filled by the model, then, in a
    second fit, by the copy itself. horizons: the fits of the model. shared, difference: as it was fitted with, see
    `models.forecasting.readouts.settings.GroupedSettings`. Raises ValueError as `models.numerics.grouped_ridge` does.
    """
    again = deepcopy(model)
    for _ in range(2 if has_gaps(rows.mask) else 1):
        solve_along(again, rows, horizons, shared=shared, difference=difference)
    return again
