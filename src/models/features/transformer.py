"""Random features in scikit-learn's manners, beside its `RBFSampler`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from models.features.bandwidth import bandwidth
from models.features.maps import random_features
from models.features.names import kernel_of, rule_of, sampler_of
from models.features.samplers import check_pair, draw_frequencies
from models.runtime.estimators import checked_rows, input_names, left_as_it_was, seed_of
from models.runtime.parameters import whole_number
from models.runtime.seeding import generator

MOST_FREQUENCIES = 1_000_000


class RandomFeatures(TransformerMixin, BaseEstimator):
    """Maps rows to random features, whose inner products come near a kernel (Rahimi and Recht 2007), for linear models.

    A row x becomes (cos w_1ᵀx, …, cos w_mᵀx, sin w_1ᵀx, …, sin w_mᵀx)/√m, of length 1, with frequencies w_i drawn from
    the kernel's spectral measure, so that Φ(x)ᵀΦ(y) estimates K(x, y) without bias but for "hadamard". scikit-learn's
    `RBFSampler` has one cosine with a random phase for a frequency, the Gaussian kernel and independent frequencies;
    with 2·count components it is as large as this with count.

    Parameters, which are checked by `fit`:

    * count: the number m of frequencies; there are 2m features.
    * sampler: how the frequencies depend on one another, "orthogonal", "iid", "hadamard", "stratified",
      "near_orthogonal" or "sobol", or one of `models.features.samplers`.
    * kernel: "gaussian", "laplacian", "laplacian_l1" (with sampler="iid" alone), "matern" (of smoothness 1.5) or
      "rational_quadratic" (of shape 1), or one of `models.features.kernels`.
    * bandwidth: ℓ of the kernel, in the unit of the rows: a number (γ of RBFSampler is 1/(2ℓ²)); "median_pairs", the
      median distance of random pairs of the rows of `fit`, or "median_neighbours", of rows that follow each other; or a
      `models.features.bandwidth.BandwidthRule`.
    * random_state: the seed of all that is drawn, a whole number; a RandomState of NumPy, or None for its own, draws a
      seed in each `fit`.

    After `fit`: `frequencies_` (count, input), float64; `bandwidth_`; `n_features_in_`, and `feature_names_in_` where X
    had names.
    """

    def __init__(
        self,
        count: int = 100,
        *,
        sampler: Any = "orthogonal",
        kernel: Any = "gaussian",
        bandwidth: Any = "median_pairs",
        random_state: Any = 0,
    ) -> None:
        self.count = count
        self.sampler = sampler
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Draws the frequencies for rows X (row, input), an array or a table, and returns the transformer.

        y is there for scikit-learn's sake and left aside. Raises TypeError and ValueError, in one line, for parameters
        and rows that make no sense; what was fitted before is then still there.
        """
        with left_as_it_was(self):
            kernel, sampler, rule = kernel_of(self.kernel), sampler_of(self.sampler), rule_of(self.bandwidth)
            check_pair(kernel, sampler)
            count, seed = whole_number("count", self.count, most=MOST_FREQUENCIES), seed_of(self.random_state)
            rows = checked_rows(self, X, reset=True, least=1 if rule.rule == "fixed" else 2)
            if rule.rule != "fixed" and (rows == rows[0]).all():
                raise ValueError("all rows of X are equal, so that they tell no bandwidth; give one, as a number")
            found = bandwidth(torch.tensor(rows), rule, generator=generator(seed, "random_features/bandwidth"))
            frequencies = draw_frequencies(
                kernel=kernel, sampler=sampler, count=count, dimension=rows.shape[1], bandwidth=found,
                generator=generator(seed, "random_features/frequencies"),
            )  # fmt: skip
            self.bandwidth_, self.frequencies_ = found, frequencies.numpy()
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Returns the features (row, 2·count) of rows X (row, input), in single precision where X is, else in double.

        Raises TypeError and ValueError, in one line, for rows that make no sense, and NotFittedError before `fit`.
        """
        check_is_fitted(self)
        rows = torch.from_numpy(checked_rows(self, X, dtype=(np.float64, np.float32)))
        return random_features(rows, torch.from_numpy(self.frequencies_).to(rows.dtype)).numpy()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Returns the names of the features, "cos0", …, "sin0", …, (2·count,).

        input_features: the names of the inputs, which play no part; there has to be one for each. Raises NotFittedError
        before `fit`, ValueError for other names than those of `fit`.
        """
        check_is_fitted(self)
        input_names(self, input_features)
        places = range(len(self.frequencies_))
        return np.array([f"{name}{i}" for name in ("cos", "sin") for i in places], dtype=object)
