"""Ridge regressions on rows of numbers, for a list of penalties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from models.numerics.ridge import AffineMap, RegressionData, affine_from_moments, centred_moments, solve_ridge
from models.numerics.standardisation import Standardisation


def dense_maps(rows: np.ndarray, targets: np.ndarray, ridges: Sequence[float]) -> list[AffineMap]:
    """Returns for each penalty λ the map that minimises Σ ‖y − M z − c‖² + λ ‖M‖², z the standardised columns, as a map
    of the rows as they are given. rows (sample, number), targets (sample, output)."""
    inputs, outputs = torch.from_numpy(rows).double(), torch.from_numpy(targets).double()
    units = Standardisation.of(inputs)
    data = RegressionData(units.apply(inputs), outputs, torch.ones_like(outputs, dtype=torch.bool))
    moments = centred_moments(data)
    return [in_own_units(affine_from_moments(moments, ridge, scale="none"), units) for ridge in ridges]


def in_own_units(fit: AffineMap, units: Standardisation) -> AffineMap:
    """Returns the map of standardised columns as one of the columns themselves."""
    weight = fit.weight / units.scale
    return AffineMap(weight, fit.bias - weight @ units.mean)


def sparse_maps(rows: Any, targets: np.ndarray, ridges: Sequence[float]) -> list[AffineMap]:
    """Returns for each penalty λ the map that minimises Σ ‖y − M x − c‖² + λ ‖M‖². rows: sparse (sample, number).

    With x and y less their means, M = yᵀ (x xᵀ + λ)⁻¹ x where there are fewer samples than numbers, else
    yᵀ x (xᵀ x + λ)⁻¹; the rows themselves are never made dense.
    """
    mean, output_mean = np.asarray(rows.mean(axis=0)).ravel(), targets.mean(0)
    centred = targets - output_mean
    few = rows.shape[0] < rows.shape[1]
    gram = inner_products(rows) if few else second_moments(rows, mean)
    cross = centred if few else rows.T @ centred
    maps = []
    for ridge in ridges:
        solution = solve_ridge(torch.from_numpy(gram), torch.from_numpy(cross), ridge)
        weight = (torch.from_numpy(rows.T @ solution.numpy()) if few else solution).T
        maps.append(AffineMap(weight, torch.from_numpy(output_mean) - weight @ torch.from_numpy(mean)))
    return maps


def inner_products(rows: Any) -> np.ndarray:
    """Returns (sample, sample), those of the rows less their mean."""
    gram = (rows @ rows.T).toarray()
    return gram - gram.mean(0) - gram.mean(1, keepdims=True) + gram.mean()


def second_moments(rows: Any, mean: np.ndarray) -> np.ndarray:
    """Returns (number, number), sums of products of the columns less their mean."""
    return (rows.T @ rows).toarray() - rows.shape[0] * np.outer(mean, mean)


def applied(fit: AffineMap, rows: Any) -> np.ndarray:
    """Returns (sample, output), for dense and for sparse rows."""
    weight: Tensor = fit.weight
    return rows @ weight.numpy().T + fit.bias.numpy()
