"""The regressor in scikit-learn's manners: its checks, exactness against dense processes, files, and bad input."""

from __future__ import annotations

import io
import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch.distributions import MultivariateNormal

from models import SSGPRegressor
from models.features.kernels import LaplacianL1, Matern
from models.features.maps import random_features
from models.features.names import SAMPLERS
from models.features.samplers import Hadamard, Iid
from models.ssgp import model
from models.ssgp.predictor import load_predictor
from oracles import random_features_by_rows

SMALL = {"count": 12, "iterations": 15, "learning_rate": 0.2}


def rows_of(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Inputs of unequal units, and a target of its own with noise of standard deviation 6."""
    generator = np.random.default_rng(seed)
    scaled = generator.normal(size=(rows, 3))
    targets = 100 + 30 * (np.sin(1.5 * scaled).sum(1) + 0.2 * generator.normal(size=rows))
    return scaled * [1.0, 20.0, 0.1] + 7, targets


def fitted(rows: int = 150, **parameters: Any) -> SSGPRegressor:
    return SSGPRegressor(**{**SMALL, **parameters}).fit(*rows_of(rows))


def numbers(estimator: SSGPRegressor) -> tuple[np.ndarray, ...]:
    new, _ = rows_of(9, seed=5)
    return (
        *estimator.predict(new, return_std=True),
        np.array([estimator.log_marginal_likelihood(), estimator.n_rows_]),
    )


def assert_same(one: SSGPRegressor, other: SSGPRegressor, *, rtol: float = 1e-12) -> None:
    for mine, its in zip(numbers(one), numbers(other), strict=True):
        np.testing.assert_allclose(mine, its, rtol=rtol)


@parametrize_with_checks([SSGPRegressor(count=20, iterations=20, learning_rate=0.2)])
def test_scikit_learns_checks_pass(estimator: Any, check: Callable[[Any], None]) -> None:
    """All of them, none expected to fail; scikit-learn itself skips `check_array_api_input` unless SCIPY_ARRAY_API is
    set."""
    check(estimator)


class Dense:
    """The exact Gaussian process with the kernel s² Φ Φᵀ of a fitted regressor, row by row, in the units of the
    rows."""

    def __init__(self, estimator: SSGPRegressor, inputs: np.ndarray, targets: np.ndarray) -> None:
        predictor = estimator.predictor_
        self.predictor, self.frequencies = predictor, predictor.process.frequencies
        self.mean, self.scale = predictor.target
        self.signal, self.noise = torch.tensor(
            [estimator.signal_variance_, estimator.noise_variance_], dtype=torch.float64
        )
        self.features, self.targets = self.features_of(inputs), torch.tensor(targets)
        self.covariance = self.signal * self.features @ self.features.T + self.noise * torch.eye(len(targets)).double()

    def features_of(self, inputs: np.ndarray) -> torch.Tensor:
        scaled = (torch.tensor(inputs) - self.predictor.inputs.mean) / self.predictor.inputs.scale
        return random_features_by_rows(scaled, self.frequencies)

    def predict(self, inputs: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and covariance of the function."""
        features = self.features_of(inputs)
        cross = self.signal * features @ self.features.T
        gain = torch.linalg.solve(self.covariance, cross.T).T
        mean = self.mean + gain @ (self.targets - self.mean)
        return mean, self.signal * features @ features.T - gain @ cross.T

    def log_likelihood(self) -> float:
        return MultivariateNormal(self.mean.expand(len(self.targets)), self.covariance).log_prob(self.targets).item()


def assert_is_the_dense_process(estimator: SSGPRegressor, inputs: np.ndarray, targets: np.ndarray) -> None:
    dense, (new, _) = Dense(estimator, inputs, targets), rows_of(7, seed=3)
    mean, covariance = dense.predict(new)
    found, deviation = estimator.predict(new, return_std=True)
    np.testing.assert_allclose(found, mean, rtol=1e-8)
    np.testing.assert_allclose(deviation, (covariance.diagonal() + dense.noise).sqrt(), rtol=1e-7)
    _, of_function = estimator.predict(new, return_std=True, noise=False)
    np.testing.assert_allclose(of_function, covariance.diagonal().sqrt(), rtol=1e-6)
    assert estimator.log_marginal_likelihood() == pytest.approx(dense.log_likelihood(), rel=1e-9)


@pytest.mark.parametrize("train_frequencies", [False, True])
def test_predictions_and_likelihood_are_those_of_the_dense_process(train_frequencies: bool) -> None:
    assert_is_the_dense_process(fitted(train_frequencies=train_frequencies), *rows_of(150))


@pytest.mark.parametrize("first", ["fit", "partial_fit"])
def test_rows_that_are_added_count_as_if_they_had_all_been_there(first: str) -> None:
    """Units, frequencies, length-scales and variances are those of the first rows; the posterior is that of all."""
    inputs, targets = rows_of(160)
    estimator = getattr(SSGPRegressor(**SMALL), first)(inputs[:60], targets[:60])
    settled = estimator.length_scales_, estimator.signal_variance_, estimator.noise_variance_
    for rows in (slice(60, 61), slice(61, 130), slice(130, 160)):
        assert estimator.partial_fit(inputs[rows], targets[rows]) is estimator
    assert estimator.n_rows_ == 160
    assert_is_the_dense_process(estimator, inputs, targets)
    for before, now in zip(
        settled, (estimator.length_scales_, estimator.signal_variance_, estimator.noise_variance_), strict=True
    ):
        np.testing.assert_array_equal(before, now)


def test_rows_in_another_order_and_other_blocks_give_the_same() -> None:
    inputs, targets = rows_of(200)
    one, other = (SSGPRegressor(**SMALL).fit(inputs[:50], targets[:50]) for _ in range(2))
    one.partial_fit(inputs[50:], targets[50:])
    for i in range(199, 49, -30):
        other.partial_fit(inputs[max(50, i - 29) : i + 1], targets[max(50, i - 29) : i + 1])
    assert_same(one, other, rtol=1e-9)


def test_a_function_is_learnt_and_most_new_targets_lie_where_they_are_said_to() -> None:
    estimator, (new, targets) = SSGPRegressor(count=60, iterations=50).fit(*rows_of(1500)), rows_of(1500, seed=1)
    mean, deviation = estimator.predict(new, return_std=True)
    assert np.sqrt(np.mean((targets - mean) ** 2)) < 1.15 * 6
    assert 0.92 < np.mean(np.abs(targets - mean) < 1.96 * deviation) < 0.98
    assert math.sqrt(estimator.noise_variance_) == pytest.approx(6, rel=0.1)
    assert estimator.score(new, targets) > 0.95
    assert estimator.loss_curve_[0] > min(estimator.loss_curve_) + 0.5
    scales = estimator.length_scales_ / [1.0, 20.0, 0.1]
    assert scales.max() / scales.min() < 2


def test_functions_are_drawn_with_the_mean_and_the_covariance_of_the_process() -> None:
    estimator, (new, _) = fitted(), rows_of(5, seed=3)
    mean, covariance = Dense(estimator, *rows_of(150)).predict(new)
    drawn = estimator.sample_y(new, 20_000, random_state=1, noise=False)
    assert drawn.shape == (5, 20_000)
    deviation = covariance.diagonal().sqrt()
    np.testing.assert_allclose((drawn.mean(1) - mean.numpy()) / deviation.numpy(), 0, atol=0.04)
    scale = torch.outer(deviation, deviation).numpy()
    np.testing.assert_allclose(np.cov(drawn) / scale, covariance.numpy() / scale, atol=0.06)
    noisy = estimator.sample_y(new, 20_000, random_state=1)
    np.testing.assert_allclose(noisy.var(1), covariance.diagonal().numpy() + estimator.noise_variance_, rtol=0.06)
    np.testing.assert_array_equal(
        estimator.sample_y(new, 2, random_state=1), noisy[:, :2] * 0 + estimator.sample_y(new, 2, 1)
    )
    assert not np.allclose(estimator.sample_y(new, 2, random_state=2), estimator.sample_y(new, 2, random_state=1))


def test_functions_are_drawn_by_blocks_of_rows_to_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    estimator, (new, _) = fitted(), rows_of(10, seed=3)
    whole, sizes = estimator.sample_y(new, 3, random_state=1), list[int]()

    def counted(rows: torch.Tensor, frequencies: torch.Tensor) -> torch.Tensor:
        sizes.append(len(rows))
        return random_features(rows, frequencies)

    monkeypatch.setattr(model, "BLOCK", 4)
    monkeypatch.setattr(model, "random_features", counted)
    np.testing.assert_allclose(estimator.sample_y(new, 3, random_state=1), whole, rtol=1e-12)
    assert sizes == [4, 4, 2]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_every_sampler_is_taken_by_name(sampler: str) -> None:
    assert math.isfinite(fitted(sampler=sampler, iterations=2).log_marginal_likelihood())


@pytest.mark.parametrize("given", ["laplacian", "matern", "rational_quadratic", Matern(smoothness=2.5)])
def test_every_kernel_is_taken(given: Any) -> None:
    assert math.isfinite(fitted(kernel=given, iterations=2).log_marginal_likelihood())


def test_a_seed_gives_the_same_and_a_generator_of_numpy_another_each_time() -> None:
    assert_same(fitted(), fitted())
    state = np.random.RandomState(0)
    one, other = fitted(random_state=state), fitted(random_state=state)
    assert not np.allclose(numbers(one)[0], numbers(other)[0])
    assert_same(one, fitted(random_state=np.random.RandomState(0)))
    assert not np.allclose(numbers(fitted(random_state=1))[0], numbers(fitted())[0])


def test_it_works_in_a_pipeline_a_search_a_clone_joblib_and_pickle_in_memory() -> None:
    inputs, targets = rows_of(120)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), SSGPRegressor(**SMALL)),
        {"ssgpregressor__count": [2, 12], "ssgpregressor__kernel": ["gaussian", Matern(smoothness=2.5)]},
        cv=2,
    ).fit(inputs, targets)
    assert search.best_params_["ssgpregressor__count"] == 12
    estimator = fitted()
    copied = clone(estimator)
    assert copied.get_params() == estimator.get_params()
    assert not hasattr(copied, "predictor_")
    assert_same(pickle.loads(pickle.dumps(estimator)), estimator)  # noqa: S301
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    assert_same(joblib.load(file), estimator)


