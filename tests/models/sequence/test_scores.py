"""Scores against scikit-learn, SciPy and their formulae; losses by hand."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr
from sklearn.metrics import accuracy_score, r2_score
from sklearn.metrics import mean_absolute_error as sklearn_mae

from models.sequence.losses import absolute_error, masked_squared_error
from models.sequence.scores import accuracy, correlation, explained, explained_by_column, f1, mean_absolute_error


def f1_by_hand(true: np.ndarray, predicted: np.ndarray, average: str) -> float:
    total = weights = 0.0
    for name in {*true.tolist(), *predicted.tolist()}:
        own, other = true == name, predicted == name
        weight = own.sum() if average == "weighted" else 1
        total += weight * 2 * (own & other).sum() / (own.sum() + other.sum())
        weights += weight
    return total / weights


@pytest.mark.parametrize("average", ["weighted", "macro"])
@pytest.mark.parametrize("kind", [int, float, str, bool])
def test_f1_is_that_of_its_formula(kind: type, average: Literal["weighted", "macro"]) -> None:
    chance = np.random.default_rng(0)
    true, predicted = chance.integers(0, 4, 50), chance.integers(1, 5, 50)  # 0 is never predicted, 4 never true
    for one, other in ((true, predicted), (true, true), (true[:1], true[:1]), (true[:1] * 0, true[:1] * 0 + 1)):
        labels, named = one.astype(kind), other.astype(kind)
        assert f1(labels, named, average=average) == pytest.approx(f1_by_hand(labels, named, average), rel=1e-14)


def test_accuracy_is_that_of_scikit_learn() -> None:
    chance = np.random.default_rng(0)
    true, predicted = chance.integers(0, 4, 50), chance.integers(1, 5, 50)
    assert accuracy(true, predicted) == pytest.approx(accuracy_score(true, predicted))


def test_scores_of_numbers_are_those_of_scipy_and_scikit_learn() -> None:
    chance = np.random.default_rng(0)
    true = chance.normal(size=(40, 3))
    predicted = true + chance.normal(size=true.shape)
    assert correlation(true[:, 0], predicted[:, 0]) == pytest.approx(pearsonr(true[:, 0], predicted[:, 0]).statistic)
    assert mean_absolute_error(true[:, 0], predicted[:, 0]) == pytest.approx(sklearn_mae(true[:, 0], predicted[:, 0]))
    by_column = r2_score(true, predicted, multioutput="variance_weighted")
    assert explained(true, predicted) == pytest.approx(by_column)
    each = r2_score(true, predicted, multioutput="raw_values")
    np.testing.assert_allclose(explained_by_column(true, predicted), each, rtol=1e-10)


def test_the_unit_of_labels_does_not_matter() -> None:
    true, predicted = np.array([[1.0, 2.0, 4.0], [1.0, 3.0, 4.0]]) * 2.0**-60
    for score in (correlation, explained):
        assert score(true, predicted) == score(true * 2.0**60, predicted * 2.0**60) is not None


def test_what_is_undefined_is_none() -> None:
    assert correlation([1.0, 2.0], [3.0, 3.0]) is None
    assert correlation([0.1] * 3, [0.3, 0.1 + 0.2, 0.5]) is None
    assert correlation([1.0], [2.0]) is None
    assert correlation([1.0, 2.0, 4.0], [0.0, 1e-17, 3e-17]) is None  # predictions that vary by rounding alone
    assert explained([[1.0], [1.0]], [[1.0], [2.0]]) is None
    np.testing.assert_array_equal(
        explained_by_column([[1.0, 0.0], [1.0, 2.0]], [[1.0, 0.0], [2.0, 2.0]]), [np.nan, 1.0]
    )


def test_scores_need_a_prediction_for_each_label() -> None:
    with pytest.raises(ValueError, match=r"a prediction for each label, got shapes \(2,\) and \(1,\)"):
        accuracy([1, 2], [1])
    with pytest.raises(ValueError, match="at least one label"):
        f1([], [])
    with pytest.raises(ValueError, match="average must be weighted or macro, got 'micro'"):
        f1([1], [1], average="micro")  # pyright: ignore[reportArgumentType]


def test_squared_errors_count_present_entries_alone() -> None:
    true, predicted = torch.zeros(2, 2, 3), torch.tensor([[[1.0, 2.0, 3.0]] * 2, [[4.0, 5.0, 6.0]] * 2])
    predicted[1, 1] = torch.nan
    predicted.requires_grad_()
    steps = torch.tensor([[True, False], [True, False]]).unsqueeze(-1)
    total, weight = masked_squared_error(predicted, true, steps)
    assert (float(total.detach()), float(weight)) == (1 + 4 + 9 + 16 + 25 + 36, 6)
    (gradient,) = torch.autograd.grad(total, predicted)
    assert torch.equal(gradient, torch.where(steps, 2 * predicted.detach(), 0))
    assert float(masked_squared_error(predicted.detach(), true, torch.zeros(2, 2, 1, dtype=torch.bool)).mean) == 0


def test_absolute_errors() -> None:
    assert absolute_error(torch.tensor([1.0, -2.0]), torch.tensor([0.0, 1.0])) == (4.0, 2.0)
