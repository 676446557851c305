"""Split conformal prediction intervals around point forecasts, and the coverage that they reach.

An interval is forecast ± radius, one radius per horizon and feature, read off the absolute residuals of forecasts that
the model was not fitted to (the calibration part). Source: Papadopoulos et al., "Inductive confidence machines for
regression", 2002; Vovk, Gammerman and Shafer, "Algorithmic learning in a random world", 2005, chapter 4; Lei et al.,
"Distribution-free predictive inference for regression", 2018, algorithm 2.

What is guaranteed. Let the n calibration residuals and the residual of the new forecast be *exchangeable*: every order
of the n + 1 of them equally likely. Then the interval holds the truth with probability at least the coverage, whatever
the model and the distribution, and with at most 1/(n + 1) more where residuals never tie. For time series that is so
when sequences are exchangeable as wholes (independent recordings of one kind, say) and each gives *one* forecast, by a
rule that does not look at the values (for instance from step 50). n is then the number of sequences
(Stankevičiūtė et al., "Conformal time-series forecasting", 2021).

What is not guaranteed:
- Several origins of one sequence. Residuals of neighbouring steps are dependent, so n of them tell less than n
  sequences do: the radii then are estimates, often good ones over many origins, and no theorem bounds their coverage.
- One series cut in time, the past for calibration and the future held out: drift, seasons and regimes break the
  exchangeability (Barber et al., "Conformal prediction beyond exchangeability", 2023, bound the loss).
- A calibration part that also chose ridges, orders or epochs: its residuals are then somewhat too small. Choosing
  among few candidates costs little, stopping a long descent by it may cost more.
- Coverage of each single case: it is an average over calibration parts and new sequences, not a promise for a hard
  sequence, a given gap pattern or a given value. All intervals of one horizon and feature are equally wide.
- Whole paths: every horizon and feature is covered on its own. For all H horizons and D features at once ask for a
  coverage of 1 − (1 − coverage)/(H·D), Bonferroni's bound.
- Gaps that depend on the error (a sensor that fails at extremes): only observed truth is scored.

`coverage_reached` measures on held-out forecasts what came of it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np


class Coverage(NamedTuple):
    """Holds share (horizon, feature): of the scored forecasts, those inside their interval; NaN where none was scored.
    scored (horizon, feature): how many forecasts that is.
    """

    share: np.ndarray
    scored: np.ndarray


def smallest_calibration(coverage: float) -> int:
    """Returns the least n with ⌈(n + 1)·coverage⌉ ≤ n: fewer forecasts leave only the infinite interval.

    Raises ValueError for a coverage that does not lie between 0 and 1.
    """
    exact = _exact(coverage)
    return math.ceil(exact / (1 - exact))


def conformal_radii(residuals: np.ndarray, *, coverage: float) -> np.ndarray:
    """Returns (horizon, feature): half the width of the intervals forecast ± radius, in the units of the residuals.

    The radius is the ⌈(n + 1)·coverage⌉-th smallest of the n scored |residuals|, coverage = 1 − α; the rank is taken
    in exact arithmetic of the coverage as written, so that 0.55 of 100 is 55 and not 56. What the radii promise, and
    what not, stands at the head of this module.

    residuals: (forecast, horizon, feature), truth − forecast or its size, of forecasts on the calibration part;
    NaN = not scored. `models.forecasting.backtest.BacktestResult.residuals` gives them.
    Raises ValueError for another shape, an infinite residual, a coverage that does not lie between 0 and 1, and a
    horizon and feature with too few scored forecasts for a finite radius; the message tells how many are needed.
    """
    needed = smallest_calibration(coverage)
    ordered, scored = ordered_sizes(residuals)
    if (scored < needed).any():
        horizon, feature = np.unravel_index(scored.argmin(), scored.shape)
        raise ValueError(
            f"coverage {coverage:g} needs at least {needed} scored calibration forecasts, horizon {horizon + 1} of "
            f"feature {feature} has {scored[horizon, feature]}; calibrate on more or ask for less coverage"
        )
    return radii_by_rank(ordered, scored, coverage)


def ordered_sizes(residuals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns |residuals| (forecast + 1, horizon, feature) in order, NaN behind the numbers and infinity in a last row,
    and how many were scored, (horizon, feature). Raises ValueError as `sizes_of`."""
    sizes = np.sort(sizes_of(residuals), axis=0)  # NaN come last
    scored = (~np.isnan(sizes)).sum(0)
    return np.concatenate([sizes, np.full((1, *scored.shape), np.inf)]), scored