def test_what_is_saved_predicts_and_learns_on_as_before(tmp_path: Path) -> None:
    inputs, targets = rows_of(200)
    estimator = fitted(sampler=Hadamard(blocks=2), kernel=Matern(smoothness=2.5), count=np.int64(12))
    estimator.save(tmp_path / "deeper" / "model")
    loaded = SSGPRegressor.load(str(tmp_path / "deeper" / "model"))
    assert loaded.get_params() == estimator.get_params()
    assert_same(loaded, estimator)
    assert (loaded.n_features_in_, loaded.loss_curve_) == (3, estimator.loss_curve_)
    assert not hasattr(loaded, "feature_names_in_")
    np.testing.assert_array_equal(loaded.length_scales_, estimator.length_scales_)
    for one in (loaded, estimator):
        one.partial_fit(inputs[150:], targets[150:])
    assert_same(loaded, estimator)
    mean, _ = load_predictor(tmp_path / "deeper" / "model").predict(inputs[:3])
    np.testing.assert_allclose(
        mean, fitted(sampler=Hadamard(blocks=2), kernel=Matern(smoothness=2.5)).predict(inputs[:3])
    )
    with pytest.raises(FileExistsError, match="model is there already; name another folder, or remove it"):
        estimator.save(tmp_path / "deeper" / "model")


