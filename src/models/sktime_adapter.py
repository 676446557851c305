"""The forecasters as sktime has them, for its pipelines, its tuning and its evaluation. It needs the extra `sktime`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import clone

from models.baselines.estimators import LastValueForecaster
from models.forecasting.covariates import FromStart
from models.psrnn.estimator import PSRNNForecaster

try:
    from sktime.forecasting.base import BaseForecaster, ForecastingHorizon
except ModuleNotFoundError as error:
    if (error.name or "").split(".")[0] != "sktime":
        raise
    raise ModuleNotFoundError(
        "sktime is not installed; pip install -c constraints.txt -e '.[sktime]' installs it", name="sktime"
    ) from None

if TYPE_CHECKING:
    import pandas as pd

    from models.forecasting.estimator import ForecastingEstimator

AUTHORS = "the orthogonal-psrnn authors"


class SktimeForecaster(BaseForecaster):
    """Is a forecaster of this project in the manners of sktime.

    >>> from models.psrnn.estimator import PSRNNForecaster
    >>> from models.sktime_adapter import SktimeForecaster
    >>> from sktime.datasets import load_airline
    >>> y = load_airline()
    >>> forecaster = SktimeForecaster(PSRNNForecaster(season=12, validation=0.3)).fit(y, fh=range(1, 13))
    >>> bounds = forecaster.predict_interval(coverage=0.8)

    forecaster: any `models.forecasting.estimator.ForecastingEstimator`; None takes `PSRNNForecaster()`. It is copied,
    and the copy that was fitted is `forecaster_`. Its own `target` and `covariates` stay None, since y and X say them:
    all columns of y are forecast, and the columns of X are known ahead.

    X in `predict` has every row from the one after the last of y to the furthest of the horizon, without gaps. y may
    have gaps. Horizons in the past are answered by one-step predictions, without intervals. `update` moves the state
    on with update_params=False, and fits anew to all rows with update_params=True; rows that were seen before are left
    aside. A panel has a model for each series.
    """

    _tags: ClassVar[dict[str, Any]] = {
        "authors": AUTHORS,
        "maintainers": AUTHORS,
        "y_inner_mtype": "pd.DataFrame",
        "X_inner_mtype": "pd.DataFrame",
        "requires-fh-in-fit": False,
        "capability:multivariate": True,
        "capability:missing_values": True,
        "capability:exogenous": True,
        "capability:categorical_in_X": False,
        "capability:non_contiguous_X": False,
        "capability:insample": True,
        "capability:pred_int": True,
        "capability:pred_int:insample": False,
        "capability:update": True,
    }
    _config: ClassVar[dict[str, Any]] = {"remember_data": False}  # `_rows` has the rows

    def __init__(self, forecaster: ForecastingEstimator | None = None) -> None:
        self.forecaster = forecaster
        super().__init__()
        self._y = self._X = None  # for whoever sets the config `remember_data` later

    def _fit(self, y: pd.DataFrame, X: pd.DataFrame | None, fh: Any) -> SktimeForecaster:  # noqa: ARG002
        forecaster: Any = PSRNNForecaster() if self.forecaster is None else clone(self.forecaster)
        if forecaster.target is not None or forecaster.covariates is not None:
            raise ValueError("leave target and covariates of the forecaster None; y has the targets, X the covariates")
        self._known = () if X is None else known_labels(y.columns, X.columns)
        forecaster.set_params(covariates=list(self._known) or None)
        rows = self._joined(y, X)
        self.forecaster_, self._rows = forecaster.fit(rows), rows
        return self

    def _joined(self, y: pd.DataFrame, X: pd.DataFrame | None) -> pd.DataFrame:
        """Returns y with the rows of X beside it. Raises ValueError where only one of fit and update had X."""
        import pandas as pd

        if (X is not None) != bool(self._known):
            raise ValueError(f"fit had {'an' if self._known else 'no'} X; update and predict take the same")
        return y if X is None else pd.concat([y, X.loc[y.index].set_axis(list(self._known), axis=1)], axis=1)

    def _update(self, y: pd.DataFrame, X: pd.DataFrame | None = None, update_params: bool = True) -> SktimeForecaster:
        import pandas as pd

        new = self._joined(y, X)
        new = new[new.index > self._rows.index[-1]]
        if len(new):
            self.forecaster_.update(new, refit=update_params)
            self._rows = pd.concat([self._rows, new])
        return self

    def _predict(self, fh: ForecastingHorizon, X: pd.DataFrame | None) -> pd.DataFrame:
        import pandas as pd

        steps = self._steps(fh)
        ahead, seen = steps > 0, self._seen()
        found = np.empty((len(steps), len(self._get_varnames())))
        if ahead.any():
            forecasts = self.forecaster_.predict(int(steps.max()), **self._from(seen, steps, X))
            found[ahead] = forecasts.to_numpy()[steps[ahead] - 1]
        if not ahead.all():
            found[~ahead] = self._one_step(seen, steps[~ahead])
        return pd.DataFrame(found, index=self._index(fh), columns=self._get_columns())

    def _one_step(self, seen: pd.DataFrame, steps: np.ndarray) -> np.ndarray:
        places = len(seen) - 1 + steps
        if (places < 0).any():
            raise ValueError(f"fh goes {-steps.min()} rows back, and {len(seen)} rows were seen")
        return self.forecaster_.predict_one_step(FromStart(seen)).to_numpy()[places]

    def _predict_interval(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, fh: ForecastingHorizon, X: pd.DataFrame | None, coverage: Sequence[float]
    ) -> pd.DataFrame:
        import pandas as pd

        steps = self._steps(fh)
        start = self._from(self._seen(), steps, X)
        parts = [self._bounds(steps, float(each), start) for each in coverage]
        values = np.stack(parts, axis=2).reshape(len(steps), -1)  # target, coverage, bound
        columns = self._get_columns(method="predict_interval", coverage=coverage)
        return pd.DataFrame(values, index=self._index(fh), columns=columns)

    def _bounds(self, steps: np.ndarray, coverage: float, start: dict[str, Any]) -> np.ndarray:
        """Returns the bounds (horizon, target, 2); those of coverage 0, which a median is, are the forecast."""
        horizon = int(steps.max())
        if coverage == 0:
            both = np.repeat(self.forecaster_.predict(horizon, **start).to_numpy()[:, :, np.newaxis], 2, axis=2)
        else:
            both = self.forecaster_.predict_interval(horizon, coverage, **start).to_numpy().reshape(horizon, -1, 2)
        return both[steps - 1]

    def _steps(self, fh: ForecastingHorizon) -> np.ndarray:
        return fh.to_relative(self.cutoff).to_numpy().astype(int)

    def _index(self, fh: ForecastingHorizon) -> pd.Index:
        return fh.to_absolute_index(self.cutoff)

    def _seen(self) -> pd.DataFrame:
        """Returns the rows up to the cutoff, which sktime may have set back."""
        cutoff: Any = self.cutoff
        return self._rows.loc[self._rows.index <= cutoff[0]]

    def _from(self, seen: pd.DataFrame, steps: np.ndarray, X: pd.DataFrame | None) -> dict[str, Any]:
        """Returns the arguments of `predict`: the history, unless it is what the state has seen, and what is known."""
        history = None if len(seen) == len(self._rows) else FromStart(seen)
        return {"X": history, "known": self._known_ahead(int(steps.max()), X)}

    def _known_ahead(self, horizon: int, X: pd.DataFrame | None) -> pd.DataFrame | None:
        import pandas as pd

        index = self._index(ForecastingHorizon(range(1, horizon + 1), is_relative=True))
        if X is not None and self._known:
            missing = index.difference(X.index)
            if len(missing):
                raise ValueError(f"X must have every row from {index[0]} to {index[-1]}; {missing[0]} is missing")
        rows = self._joined(pd.DataFrame(index=index), X)
        return rows if self._known else None

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> Any:  # noqa: ARG003
        """Returns parameters of forecasters that are fitted quickly, for sktime's `check_estimator`."""
        return [
            {"forecaster": LastValueForecaster(validation=0.5)},
            {"forecaster": PSRNNForecaster(count=3, window=1, lags=0, validation=0.5)},
        ]


def known_labels(targets: pd.Index, covariates: pd.Index) -> tuple[Any, ...]:
    """Returns names for the columns of X beside those of y: "X NAME" for one that y has too."""
    return tuple(f"X {label}" if label in targets else label for label in covariates)
