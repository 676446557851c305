"""A forecast of a fitted forecaster without the warning of steps whose errors are not known."""

from __future__ import annotations

from typing import Any

from models.forecasting.estimators.asked_rows import MOST_STEPS
from models.runtime.parameters import whole_number


def forecast_without_warning(estimator: Any, horizon: int, X: Any = None, known: Any = None) -> Any:
    """Returns what `predict` of a fitted forecaster returns, for callers that show the errors beside the forecast."""
    whole_number("horizon", horizon, most=MOST_STEPS)
    return estimator._ahead(horizon, *estimator._positions_of(None if X is None else estimator._histories(X)), known)
