"""What a fitted forecaster tells of itself, by the names that scikit-learn has for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from models.forecasting.estimators.learnt import Learnt


class FittedAttributes:
    """Is what an estimator tells of what it learnt. All of it raises NotFittedError before `fit`."""

    _learnt: Learnt

    @property
    def forecaster_(self) -> Any:
        """Returns the fitted `models.forecasting.forecaster.Forecaster`."""
        return self._fitted().forecaster

    @property
    def history_(self) -> int:
        """Returns how many rows of a series the model wants before its first forecast, see `Forecaster.history`."""
        return self._fitted().forecaster.history

    @property
    def chosen_(self) -> dict[str, Any]:
        """Returns what the validation part chose: lags and ridges, say."""
        return dict(self._fitted().chosen)

    @property
    def validation_errors_(self) -> dict[str, np.ndarray]:
        """Returns the mean squared error of forecasts of the validation part, (horizon,) each, in standard deviations
        of the part fitted to, a mean over the targets; by what forecasts: "model", "last value", "season before"."""
        return dict(self._fitted().errors)

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Returns the names of the columns that the data had."""
        return np.array(self._fitted().labels, dtype=object)

    @property
    def n_features_in_(self) -> int:
        """Returns how many columns the data had."""
        return len(self._fitted().labels)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learnt")

    def _fitted(self) -> Learnt:
        if not hasattr(self, "_learnt"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted; call fit first")
        return self._learnt
