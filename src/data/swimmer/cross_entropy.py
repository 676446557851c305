"""The cross-entropy method: maximise a function by drawing points, keeping the best and drawing around them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tqdm import tqdm

# Part of the first spread that is added in every iteration, so that the draws do not narrow too early.
FLOOR = 0.05


def cross_entropy_maximise(
    function: Callable[[np.ndarray], float],
    *,
    spread: np.ndarray,
    iterations: int,
    draws: int,
    elite: int,
    generator: np.random.Generator,
) -> np.ndarray:
    """Returns the mean of the best points of the last iteration (Rubinstein 1999, for continuous parameters).

    The search begins at μ = 0, σ = spread, both of the shape of a point (size,). Each iteration draws `draws` points
    from N(μ, diag σ²) and sets μ and σ to the mean and standard deviation of the `elite` points of greatest value, σ
    plus 5 % of `spread`. A value that is not a number counts as the smallest. 1 ≤ elite ≤ draws.
    """
    mean, deviation = np.zeros(len(spread)), spread
    progress = tqdm(range(iterations), desc="cross-entropy method", unit="iteration", disable=None)
    for _ in progress:
        points = mean + deviation * generator.standard_normal((draws, len(spread)))
        values = np.array([function(point) for point in points])
        order = np.argsort(np.where(np.isnan(values), -np.inf, values), kind="stable")[-elite:]
        mean, deviation = points[order].mean(0), points[order].std(0) + FLOOR * spread
        progress.set_postfix(elite=f"{values[order].mean():.4g}")
    return mean