def test_a_table_keeps_its_names(tmp_path: Path) -> None:
    inputs, targets = rows_of(60)
    table = pd.DataFrame(inputs, columns=["a", "b", "c"])
    estimator = SSGPRegressor(**SMALL).fit(table, pd.Series(targets))
    estimator.save(tmp_path / "model")
    loaded = SSGPRegressor.load(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c"]
    assert loaded.predictor_.input_names == ("a", "b", "c")
    np.testing.assert_allclose(loaded.predict(table), estimator.predict(table), rtol=1e-12)
    with pytest.raises(
        ValueError, match=r"unseen at fit time: - d Feature names seen .* yet now missing: - c"
    ) as refused:
        loaded.predict(table.rename(columns={"c": "d"}))
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        loaded.predict(table[["c", "a", "b"]])
    assert "\n" not in str(refused.value)


def test_too_few_rows_to_train_by_are_said() -> None:
    rows, targets = np.random.default_rng(0).normal(size=(5, 2)), np.arange(5.0)
    for count in (2, 4):
        with pytest.warns(UserWarning, match=f"{count} rows are too few to train 2 length-scales and two variances by"):
            SSGPRegressor(count=5, iterations=2).fit(rows[:count], targets[:count])
    SSGPRegressor(count=5, iterations=2).fit(rows, targets)
    SSGPRegressor(count=5, iterations=0).fit(rows[:2], targets[:2])


def test_too_few_rows_to_train_frequencies_by_are_said() -> None:
    """Of 2 inputs 5 frequencies have 10 entries, beside 2 length-scales and 2 variances."""
    rows, targets = np.random.default_rng(0).normal(size=(15, 2)), np.sin(np.arange(15.0))
    trained = SSGPRegressor(count=5, iterations=2, train_frequencies=True)
    for count in (5, 14):
        words = (
            f"^{count} rows are too few to train 14 numbers by, 5 frequencies among them, so that .* more than 14 rows"
        )
        with pytest.warns(UserWarning, match=words):
            trained.fit(rows[:count], targets[:count])
    with pytest.warns(UserWarning, match="^4 rows are too few to train 2 length-scales and two variances by"):
        trained.fit(rows[:4], targets[:4])
    trained.fit(rows, targets)
    SSGPRegressor(count=5, iterations=0, train_frequencies=True).fit(rows[:14], targets[:14])


def test_what_plain_values_cannot_tell_is_not_saved(tmp_path: Path) -> None:
    class Own(Iid):
        pass

    for parameters in ({"sampler": Own()}, {"random_state": np.random.RandomState(0)}):
        with pytest.raises(ValueError, match=r"cannot be saved as plain values; give a name, a number, or a kernel"):
            fitted(**parameters, iterations=0).save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match=r"holds no saved model: regressor.json is not there"):
        SSGPRegressor.load(tmp_path)
    with pytest.raises(NotFittedError, match="not fitted"):
        SSGPRegressor().save(tmp_path / "model")