def radii_by_rank(ordered: np.ndarray, scored: np.ndarray, coverage: float) -> np.ndarray:
    """Returns (horizon, feature): the ⌈(n + 1)·coverage⌉-th of the n scored sizes, infinite where n is too small.

    ordered, scored: of `ordered_sizes`. Raises ValueError for a coverage that does not lie between 0 and 1.
    """
    exact = _exact(coverage)
    numbers, places = np.unique(scored, return_inverse=True)
    ranks = np.array([math.ceil((int(n) + 1) * exact) for n in numbers], np.int64)[places].reshape(scored.shape)
    rows = np.where(ranks <= scored, ranks - 1, len(ordered) - 1)
    return np.take_along_axis(ordered, rows[None], axis=0)[0]


def coverage_reached(residuals: np.ndarray, radii: np.ndarray) -> Coverage:
    """Returns the share of held-out forecasts whose truth lies in forecast ± radius (ends included), per horizon and
    feature.

    residuals: (forecast, horizon, feature) of forecasts that neither fitted the model nor gave the radii; NaN = not
    scored. radii: (horizon, feature). The share scatters: over n independent forecasts by about √(c(1 − c)/n), and
    by more over neighbouring steps, which are dependent.
    Raises ValueError for shapes that do not fit, an infinite residual, and a radius that is negative or not finite.
    """
    sizes = sizes_of(residuals)
    if radii.shape != sizes.shape[1:]:
        raise ValueError(f"radii of shape {radii.shape} do not fit residuals of shape {residuals.shape}")
    if not (np.isfinite(radii) & (radii >= 0)).all():
        raise ValueError("a radius is negative or not finite; take the radii from conformal_radii")
    return share_inside(sizes, radii)


def share_inside(sizes: np.ndarray, radii: np.ndarray) -> Coverage:
    """Returns `coverage_reached` of |residuals| (forecast, horizon, feature), where they and the radii
    (horizon, feature) may be infinite."""
    scored = (~np.isnan(sizes)).sum(0)
    inside = (sizes <= radii).sum(0)
    share = np.where(scored > 0, inside / np.maximum(scored, 1), np.nan)
    return Coverage(share, scored)


def interval(forecast: np.ndarray, radii: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns (lower, upper), each like `forecast` (…, horizon, feature): forecast ∓ radius. radii: (horizon, feature).

    Raises ValueError when the forecast's last two dimensions are not those of the radii.
    """
    if forecast.shape[-2:] != radii.shape:
        raise ValueError(f"radii of shape {radii.shape} do not fit a forecast of shape {forecast.shape}")
    return forecast - radii, forecast + radii


def _exact(coverage: float) -> Fraction:
    """Returns the decimal that was written, 0.9 as 9/10, not the binary number next to it. Raises ValueError for a
    coverage that does not lie between 0 and 1."""
    if not 0 < coverage < 1:
        raise ValueError(f"coverage must lie between 0 and 1, got {coverage:g}")
    return Fraction(str(coverage))


def sizes_of(residuals: np.ndarray) -> np.ndarray:
    """Returns |residuals| (forecast, horizon, feature); NaN = not scored.

    Raises ValueError for another shape and infinity.
    """
    if residuals.ndim != 3:
        raise ValueError(f"expected residuals (forecast, horizon, feature), got shape {residuals.shape}")
    if np.isinf(residuals).any():
        forecast, horizon, feature = np.argwhere(np.isinf(residuals))[0]
        raise ValueError(
            f"infinite residual in forecast {forecast}, horizon {horizon + 1}, feature {feature}; mend the forecast"
        )
    return np.abs(residuals)
