"""Scores of predictions: numbers in, numbers out."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike


def accuracy(true: ArrayLike, predicted: ArrayLike) -> float:
    """Returns the share of equal entries. Raises ValueError for unequal lengths and for none."""
    own, other = pair_of(true, predicted)
    return float(np.mean(own == other))


def f1(true: ArrayLike, predicted: ArrayLike, *, average: Literal["weighted", "macro"] = "weighted") -> float:
    """Returns the mean over classes of F1 = 2 TP / (2 TP + FP + FN), as scikit-learn's `f1_score` gives it.

    weighted: each class counts by its share of the true labels; macro: all classes count alike, those that are only
    predicted among them. Raises ValueError for another average, labels that are fractions, unequal lengths and for
    none.
    """
    if average not in ("weighted", "macro"):
        raise ValueError(f"average must be weighted or macro, got {average!r}")
    from sklearn.metrics import f1_score

    return float(f1_score(*pair_of(true, predicted), average=average))


def mean_absolute_error(true: ArrayLike, predicted: ArrayLike) -> float:
    """Returns the mean of |ŷ − y|, in the unit of y. Raises ValueError for unequal lengths and for none."""
    own, other = pair_of(true, predicted)
    return float(np.mean(np.abs(own - other)))


def correlation(true: ArrayLike, predicted: ArrayLike) -> float | None:
    """Returns Pearson's correlation, or None where it is undefined: fewer than two numbers, or either constant.

    Raises ValueError for unequal lengths and for none.
    """
    own, other = pair_of(true, predicted)
    if constant(own) or constant(other, beside=own):
        return None
    return float(np.corrcoef(own, other)[0, 1])


def explained(true: ArrayLike, predicted: ArrayLike) -> float | None:
    """Returns R² = 1 − Σ (x̂ − x)² / Σ (x − x̄)², the sums over all rows and columns of (row, column), x̄ the mean of each
    column.

    None where every column is constant. Raises ValueError for unequal shapes and for no row.
    """
    own, other = pair_of(true, predicted)
    if all(constant(column) for column in own.reshape(len(own), -1).T):
        return None
    return float(1 - np.square(other - own).sum() / np.square(own - own.mean(0)).sum())


def explained_by_column(true: ArrayLike, predicted: ArrayLike) -> np.ndarray:
    """Returns R² of each column of (row, column), float64 (column,), NaN for a constant one.

    Raises ValueError for unequal shapes and for no row.
    """
    own, other = pair_of(true, predicted)
    shares = [explained(true, predicted) for true, predicted in zip(own.T, other.T, strict=True)]
    return np.array([np.nan if share is None else share for share in shares])


def pair_of(true: ArrayLike, predicted: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Returns both as arrays. Raises ValueError for unequal shapes and for no entry."""
    own, other = np.asarray(true), np.asarray(predicted)
    if own.shape != other.shape:
        raise ValueError(f"scores need a prediction for each label, got shapes {own.shape} and {other.shape}")
    if not own.size:
        raise ValueError("scores need at least one label")
    return own, other


def constant(values: np.ndarray, *, beside: np.ndarray | None = None) -> bool:
    """Returns whether all values are the same but for rounding, whatever their unit; of predictions for that of the
    labels, `beside`, too."""
    size = max(float(np.abs(each).max()) for each in (values, values if beside is None else beside))
    return float(np.ptp(values)) <= 1e-12 * size