def test_more_rows_that_are_far_too_large_are_refused() -> None:
    rows = np.random.default_rng(0).normal(size=(60, 2))
    estimator = SSGPRegressor(count=3, iterations=0).fit(rows, rows[:, 0])
    before = estimator.predict(rows)
    for X, y in ((rows * 1e300, rows[:, 0]), (rows, rows[:, 0] * 1e200)):
        with pytest.raises(ValueError, match=r"over 1e\+100 standard deviations from those of fit; rescale them"):
            estimator.partial_fit(X, y)
    np.testing.assert_array_equal(estimator.predict(rows), before)


def test_a_saved_linear_model_is_refused(tmp_path: Path) -> None:
    fitted(iterations=0).save(tmp_path / "model")
    file = tmp_path / "model" / "predictor.json"
    description = json.loads(file.read_text())
    with np.load(tmp_path / "model" / "predictor.npz") as arrays:
        kept = {key: value for key, value in arrays.items() if not key.startswith("process/")}
    linear = {"process/weight": np.ones((1, 3)), "process/bias": np.ones(1), "process/variance": np.ones(())}
    np.savez(tmp_path / "model" / "predictor.npz", **kept, **linear)
    file.write_text(json.dumps({**description, "process": "linear"}))
    with pytest.raises(ValueError, match="holds a linear model in place of a sparse-spectrum process"):
        SSGPRegressor.load(tmp_path / "model")


def test_training_that_cannot_go_on_keeps_the_best_and_says_so() -> None:
    with pytest.warns(ConvergenceWarning, match=r"ended before iteration 1 of 15, and .* is kept: .* learning rate"):
        estimator = fitted(learning_rate=1e300)
    assert_same(estimator, fitted(iterations=0))


def test_rows_that_leave_nearly_no_noise_are_refused_with_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, targets = rows_of(60)
    estimator = SSGPRegressor(count=5, iterations=0).fit(inputs[:50], targets[:50])

    def broken(*_: object) -> None:
        raise ValueError("no factor")

    monkeypatch.setattr("models.ssgp.model.factor_ridge", broken)
    with pytest.raises(ValueError, match=r"nearly free of noise; fit all rows anew, for fewer iterations$"):
        estimator.partial_fit(inputs[50:], targets[50:])


