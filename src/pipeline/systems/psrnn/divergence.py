"""Forecasts that diverge: the horizons from which a model is of no use, found on the validation part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from models.forecasting.filtering import MaskedSequences
from models.forecasting.horizons import horizon_targets
from pipeline.systems.psrnn.comparison import DIVERGED
from pipeline.systems.psrnn.labels import label

LIMIT = 2.0  # times the error of the training mean
NAIVE = ("persistence", "last_value", "seasonal_naive")  # they repeat what was observed, which cannot diverge


def mean_error(part: MaskedSequences, scored: Tensor, horizon: int) -> float:
    """Returns the error of the training mean, which is 0, at the origins and entries `scored` (sequence, time,
    feature) of forecasts so many steps ahead."""
    targets, _ = horizon_targets(part.values, part.scored, horizon)
    return float(targets.double().square()[scored].mean())


def diverged_horizons(squared: Mapping[int, Tensor], part: MaskedSequences) -> list[int]:
    """Returns the horizons at which the mean squared error is more than `LIMIT` times that of the training mean over
    the same entries, or no finite number; none where nothing was scored.

    squared: errors by horizon, each (sequence, time, feature), NaN where not scored.
    """
    diverged = []
    for horizon, errors in squared.items():
        scored = ~torch.isnan(errors)
        if bool(scored.any()) and not float(errors[scored].double().mean()) <= LIMIT * mean_error(
            part, scored, horizon
        ):
            diverged.append(horizon)
    return diverged


def diverged_models(squared: Mapping[str, Mapping[int, Tensor]], part: MaskedSequences) -> dict[str, list[int]]:
    """Returns `diverged_horizons` of the models that have any. squared: their errors on the part, by horizon."""
    found = {name: diverged_horizons(errors, part) for name, errors in squared.items()}
    return {name: horizons for name, horizons in found.items() if horizons}


def in_words(horizons: Sequence[int]) -> str:
    return f"horizon{'s' * (len(horizons) > 1)} {', '.join(map(str, horizons))}"


def diverged_line(diverged: Mapping[str, Sequence[int]]) -> list[str]:
    """Returns what is said of the models that diverge, in one line; nothing where none diverges."""
    if not diverged:
        return []
    each = "; ".join(f"{label(name)} at {in_words(horizons)}" for name, horizons in diverged.items())
    return [f"diverging, with more than {LIMIT:g} times the training mean's error on the validation part: {each}"]


def diverged_tags(diverged: Mapping[str, Sequence[int]], *, main: str) -> dict[str, str]:
    """Returns tags of the models that diverge; that of the run's own one, `main`, is `DIVERGED` itself."""
    tags = {DIVERGED if name == main else f"{DIVERGED}_{name}": horizons for name, horizons in diverged.items()}
    return {tag: ",".join(map(str, horizons)) for tag, horizons in tags.items()}
