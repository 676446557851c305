"""At which steps, and in which columns, a naive forecast is better than a model that is ahead of it on average."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

CLEAR = 0.05  # of the model's error: by how much less a naive forecast has to have
CHANCE = 0.025  # of a lead by noise alone at one step, in whichever of the columns that are looked at
FEWEST = 10  # forecasts that do not overlap: fewer tell nothing of a single step
MOST_NAMED = 3  # columns that are named


class NaiveAhead(NamedTuple):
    """Holds where a naive forecast is clearly better: its name, the column (None for all together), the steps, and at
    the step of the largest lead both mean squared errors, in standard deviations."""

    name: str
    column: Any
    steps: tuple[int, ...]
    step: int
    error: float
    model_error: float


def naive_ahead(
    residuals: Mapping[str, np.ndarray], scored: np.ndarray, columns: Sequence[Any], *, spacing: np.ndarray
) -> list[NaiveAhead]:
    """Returns where a naive forecast is clearly better than the model: over all columns, else in single ones.

    residuals: truth − forecast (forecast, horizon, column) in standard deviations by what forecasts, "model" and the
    naive ones. scored: which of them count, bool of that shape. spacing (forecast,): how many rows lie between a
    forecast and the next. Clearly better is a mean squared error that is at least `CLEAR` of the model's smaller, and
    by more than z standard errors of the difference: Φ(z) = 1 - `CHANCE` / columns, where all columns together are one.
    For these, forecasts that overlap count as one: h steps ahead, n forecasts that are s rows apart are
    n · min(s, h) / h.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        squared = {name: np.square(part) for name, part in residuals.items()}
        together = _best(squared, scored, None, standard_errors=_needed(1), spacing=spacing)
        if together or len(columns) < 2:
            return together
        alone = [
            _best(
                {name: part[:, :, [place]] for name, part in squared.items()},
                scored[:, :, [place]],
                column,
                standard_errors=_needed(len(columns)),
                spacing=spacing,
            )
            for place, column in enumerate(columns)
        ]
    return [each for found in alone for each in found]


def said_of_naive(ahead: Sequence[NaiveAhead], steps: int) -> str:
    """Returns one line about where naive forecasts are ahead of a model that is not behind over 1 to `steps` steps."""
    largest = sorted(ahead, key=lambda each: each.error / each.model_error)[:MOST_NAMED]
    more = len(ahead) - len(largest)
    all_columns = "" if ahead[0].column is None else "all columns and "
    others = f" and in {more} more column{'s' * (more > 1)}" if more else ""
    return (
        "on the validation part a naive forecast is better than this model "
        f"{' and '.join(map(_place, largest))}{others}, by mean squared errors in standard deviations; over "
        f"{all_columns}1 to {steps} steps together it is not; take that forecast there, or try other parameters"
    )


def _place(ahead: NaiveAhead) -> str:
    column = "" if ahead.column is None else f"in column {ahead.column} "
    errors = f"{ahead.error:.3g}, not {ahead.model_error:.3g} at {ahead.step}"
    return f"{column}at {_horizons(ahead.steps)} ({ahead.name}: {errors})"


def _needed(columns: int) -> float:
    """Returns how many standard errors a lead has to have where the largest of so many columns is told."""
    return NormalDist().inv_cdf(1.0 - CHANCE / columns)


def _best(
    squared: Mapping[str, np.ndarray], scored: np.ndarray, column: Any, *, standard_errors: float, spacing: np.ndarray
) -> list[NaiveAhead]:
    """Returns the naive forecast that is ahead at the most steps, as a list of one; none where none is ahead."""
    model_errors = _mean(squared["model"], scored)
    found = []
    for name, own in squared.items():
        if name == "model":
            continue
        clear = np.flatnonzero(_is_clear(squared["model"], own, scored, standard_errors, spacing))
        if len(clear):
            errors = _mean(own, scored)
            step = int(clear[np.argmin(errors[clear] / model_errors[clear])])
            steps = tuple(int(place) + 1 for place in clear)
            found.append(NaiveAhead(name, column, steps, step + 1, float(errors[step]), float(model_errors[step])))
    return sorted(found, key=lambda each: -len(each.steps))[:1]


def _is_clear(
    ours: np.ndarray, naive: np.ndarray, scored: np.ndarray, standard_errors: float, spacing: np.ndarray
) -> np.ndarray:
    """Returns at which horizons a naive forecast is clearly better, bool (horizon,), by squared errors (forecast,
    horizon, column)."""
    gains = np.where(scored, ours - naive, 0.0).sum(2) / np.maximum(scored.sum(2), 1)
    seen = scored.any(2)
    steps = np.arange(1, ours.shape[1] + 1)
    apart = np.where(seen, np.minimum(spacing[:, np.newaxis], steps), 0.0).sum(0) / steps
    mean = gains.sum(0) / np.maximum(seen.sum(0), 1)
    variance = np.where(seen, np.square(gains - mean), 0.0).sum(0) / np.maximum(seen.sum(0), 1)
    lead = _mean(ours, scored) - _mean(naive, scored)
    noise = standard_errors * np.sqrt(variance / np.maximum(apart, 1.0))
    large = lead > np.maximum(CLEAR * _mean(ours, scored), noise)
    return large & (apart >= FEWEST)


def _mean(squared: np.ndarray, scored: np.ndarray) -> np.ndarray:
    return np.where(scored, squared, 0.0).sum((0, 2)) / np.maximum(scored.sum((0, 2)), 1)


def _horizons(steps: Sequence[int]) -> str:
    """Returns horizons in words: "horizon 1", "horizons 1 to 3, 7"."""
    starts = [step for step in steps if step - 1 not in steps]
    ends = [step for step in steps if step + 1 not in steps]
    runs = [f"{start} to {end}" if end > start else str(start) for start, end in zip(starts, ends, strict=True)]
    return f"horizon{'s' * (len(steps) > 1)} {', '.join(runs)}"