def test_targets_without_noise_are_learnt() -> None:
    inputs, _ = rows_of(300)
    targets = np.sin(inputs[:, 0])
    mean, deviation = SSGPRegressor(count=60).fit(inputs, targets).predict(inputs, return_std=True)
    np.testing.assert_allclose(mean, targets, atol=0.05)
    assert np.isfinite(deviation).all()


X, Y = rows_of(30)
GAP = np.where(np.arange(90).reshape(30, 3) == 40, np.nan, X)
BAD_DATA = [
    (X[:0], Y[:0], "0 sample"),
    (X[:1], Y[:1], r"1 sample\(s\) .* while a minimum of 2 is required"),
    (X[:, :0], Y, r"0 feature\(s\)"),
    (X, np.full(30, 3.0), "y is constant, so that there is nothing to learn; give rows with different targets"),
    (X, np.full(30, 1e6) + np.arange(30) % 2 * 1e-8, "y is constant"),
    (X, np.full(30, 0.1 * 2.0**80), "y is constant"),  # its mean is rounded by more than 1
    (GAP, Y, "X holds NaN or inf in row 13, column x1; leave the row out or fill the gap"),
    (np.where(np.isnan(GAP), np.inf, GAP), Y, "X holds NaN or inf in row 13, column x1"),
    (X, np.where(Y > 100, np.nan, Y), "Input y contains NaN"),
    (X, np.where(Y > 100, np.inf, Y), "Input y contains infinity"),
    (1e300 * X, Y, "values of X or y are too large for a standard deviation in double precision; rescale them"),
    (X, 1e300 * Y, "values of X or y are too large"),
    (X, Y[:7], r"inconsistent numbers of samples: \[30, 7\]"),
    (X, None, "requires y to be passed, but the target y is None"),
    (X, np.column_stack([Y, Y]), r"y should be a 1d array, got an array of shape \(30, 2\)"),
    (X[0], Y, "Expected 2D array, got 1D array instead: Reshape your data"),
    (X[None], Y, "Found array with dim 3"),
    (X + 1j, Y, "Complex data not supported"),
    (X, ["a"] * 30, "could not convert string to float"),
    (pd.DataFrame(X).assign(town="x"), Y, "column town of X holds .*, not numbers; leave it out"),
    ([["b"] * 3] * 30, Y, "could not convert string to float: 'b'"),
    ([[1, 2], [3]], [1, 2], "inhomogeneous shape"),
    (None, Y, "Expected 2D array, got scalar array instead: Reshape"),
    ({"a": 1}, Y, "float"),
    (scipy.sparse.csr_matrix(X), Y, "Sparse data was passed"),
]


@pytest.mark.parametrize(("inputs", "targets", "message"), BAD_DATA)
def test_rows_that_make_no_sense_are_refused_in_one_line(inputs: Any, targets: Any, message: str) -> None:
    estimator = fitted()
    before = numbers(estimator)
    with pytest.raises((ValueError, TypeError), match=message) as refused:
        estimator.fit(inputs, targets)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300
    for one, other in zip(before, numbers(estimator), strict=True):
        np.testing.assert_array_equal(one, other)
    fresh = SSGPRegressor(**SMALL)
    with pytest.raises((ValueError, TypeError), match=message):
        fresh.partial_fit(inputs, targets)
    assert vars(fresh) == vars(SSGPRegressor(**SMALL))


