"""The transformer in scikit-learn's manners: its checks, the features themselves, and bad input."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import RandomFeatures
from models.features.kernels import LaplacianL1, Matern
from models.features.names import KERNELS, SAMPLERS, kernel_of
from oracles import random_features_by_rows

ROWS = np.random.default_rng(0).normal(size=(40, 5)) * 2 + 1


@parametrize_with_checks([RandomFeatures(count=7)])
def test_scikit_learns_checks_pass(estimator: Any, check: Callable[[Any], None]) -> None:
    """All of them, none expected to fail; scikit-learn itself skips `check_array_api_input` unless SCIPY_ARRAY_API is
    set."""
    check(estimator)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-13), (np.float32, 1e-5)])
def test_features_are_the_formula_in_the_precision_of_the_rows(dtype: Any, tolerance: float) -> None:
    fitted = RandomFeatures(count=9, bandwidth=2.0).fit(ROWS)
    features = fitted.transform(ROWS.astype(dtype))
    expected = random_features_by_rows(torch.tensor(ROWS), torch.tensor(fitted.frequencies_))
    assert (features.dtype, features.shape, fitted.bandwidth_) == (dtype, (40, 18), 2.0)
    np.testing.assert_allclose(features, expected, atol=tolerance)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_inner_products_come_near_the_kernel_with_every_sampler(sampler: str) -> None:
    """Hadamard's directions take few values in five dimensions, which leaves a bias."""
    fitted = RandomFeatures(count=8192, sampler=sampler if sampler != "near_orthogonal" else "stratified").fit(ROWS)
    features = fitted.transform(ROWS)
    exact = kernel_of("gaussian").value(torch.cdist(*2 * [torch.tensor(ROWS)]) / fitted.bandwidth_)
    np.testing.assert_allclose(features @ features.T, exact, atol=0.15 if sampler == "hadamard" else 0.05)


@pytest.mark.parametrize("kernel", KERNELS)
def test_inner_products_come_near_every_kernel(kernel: str) -> None:
    sampler = "iid" if kernel == "laplacian_l1" else "orthogonal"
    features = RandomFeatures(count=8192, sampler=sampler, kernel=kernel, bandwidth=3.0).fit_transform(ROWS)
    scaled = torch.tensor(ROWS) / 3.0
    of = kernel_of(kernel)
    difference = scaled.unsqueeze(1) - scaled
    exact = of.value(difference if isinstance(of, LaplacianL1) else difference.norm(dim=2))
    np.testing.assert_allclose(features @ features.T, exact, atol=0.06)


def test_names_count_cosines_and_sines() -> None:
    table = pd.DataFrame(ROWS, columns=list("abcde"))
    fitted = RandomFeatures(count=2).set_output(transform="pandas").fit(table)
    assert fitted.get_feature_names_out().tolist() == ["cos0", "cos1", "sin0", "sin1"]
    assert fitted.transform(table).columns.tolist() == ["cos0", "cos1", "sin0", "sin1"]
    assert fitted.get_feature_names_out(list("abcde")).tolist() == ["cos0", "cos1", "sin0", "sin1"]
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        fitted.get_feature_names_out(list("abcdf"))
    with pytest.raises(ValueError, match="input_features should have length equal to the number of columns, 5, got 2"):
        RandomFeatures(count=2).fit(ROWS).get_feature_names_out(["a", "b"])


def test_equal_seeds_give_equal_features_and_a_generator_of_numpy_others() -> None:
    first = RandomFeatures(count=3).fit(ROWS)
    np.testing.assert_array_equal(first.frequencies_, clone(first).fit(ROWS).frequencies_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(first)).transform(ROWS), first.transform(ROWS))  # noqa: S301
    assert not np.allclose(first.frequencies_, RandomFeatures(count=3, random_state=1).fit(ROWS).frequencies_)
    state = np.random.RandomState(0)
    one, other = (RandomFeatures(count=3, random_state=state).fit(ROWS).frequencies_ for _ in range(2))
    assert not np.allclose(one, other)


def test_it_works_in_a_pipeline_and_a_search() -> None:
    targets = np.sin(ROWS[:, 0])
    search = GridSearchCV(
        make_pipeline(RandomFeatures(), Ridge(1e-3)),
        {"randomfeatures__count": [1, 100], "randomfeatures__kernel": ["gaussian", Matern(smoothness=2.5)]},
        cv=2,
    ).fit(ROWS, targets)
    assert search.best_params_["randomfeatures__count"] == 100


@pytest.mark.parametrize(
    ("parameters", "rows", "message"),
    [
        ({"count": 0}, ROWS, "count must be a whole number of at least 1, got 0"),
        ({"count": 10**7}, ROWS, "count must be at most"),
        ({"sampler": "fft"}, ROWS, "sampler must be one of orthogonal, .*, got 'fft'"),
        ({"kernel": 1}, ROWS, "kernel must be one of gaussian, .*, got 1"),
        ({"kernel": "laplacian_l1"}, ROWS, "kernel LaplacianL1 is not isotropic"),
        ({"bandwidth": "mean"}, ROWS, "bandwidth must be one of median_pairs, median_neighbours, got 'mean'"),
        ({"bandwidth": 0.0}, ROWS, "bandwidth must be a number above 0, got 0.0"),
        ({"random_state": 1.5}, ROWS, "random_state must be .*, got 1.5"),
        ({}, np.ones((4, 2)), "all rows of X are equal, so that they tell no bandwidth; give one, as a number"),
        ({}, ROWS[:1], r"1 sample\(s\) .* while a minimum of 2 is required"),
        ({}, ROWS[:0], "0 sample"),
        ({}, np.where(ROWS > 1, np.nan, ROWS), "X holds NaN or inf in row .*, column x"),
        ({}, pd.DataFrame(ROWS).assign(town="x"), "column town of X holds .*, not numbers; leave it out"),
        ({}, [["a"]], "could not convert string to float: 'a'"),
        ({}, ROWS[0], "Expected 2D array, got 1D array instead: Reshape your data"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line_and_changes_nothing(
    parameters: dict[str, Any], rows: Any, message: str
) -> None:
    fitted = RandomFeatures(count=3).fit(ROWS)
    before = fitted.transform(ROWS)
    with pytest.raises((ValueError, TypeError), match=message) as refused:
        fitted.set_params(**parameters).fit(rows)
    assert "\n" not in str(refused.value)
    np.testing.assert_array_equal(fitted.transform(ROWS), before)


def test_one_row_is_enough_where_the_bandwidth_is_given() -> None:
    assert RandomFeatures(count=3, bandwidth=1.0).fit(ROWS[:1]).transform(ROWS).shape == (40, 6)


def test_other_rows_than_those_of_fit_are_refused() -> None:
    fitted = RandomFeatures(count=3).fit(ROWS)
    with pytest.raises(ValueError, match="X has 2 features, but RandomFeatures is expecting 5 features as input"):
        fitted.transform(ROWS[:, :2])
    with pytest.raises(NotFittedError, match="not fitted"):
        RandomFeatures().transform(ROWS)
