"""The forecasters as sktime has them, for its pipelines, its tuning and its evaluation. It needs the extra `sktime`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import clone

from models.baselines.estimators import LastValueForecaster
from models.forecasting.estimators.asked_rows import AskedRows, asked_rows
from models.forecasting.estimators.covariates import FromStart
from models.forecasting.estimators.silent import forecast_without_warning
from models.forecasting.index.kinds import contents, kind_of
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

    from models.forecasting.estimators.estimator import ForecastingEstimator

AUTHORS = "the orthogonal-psrnn authors"


class SktimeForecaster(BaseForecaster):
    """Is a forecaster of this project in the manners of sktime.

    >>> from models.psrnn.estimator import PSRNNForecaster
    >>> from models.sktime_adapter import SktimeForecaster
    >>> from sktime.datasets import load_airline
    >>> y = load_airline()
    >>> forecaster = SktimeForecaster(PSRNNForecaster(season=12, validation=0.3)).fit(y, fh=range(1, 13))
    >>> bounds = forecaster.predict_interval(coverage=0.8)

    forecaster: any `ForecastingEstimator` of `models.forecasting.estimators.estimator`; None takes `PSRNNForecaster()`.
    It is copied, and the copy that was fitted is `forecaster_`. Its own `target` and `covariates` stay None, since y
    and X say them: all columns of y are forecast, and the columns of X are known ahead.

    X in `predict` has every row from the one after the last of y to the furthest of the horizon, without gaps. Columns
    of X and y go by the names that they had in `fit`. y may have gaps.

    A horizon is placed by the index of y. Rows that were seen are answered by one-step predictions, without intervals.
    Those to come lie in the step that y has at its end; numbers and periods that are uneven there go on by one. What is
    no such row is refused. `update` moves the state on with update_params=False, and fits anew to all rows with
    update_params=True; rows that were seen before are left aside. A panel has a model for each series.
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
        self._targets, self._given = list(y.columns), [] if X is None else list(X.columns)
        self._known = () if X is None else known_labels(y.columns, X.columns)
        forecaster.set_params(covariates=list(self._known) or None)
        rows = self._joined(y, X)
        self.forecaster_, self._rows = forecaster.fit(rows), rows
        return self

    def _joined(self, y: pd.DataFrame, X: pd.DataFrame | None) -> pd.DataFrame:
        """Returns y with the rows of X beside it. Raises ValueError where only one of fit and update had X, and where X
        lacks a row of y or has other columns."""
        import pandas as pd

        if (X is not None) != bool(self._known):
            raise ValueError(f"fit had {'an' if self._known else 'no'} X; update and predict take the same")
        if X is None:
            return y
        missing = y.index.difference(X.index)
        if len(missing):
            raise ValueError(f"X must have every row from {y.index[0]} to {y.index[-1]}; {missing[0]} is missing")
        given = by_name(X, self._given, "X").loc[y.index]
        return pd.concat([y, given.set_axis(list(self._known), axis=1)], axis=1)

    def _update(self, y: pd.DataFrame, X: pd.DataFrame | None = None, update_params: bool = True) -> SktimeForecaster:
        import pandas as pd

        new = self._joined(by_name(y, self._targets, "y"), X)
        new = new[new.index > self._rows.index[-1]]
        if len(new):
            self.forecaster_.update(new, refit=update_params)
            self._rows = pd.concat([self._rows, new])
        return self

    def _get_varnames(self) -> list[Any]:
        """Returns the names of the columns of y in the order of `fit`, whatever that of the last update was."""
        return self._targets if hasattr(self, "_targets") else super()._get_varnames()

    def _predict(self, fh: ForecastingHorizon, X: pd.DataFrame | None) -> pd.DataFrame:
        import pandas as pd

        rows = self._seen()
        asked = self._asked(fh, rows)
        to_come, found = asked.ahead > 0, np.empty((len(asked.index), len(self._targets)))
        if to_come.any():
            forecasts = self.forecaster_.predict(len(asked.coming), **self._from(rows, asked, X))
            found[to_come] = forecasts.to_numpy()[asked.ahead[to_come] - 1]
        if not to_come.all():
            one_step = self.forecaster_.predict_one_step(FromStart(rows))
            found[~to_come] = one_step.to_numpy()[asked.seen[~to_come]]
        return pd.DataFrame(found, index=asked.index, columns=self._get_columns())

    def _predict_interval(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, fh: ForecastingHorizon, X: pd.DataFrame | None, coverage: Sequence[float]
    ) -> pd.DataFrame:
        import pandas as pd

        rows = self._seen()
        asked = self._asked(fh, rows)
        if (asked.ahead < 1).any():
            raise ValueError(f"intervals are there for rows to come, and fh asks for {asked.index.min()}; leave it out")
        start = self._from(rows, asked, X)
        parts = [self._bounds(asked, float(each), start) for each in coverage]
        values = np.stack(parts, axis=2).reshape(len(asked.index), -1)  # target, coverage, bound
        columns = self._get_columns(method="predict_interval", coverage=coverage)
        return pd.DataFrame(values, index=asked.index, columns=columns)

    def _bounds(self, asked: AskedRows, coverage: float, start: dict[str, Any]) -> np.ndarray:
        """Returns the bounds (horizon, target, 2); those of coverage 0, which a median is, are the forecast."""
        horizon = len(asked.coming)
        if coverage == 0:
            forecast = forecast_without_warning(self.forecaster_, horizon, **start).to_numpy()
            both = np.repeat(forecast[:, :, np.newaxis], 2, axis=2)
        else:
            both = self.forecaster_.predict_interval(horizon, coverage, **start).to_numpy().reshape(horizon, -1, 2)
        return both[asked.ahead - 1]

    def _asked(self, fh: ForecastingHorizon, rows: pd.DataFrame) -> AskedRows:
        """Returns the rows that a horizon asks for. Raises ValueError where the index of y does not tell them."""
        cutoff: Any = self.cutoff
        if fh.is_relative and cutoff.dtype.kind == "M" and cutoff.freq is None:
            raise ValueError(
                f"the times of y have no step that sktime knows, so that fh cannot count from {cutoff[0]}; fill y to "
                "even steps before fit, with y.asfreq('B') for working days say; for rows of y and those that follow "
                "an even end, ForecastingHorizon(times, is_relative=False) does"
            )
        index: Any = fh.to_absolute_index(cutoff)
        if kind_of(index) != kind_of(rows.index):
            raise ValueError(
                f"fh holds {contents(index)}, {index[0]} say, and the index of y {contents(rows.index)}, "
                f"{rows.index[-1]} say; give it as y has them"
            )
        return asked_rows(index, rows.index)

    def _seen(self) -> pd.DataFrame:
        """Returns the rows up to the cutoff, which sktime may have set back. Raises ValueError where there is none."""
        cutoff: Any = self.cutoff
        rows = self._rows.loc[self._rows.index <= cutoff[0]]
        if not len(rows):
            raise ValueError(f"no row of y was seen up to {cutoff[0]}; update with the rows to go on from")
        return rows

    def _from(self, rows: pd.DataFrame, asked: AskedRows, X: pd.DataFrame | None) -> dict[str, Any]:
        """Returns the arguments of `predict`: the history, unless it is what the state has seen, and what is known."""
        import pandas as pd

        history = None if len(rows) == len(self._rows) else FromStart(rows)
        known = self._joined(pd.DataFrame(index=asked.coming), X)
        return {"X": history, "known": known if self._known else None}

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


def by_name(table: pd.DataFrame, wanted: list[Any], name: str) -> pd.DataFrame:
    """Returns the columns of a table in the order of `wanted`. Raises ValueError where it has others, or lacks one."""
    has = list(table.columns)
    if len(has) != len(wanted) or set(has) != set(wanted):
        raise ValueError(
            f"{name} has the columns {', '.join(map(str, has))}, and in fit it had {', '.join(map(str, wanted))}; give "
            "these, in any order"
        )
    return table.loc[:, wanted]