@pytest.mark.parametrize(
    ("inputs", "targets", "message"),
    [
        *(
            case
            for case in BAD_DATA
            if not case[2].startswith(("1 sample", r"1 sample\(", "y is constant", "values of"))
        ),
        (X[:, :2], Y, "X has 2 features, but SSGPRegressor is expecting 3"),
        (X, 1e300 * Y, r"over 1e\+100 standard deviations from those of fit; rescale them"),
    ],
)
def test_rows_that_cannot_be_added_leave_the_regressor_as_it_was(inputs: Any, targets: Any, message: str) -> None:
    estimator = fitted()
    before = numbers(estimator)
    with pytest.raises((ValueError, TypeError), match=message) as refused:
        estimator.partial_fit(inputs, targets)
    assert "\n" not in str(refused.value)
    for one, other in zip(before, numbers(estimator), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"count": 0}, "count must be a whole number of at least 1, got 0"),
        ({"count": 2.5}, "count must be a whole number of at least 1, got 2.5"),
        ({"count": 20_000}, "count must be at most 10000, got 20000"),
        ({"sampler": "orthogonl"}, "sampler must be one of orthogonal, iid, .*, got 'orthogonl'"),
        ({"kernel": None}, "kernel must be one of gaussian, .*, got None"),
        ({"kernel": LaplacianL1()}, "kernel LaplacianL1 is not isotropic, so sampler Orthogonal cannot draw for it"),
        ({"iterations": -1}, "iterations must be a whole number of at least 0, got -1"),
        ({"learning_rate": 0}, "learning_rate must be a number above 0, got 0"),
        ({"learning_rate": "fast"}, "learning_rate must be a number above 0, got 'fast'"),
        ({"train_frequencies": "yes"}, "train_frequencies must be True or False, got 'yes'"),
        ({"random_state": -1}, "random_state must be a whole number of at least 0, None or a numpy.random.RandomState"),
        ({"random_state": "a"}, "random_state must be .*, got 'a'"),
    ],
)
def test_parameters_that_make_no_sense_are_refused_in_one_line(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message) as refused:
        fitted(**parameters)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.predict(X[:, :2]), "X has 2 features, but SSGPRegressor is expecting 3 features as input"),
        (lambda e: e.predict(X[0]), "Reshape your data"),
        (lambda e: e.predict(X[:0]), "0 sample"),
        (lambda e: e.predict(GAP), "X holds NaN or inf in row 13, column x1"),
        (lambda e: e.predict(X, return_std=1), "return_std must be True or False, got 1"),
        (lambda e: e.predict(X, noise=None), "noise must be True or False, got None"),
        (lambda e: e.sample_y(X, 0), "n_samples must be a whole number of at least 1, got 0"),
        (lambda e: e.sample_y(X, random_state="a"), "random_state must be .*, got 'a'"),
        (lambda e: e.sample_y(X, noise="a"), "noise must be True or False, got 'a'"),
    ],
)
def test_questions_that_make_no_sense_are_refused_in_one_line(call: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message) as refused:
        call(fitted(iterations=0))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "call", [lambda e: e.predict(X), lambda e: e.sample_y(X), lambda e: e.log_marginal_likelihood()]
)
def test_nothing_is_answered_before_fit(call: Any) -> None:
    with pytest.raises(NotFittedError, match="not fitted"):
        call(SSGPRegressor())


def test_two_threads_find_what_one_does() -> None:
    inputs, targets = rows_of(5000)
    found, before = [], torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        try:
            estimator = SSGPRegressor(**SMALL).fit(inputs[:4500], targets[:4500])
            found.append(numbers(estimator.partial_fit(inputs[4500:], targets[4500:])))
        finally:
            torch.set_num_threads(before)
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"Unnamed: 0": np.arange(60.0)}, "column 'Unnamed: 0' counts the rows and is an input like the others; leave"),
        ({"Unnamed: 0": np.arange(60)[np.argsort(np.sin(np.arange(60)))]}, "column 'Unnamed: 0' counts the rows"),
        ({"noise": 1e-14 * np.cos(np.arange(60))}, "may be rounding of them: noise; leave out what is"),
        ({"Unnamed: 0": np.arange(60) % 2}, None),
        ({"id": np.arange(1001.0, 1061.0)}, "column 'id' rises by one in every row and is an input like"),
        ({"id": np.arange(60.0)[np.argsort(np.sin(np.arange(60)))]}, None),
        ({"id": np.arange(60.0) ** 2}, None),
        ({"id": 5 * np.arange(60.0)}, None),
        ({"year": np.arange(1960.0, 2020.0)}, None),
        ({"id": np.arange(60.0) / 3}, None),
        ({"none": np.zeros(60)}, None),
    ],
)
def test_columns_of_a_table_that_hold_nothing_of_their_own_are_warned_of(columns: dict, message: str | None) -> None:
    inputs, targets = rows_of(60)
    table = pd.DataFrame(inputs, columns=list("abc")).assign(**columns)
    estimator = SSGPRegressor(count=4, iterations=0)
    estimator.fit(table.to_numpy(), targets)
    if message is None:
        estimator.fit(table, targets)
        return
    with pytest.warns(UserWarning, match=message) as said:
        estimator.fit(table, targets)
    assert (len(said), said[0].filename) == (1, __file__)
