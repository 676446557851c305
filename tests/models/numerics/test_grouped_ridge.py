"""Ridges of groups of standardised columns: the solution beside scikit-learn's, the search beside all combinations."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from models.numerics import grouped_ridge
from models.numerics.grouped_ridge import POWERS, Columns, Search, choose_ridges, solve_groups
from models.numerics.ridge import (
    NotPositiveDefinite,
    RegressionData,
    centred_moments,
    factor_ridge,
    validation_error,
)
from models.numerics.standardisation import Standardisation

GROUPS = torch.tensor([0, 0, 0, 1, 1])


def data(rows: int, *, seed: int = 0, noise: float = 0.5) -> RegressionData:
    """Columns of very different size; two outputs, of which the second was not always observed."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(rows, 5, generator=generator, dtype=torch.float64)
    inputs *= torch.tensor([1.0, 100.0, 0.01, 1.0, 5.0])
    weight = torch.tensor([[1.0, 0.02, 50.0, 0.0, 0.0], [0.5, 0.0, -30.0, 0.2, 0.0]], dtype=torch.float64)
    targets = inputs @ weight.T + 3 + noise * torch.randn(rows, 2, generator=generator, dtype=torch.float64)
    mask = torch.ones(rows, 2, dtype=torch.bool)
    mask[::3, 1] = False
    return RegressionData(inputs, targets, mask)


def moments_of(rows: RegressionData):
    units = Standardisation.of(rows.inputs)
    return centred_moments(rows._replace(inputs=units.apply(rows.inputs))), units


def fit_groups(train: RegressionData, validation: RegressionData, groups: torch.Tensor, start=None):
    columns = Columns(train.inputs)
    moments = columns.moments(torch.ones(len(train.inputs), dtype=torch.bool), train.targets, train.mask)
    return choose_ridges(moments, columns.units, validation, groups, start=start)


def test_rows_left_out_leave_the_moments_of_the_others():
    rows = data(60)
    columns, kept = Columns(rows.inputs), torch.arange(60) % 7 > 0
    full = torch.ones_like(rows.mask[kept])
    (ours,) = columns.moments(kept, rows.targets[kept], full)
    (oracle,) = centred_moments(RegressionData(columns.units.apply(rows.inputs)[kept], rows.targets[kept], full))
    for mine, expected in zip(ours, oracle, strict=True):
        torch.testing.assert_close(mine, expected)


def test_solution_is_ridge_of_standardised_columns():
    rows = data(200)
    moments, units = moments_of(rows)
    fit = solve_groups(moments, GROUPS, (-1, 1), units)
    scaled = np.sqrt([0.1, 0.1, 0.1, 10.0, 10.0])
    for output in range(2):
        kept = rows.mask[:, output].numpy()
        columns = units.apply(rows.inputs).numpy()[kept]
        oracle = Ridge(alpha=kept.sum()).fit(columns / scaled, rows.targets[kept, output])
        expected = oracle.predict(units.apply(rows.inputs).numpy() / scaled)
        np.testing.assert_allclose(fit(rows.inputs)[:, output], expected, rtol=1e-9)


def test_search_ends_where_no_single_step_is_better():
    train, held_out = data(60), data(60, seed=1)
    moments, units = moments_of(train)
    found = fit_groups(train, held_out, GROUPS)

    def error(exponents):
        return validation_error(solve_groups(moments, GROUPS, exponents, units), held_out)

    assert found.error == pytest.approx(error(found.exponents))
    for group, step in product(range(2), (-1, 1)):
        moved = list(found.exponents)
        moved[group] += step
        if moved[group] in POWERS:
            assert error(tuple(moved)) > found.error * (1 - 2e-4)
    assert found.error <= min(error((power, power)) for power in POWERS) * (1 + 2e-4)


def test_each_combination_is_tried_once():
    tried = []

    def error(exponents):
        tried.append(exponents)
        return float(sum((power + 3) ** 2 for power in exponents)) + 1

    search = Search(error, 3)
    assert search.descend(search.common()) == (-3, -3, -3)
    assert len(tried) == len(set(tried))


def test_near_ties_keep_the_larger_ridge():
    search = Search(lambda exponents: 1 + 1e-7 * sum(exponents), 2)
    assert search.descend(search.common()) == (max(POWERS), max(POWERS))


def test_a_start_that_cannot_be_solved_is_left():
    train = data(60)
    doubled = train._replace(inputs=torch.cat([train.inputs, train.inputs], 1))
    groups = torch.cat([GROUPS, GROUPS])
    found = fit_groups(doubled, doubled, groups, start=(-10, -10))
    assert np.isfinite(found.error)


def test_a_constant_column_has_no_weight():
    train = data(60)
    train.inputs[:, 3] = 7.0
    weight = fit_groups(train, data(60, seed=1), GROUPS).readout.weight
    assert float(weight[:, 3].abs().max()) < 1e-9


def test_without_inputs_it_is_refused():
    train = data(60)
    bare = train._replace(inputs=train.inputs[:, :0])
    with pytest.raises(ValueError, match="a readout needs inputs"):
        fit_groups(bare, bare, GROUPS[:0])


def test_an_empty_validation_part_is_refused():
    train = data(60)
    with pytest.raises(ValueError, match="no validation step"):
        fit_groups(train, train._replace(mask=~train.mask & False), GROUPS)


def test_ridges_whose_errors_all_overflow_are_refused():
    train, validation = data(60), data(30, seed=1)
    with pytest.raises(ValueError, match="no ridge gives a readout with finite errors"):
        fit_groups(train, validation._replace(targets=validation.targets + 1e200), GROUPS)


def test_only_a_system_that_is_not_positive_definite_counts_as_an_infinite_error(monkeypatch):
    with pytest.raises(NotPositiveDefinite, match="raise it"):
        factor_ridge(-torch.eye(2), 0.1)

    def misshapen(*_):
        raise ValueError("shapes (3,) and (4,) do not fit")

    monkeypatch.setattr(grouped_ridge, "solve_groups", misshapen)
    with pytest.raises(ValueError, match="do not fit"):
        fit_groups(data(60), data(30, seed=1), GROUPS)
