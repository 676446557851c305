"""Sparse-spectrum Gaussian process regression in scikit-learn's manners."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from models.features.names import kernel_of, sampler_of
from models.features.samplers import check_pair
from models.numerics.suspect_columns import (
    counts_rows,
    numbers_rows,
    said_of_counter,
    said_of_numbers,
    said_of_rounding,
)
from models.runtime.estimators import checked_pair, checked_rows, column_names, in_one_line, left_as_it_was, seed_of
from models.runtime.parameters import MOST_EPOCHS, number, path, whole_number, yes_or_no
from models.runtime.seeding import generator
from models.ssgp.fit import Trained
from models.ssgp.predictor import Predictor
from models.ssgp.regression import Learning, Learnt, learn
from models.ssgp.regressor_files import TARGET, SavedRegressor, read_regressor, save_regressor

MOST_FREQUENCIES = 10_000  # whose sums take 3.2 GB
MOST_DRAWN = 10**9  # numbers that `sample_y` draws, which take 8 GB


@dataclass(eq=False, repr=False)
class SSGPRegressor(RegressorMixin, BaseEstimator):
    """Gaussian process regression whose cost is linear in the rows, by a sparse spectrum of random frequencies.

    The process is f(x) = Σ_i a_i cos(w_iᵀx) + b_i sin(w_iᵀx) with independent normal a_i and b_i, and the targets are
    f(x) plus noise (Lázaro-Gredilla, Quiñonero-Candela, Rasmussen and Figueiras-Vidal 2010, Journal of Machine Learning
    Research 11). `count` frequencies w_i are drawn so that its covariance comes near the kernel. A length-scale for
    each input, and the variances of function and noise, are trained by the marginal likelihood. Inputs and target are
    standardised inside; all that goes in and comes out has their own units.

    Parameters, which are checked by `fit`:

    count: the number m of frequencies; the cost is that of 2m features: N m² for N rows and each iteration.
    sampler: how the frequencies depend on one another, "orthogonal", "iid", "hadamard", "stratified",
    "near_orthogonal" or "sobol", or a `models.features.samplers.Sampler`.
    kernel: "gaussian", "laplacian", "laplacian_l1" (with sampler="iid" alone), "matern" (of smoothness 1.5) or
    "rational_quadratic" (of shape 1), or one of `models.features.kernels`.
    iterations, learning_rate: of Adam on the marginal likelihood; each iteration takes all rows. Of all that training
    comes by, the greatest likelihood is kept. iterations=0 trains nothing.
    train_frequencies: whether the frequencies are trained too. With some thousands of rows a smaller count then does;
    with some hundreds they fit the noise, and the standard deviations are far too small. `fit` warns of no more rows
    than numbers that are trained: an entry for each input and frequency, a length-scale for each input, two variances.
    random_state: the seed of all that is drawn, a whole number, by which equal rows give equal numbers; a RandomState
    of NumPy, or None for its own, draws a seed in each `fit`.

    After `fit`: `length_scales_` (input,), in the units of the inputs; `signal_variance_` and `noise_variance_`, of
    function and noise, in the squared unit of the target; `loss_curve_`, −log p(y)/N in nats in standardised units,
    before each iteration and at the end; `n_rows_`, how many rows the process is conditioned on; `n_features_in_`, and
    `feature_names_in_` where X had names; `predictor_`, the fitted `models.ssgp.predictor.Predictor`.
    """

    count: int = 200
    _: KW_ONLY
    sampler: Any = "orthogonal"
    kernel: Any = "gaussian"
    iterations: int = 30
    learning_rate: float = 0.3
    train_frequencies: bool = False
    random_state: Any = 0

    def fit(self, X: Any, y: Any) -> Self:
        """Learns from rows X (row, input), an array or a table, and their targets y (row,), and returns the estimator.

        Where training cannot go on, as with targets that are free of noise, the best that it came by is kept, and a
        `ConvergenceWarning` says so; another warning says where there are too few rows to train by. Of a table, columns
        that may be rounding of the others are warned of, and one that numbers the rows. Raises TypeError
        and ValueError, in one line, for parameters and data that make no sense: fewer than two rows, constant targets,
        gaps. What was fitted before is then still there.
        """
        with left_as_it_was(self):
            how = self._learning()
            inputs, targets = checked_pair(self, X, y, reset=True, least=2)
            say_few_rows(len(inputs), inputs.shape[1], how)
            say_suspect_columns(inputs, getattr(self, "feature_names_in_", ()))
            learnt, trained = learn(torch.tensor(inputs), torch.tensor(targets), how)
            self._keep(learnt, trained)
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Conditions the process on more rows, and returns the estimator; the first call is `fit`.

        All that a process needs of its rows are sums over them, so that this is exact: the numbers are those of a
        process that is conditioned on all rows at once. The first call, or `fit` before it, settles what stays as it
        is: the standardisation of inputs and target, the frequencies, the length-scales and both variances. So let the
        first rows be some thousands that are like the later ones, not sorted by anything. Memory is that of the rows of
        a call and of (2·count)² sums; parameters that are set later play no part.

        Raises TypeError and ValueError as `fit`, but takes a single row after the first call; the estimator is then as
        it was.
        """
        if not hasattr(self, "_learnt"):
            return self.fit(X, y)
        with left_as_it_was(self):
            inputs, targets = checked_pair(self, X, y, reset=False)
            self._learnt = self._learnt.with_rows(torch.tensor(inputs), torch.tensor(targets))
        return self

    def predict(self, X: Any, return_std: bool = False, *, noise: bool = True) -> Any:
        """Returns the mean of the target at rows X, (row,) in its own unit; with return_std its standard deviation too.

        The standard deviation is that of a new observation, noise included, as scikit-learn's process with a
        `WhiteKernel` gives it; with noise=False it is that of the function alone. Raises TypeError and ValueError, in
        one line, for rows that make no sense, and NotFittedError before `fit`.
        """
        check_is_fitted(self)
        mean, deviation = self.predictor_.predict(checked_rows(self, X), noise=yes_or_no("noise", noise))
        return (mean, deviation) if yes_or_no("return_std", return_std) else mean

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0, *, noise: bool = True) -> np.ndarray:
        """Returns targets drawn from the fitted process at rows X, (row, n_samples) in the target's own unit.

        A column is one function at all rows, and noise of its own for each row; with noise=False the function alone.
        random_state: as in the class. Raises as `predict`, and ValueError for more than a thousand million numbers.
        """
        check_is_fitted(self)
        functions, seed = whole_number("n_samples", n_samples), seed_of(random_state)
        rows = self._learnt.inputs.apply(torch.tensor(checked_rows(self, X)))
        whole_number("n_samples", n_samples, most=MOST_DRAWN // len(rows))
        process, chance = self._learnt.process, generator(seed, "ssgp/sample")
        drawn = process.draw(rows, functions=functions, generator=chance)
        if yes_or_no("noise", noise):
            drawn += process.noise.sqrt() * torch.randn(drawn.shape, generator=chance, dtype=drawn.dtype)
        return self._learnt.target.restore(drawn).numpy()

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Returns R² of the means at rows X against targets y: 1 is perfect, 0 as good as the mean of y.

        sample_weight: of the rows, (row,), or None. Raises as `predict`, and TypeError and ValueError for targets or
        weights that make no sense.
        """
        with in_one_line("X, y and sample_weight"):
            return super().score(X, y, sample_weight)

    def log_marginal_likelihood(self) -> float:
        """Returns log p(y) of all rows that the process is conditioned on, in nats, the density being that of targets
        in their own unit. Raises NotFittedError before `fit`."""
        check_is_fitted(self)
        return self._learnt.log_marginal_likelihood()

    def save(self, folder: str | Path) -> None:
        """Writes the fitted estimator as plain numbers and texts, without pickle, into a new folder.

        The folder appears under its name when it is whole; `models.ssgp.predictor.load_predictor` reads it too. Raises
        NotFittedError before `fit`, FileExistsError where something is there already, and ValueError for a parameter
        that plain values do not tell: a RandomState, or a sampler or kernel of one's own class.
        """
        check_is_fitted(self)
        where = path("folder", folder)
        names = getattr(self, "feature_names_in_", None)
        saved = SavedRegressor(
            self.get_params(deep=False), self._learnt, column_names(self), names is not None, self.loss_curve_
        )
        save_regressor(saved, where)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Returns the estimator that `save` wrote into a folder; it predicts the same, and `partial_fit` goes on with
        it.

        Nothing is unpickled. Raises ValueError for a folder without one.
        """
        saved = read_regressor(path("folder", folder))
        fitted = {"_learnt": saved.learnt, "loss_curve_": saved.losses, "n_features_in_": len(saved.names)}
        if saved.named:
            fitted["feature_names_in_"] = np.array(saved.names, dtype=object)
        estimator = cls(**saved.parameters)
        vars(estimator).update(fitted)
        return estimator

    def _learning(self) -> Learning:
        """Returns what the parameters say. Raises TypeError and ValueError, in one line, where they make no sense."""
        kernel, sampler = kernel_of(self.kernel), sampler_of(self.sampler)
        check_pair(kernel, sampler)
        return Learning(
            kernel=kernel, sampler=sampler, count=whole_number("count", self.count, most=MOST_FREQUENCIES),
            iterations=whole_number("iterations", self.iterations, least=0, most=MOST_EPOCHS),
            learning_rate=number("learning_rate", self.learning_rate),
            train_frequencies=yes_or_no("train_frequencies", self.train_frequencies), seed=seed_of(self.random_state),
        )  # fmt: skip

    def _keep(self, learnt: Learnt, trained: Trained) -> None:
        self._learnt, self.loss_curve_ = learnt, trained.losses
        if trained.ended is not None:
            warnings.warn(
                f"training ended before iteration {len(trained.losses)} of {self.iterations}, and what it had found by "
                f"then is kept: {trained.ended}", ConvergenceWarning, stacklevel=4,
            )  # fmt: skip

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learnt")

    @property
    def predictor_(self) -> Predictor:
        """Returns what predicts, without the sums that `partial_fit` adds to."""
        return self._learnt.predictor(column_names(self), TARGET)

    @property
    def length_scales_(self) -> np.ndarray:
        """Returns the length-scale of each input, (input,), in its own unit."""
        return self._learnt.length_scales.numpy()

    @property
    def signal_variance_(self) -> float:
        """Returns the variance of the function, in the squared unit of the target."""
        return float(self._learnt.process.signal * self._learnt.target.scale.square())

    @property
    def noise_variance_(self) -> float:
        """Returns the variance of the noise, in the squared unit of the target."""
        return float(self._learnt.process.noise * self._learnt.target.scale.square())

    @property
    def n_rows_(self) -> int:
        """Returns how many rows the process is conditioned on."""
        return self._learnt.moments.rows


def say_few_rows(rows: int, inputs: int, how: Learning) -> None:
    """Warns where a length-scale for each of so many inputs, two variances, and the entries of the frequencies where
    these are trained too, are trained by no more rows than these numbers are."""
    few = inputs + 2
    trained = few + how.count * inputs * how.train_frequencies
    if not how.iterations or rows > trained:
        return
    if rows <= few:
        said = (
            f"{inputs} length-scale{'s' * (inputs > 1)} and two variances by, so that the standard deviations mean "
            f"little; give more than {few} rows, or iterations=0"
        )
    else:
        said = (
            f"{trained} numbers by, {how.count} frequencies among them, so that the standard deviations are too small; "
            f"give more than {trained} rows, a smaller count, or train_frequencies=False"
        )
    warnings.warn(f"{rows} rows are too few to train {said}", stacklevel=3)


def say_suspect_columns(inputs: np.ndarray, names: Sequence[Any]) -> None:
    """Warns of columns of a table, inputs (row, column), that may be rounding of the others, and of the first of
    several that numbers the rows: one without a name in whatever order these are, one with a name as they stand.
    names: none where it is an array."""
    said = said_of_rounding(inputs, names) if len(names) else None
    if said:
        warnings.warn(said, stacklevel=3)
    for place, name in enumerate(names if len(names) > 1 else ()):
        if counts_rows(name, [np.sort(inputs[:, place])]):
            warnings.warn(said_of_counter(name, "an input"), stacklevel=3)
            return
        if numbers_rows(inputs[:, place]):
            warnings.warn(said_of_numbers(name), stacklevel=3)
            return
