"""Rolling-origin backtest: forecasts from many points of held-out series, scored step by step ahead.

An *origin* is a number of rows seen: the forecast from origin n knows rows 0 … n − 1 and its h-th step is compared with
row n + h − 1. The window of history expands (it always begins at row 0). The model is trained once, on the training
part, and not again at any origin: the backtest rolls over held-out series with fixed parameters, so it tells how a
deployed model fares, not how one that is refitted daily would. Source: Tashman, "Out-of-sample tests of forecasting
accuracy", 2000, without his recalibration.

Steps beyond a series' end are left out, never padded. Rows whose truth is NaN (a gap) stay in the result but are not
scored. Forecasts from neighbouring origins share most of their history, so their errors are dependent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from models.forecasting.filtering import filter_sequences
from models.forecasting.forecaster import Forecaster
from models.forecasting.rolling import forecast_from_everywhere
from models.forecasting.series import check_series

if TYPE_CHECKING:
    import pandas as pd

SHOWN_ROWS, SHOWN_COLUMNS = 10, 9  # of a table that is printed


class Origins(NamedTuple):
    """Holds one entry a forecast, int64 (forecast,) each.

    sequence: index of the series. origin: rows seen. reach: steps ahead with a row to compare with, 1 … horizon.
    """

    sequence: np.ndarray
    origin: np.ndarray
    reach: np.ndarray


class ErrorTable(NamedTuple):
    """Holds horizon (horizon,): 1, 2, …. scored, rmse, mae (horizon, feature): number of errors, √mean(e²) and
    mean|e| in the feature's own units; NaN where nothing was scored. features: their names, None where the forecaster
    gives none."""

    horizon: np.ndarray
    scored: np.ndarray
    rmse: np.ndarray
    mae: np.ndarray
    features: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        """Returns the table, shortened where it is long."""
        return self.to_frame().to_string(max_rows=SHOWN_ROWS, max_cols=SHOWN_COLUMNS, float_format="{:.4g}".format)

    def to_frame(self) -> pd.DataFrame:
        """Returns a table with one row a horizon, and the columns NAME_rmse, NAME_mae and NAME_scored for each feature,
        which has its number for a name where it has none."""
        import pandas as pd

        columns = {
            f"{name}_{kind}": getattr(self, kind)[:, place]
            for place, name in enumerate(names_of(self.features, self.rmse))
            for kind in ("rmse", "mae", "scored")
        }
        return pd.DataFrame(columns, index=pd.Index(self.horizon, name="horizon"))


class BacktestResult(NamedTuple):
    """Holds one row a forecast step, ordered by sequence, origin and horizon.

    sequence, origin, horizon: int64 (row,); horizon counts from 1.
    forecast, truth: (row, feature) in own units; truth is NaN where it was not observed.
    features: their names, None where the forecaster gives none.
    """

    sequence: np.ndarray
    origin: np.ndarray
    horizon: np.ndarray
    forecast: np.ndarray
    truth: np.ndarray
    features: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        """Returns in a line how many forecasts there are, and where the numbers are found."""
        series, ahead = len(set(self.sequence.tolist())), self.horizon.max()
        return (
            f"<BacktestResult: {(self.horizon == 1).sum()} forecasts of {series} series, 1 to {ahead} steps ahead; "
            ".by_horizon() has the errors, .to_frame() the forecasts>"
        )

    def to_frame(self) -> pd.DataFrame:
        """Returns a table with one row a forecast step: sequence, origin, horizon, and the columns NAME_forecast and
        NAME_truth for each feature, which has its number for a name where it has none."""
        import pandas as pd

        columns = {"sequence": self.sequence, "origin": self.origin, "horizon": self.horizon}
        for place, name in enumerate(names_of(self.features, self.truth)):
            columns |= {f"{name}_forecast": self.forecast[:, place], f"{name}_truth": self.truth[:, place]}
        return pd.DataFrame(columns)

    def by_horizon(self) -> ErrorTable:
        """Returns errors over all sequences and origins, each scored entry with equal weight."""
        residuals = self.residuals()
        scored = (~np.isnan(residuals)).sum(0)
        known = np.where(scored > 0, 1.0, np.nan) / np.maximum(scored, 1)
        rmse = np.sqrt(np.nansum(np.square(residuals), axis=0) * known)
        mae = np.nansum(np.abs(residuals), axis=0) * known
        return ErrorTable(np.arange(1, len(scored) + 1), scored, rmse, mae, self.features)

    def residuals(self) -> np.ndarray:
        """Returns truth − forecast, (forecast, horizon, feature), one row an origin; NaN = not scored (a gap, or past
        the end).

        `models.forecasting.conformal.conformal_radii` takes them. Horizons that no series is long enough for have no
        column.
        """
        firsts = self.horizon == 1
        table = np.full((firsts.sum(), self.horizon.max(), self.truth.shape[1]), np.nan)
        table[np.cumsum(firsts) - 1, self.horizon - 1] = self.truth - self.forecast
        return table


def names_of(features: Sequence[str] | None, values: np.ndarray) -> Sequence[str]:
    """Returns the names of the features of values (row, feature), their numbers from 0 on where they have none."""
    return [str(place) for place in range(values.shape[1])] if features is None else features


def rolling_origin(lengths: Sequence[int], *, first: int, step: int, horizon: int) -> Origins:
    """Returns origins first, first + step, … of every series, as long as at least one row is left to compare with.

    lengths: rows of each series. A series of `first` rows or fewer has no origin. A step of at least the longest
    length gives one origin a series.
    Raises ValueError when first, step or horizon is below 1, and when no series is longer than `first`.
    """
    for name, value in (("first", first), ("step", step), ("horizon", horizon)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    pairs = [(i, origin) for i, length in enumerate(lengths) for origin in range(first, length, step)]
    if not pairs:
        longest = max(lengths, default=0)
        raise ValueError(f"no series is longer than first={first} rows, the longest has {longest}; lower first")
    sequence, origin = np.array(pairs, dtype=np.int64).T
    return Origins(sequence, origin, np.minimum(horizon, np.array(lengths)[sequence] - origin))


def backtest(
    forecast: Callable[[np.ndarray, int], np.ndarray],
    series: Sequence[np.ndarray],
    *,
    first: int,
    step: int,
    horizon: int,
) -> BacktestResult:
    """Lets any forecaster forecast from every origin of `rolling_origin`, one call each.

    forecast: (history (time, feature), horizon) -> (horizon, feature), for instance `Forecaster.forecast`, of a model
    that was trained on other data. It gets a copy of the rows before the origin and nothing else, and is asked for the
    full horizon even where the series ends sooner.
    series: held-out series (time, feature), NaN = not observed; the forecaster has to cope with gaps in the history.
    Raises ValueError for bad numbers (see `rolling_origin`), series that are not (time, feature) with one number of
    features or hold an infinite value, and a forecast of another shape or with a value that is not finite.
    """
    check_series(series)
    origins = rolling_origin([len(s) for s in series], first=first, step=step, horizon=horizon)
    shape = (horizon, series[0].shape[1])
    forecasts = np.empty((len(origins.origin), *shape))
    for i, (sequence, origin) in enumerate(zip(origins.sequence, origins.origin, strict=True)):
        ahead = forecast(series[sequence][:origin].copy(), horizon)
        if ahead.shape != shape:
            raise ValueError(
                f"forecast of series {sequence} from row {origin} has shape {ahead.shape}, expected {shape}"
            )
        forecasts[i] = ahead
    return compared(series, origins, forecasts)


def backtest_forecaster(
    forecaster: Forecaster, series: Sequence[np.ndarray], *, first: int, step: int, horizon: int
) -> BacktestResult:
    """Returns what `backtest(forecaster.forecast, …)` does, in one pass: each series is filtered once and rolled from
    all its origins.

    Raises ValueError as `backtest` does.
    """
    check_series(series)
    origins = rolling_origin([len(s) for s in series], first=first, step=step, horizon=horizon)
    forecasts = forecast_from_origins(forecaster, series, origins, horizon)
    return compared(series, origins, forecasts, forecaster.feature_names)


@torch.no_grad()
def forecast_from_origins(
    forecaster: Forecaster, series: Sequence[np.ndarray], origins: Origins, horizon: int
) -> np.ndarray:
    """Returns (forecast, horizon, feature) in own units: entry i from the first origin[i] rows of series sequence[i].

    Filtering only looks back, so the state before row n is the same whether the series goes on or not.
    All series are filtered side by side and all their states kept: memory grows with series × steps × state.
    Raises ValueError for series that do not have the forecaster's features or hold an infinite value.
    """
    check_series(series)
    values, masks = zip(*map(forecaster.standardised, series), strict=True)
    mask = pad_sequence(list(masks), batch_first=True, padding_value=True)  # what pads the end is no gap
    values = pad_sequence(list(values), batch_first=True)
    states = filter_sequences(forecaster.model, values, mask).states  # pyright: ignore[reportArgumentType]
    chosen = tuple(part[origins.sequence, origins.origin].unsqueeze(0) for part in states)
    rolled = forecast_from_everywhere(forecaster.model, chosen, horizon)[0]  # pyright: ignore[reportArgumentType]
    return forecaster.in_own_units(rolled)


def compared(
    series: Sequence[np.ndarray], origins: Origins, forecasts: np.ndarray, features: tuple[str, ...] | None = None
) -> BacktestResult:
    """Returns the rows of forecasts (forecast, horizon, feature) that have a row of their series to be compared with.

    features: their names.

    Raises ValueError for one of them that is not finite.
    """
    entry, ahead = np.nonzero(np.arange(forecasts.shape[1]) < origins.reach[:, None])
    sequence, origin = origins.sequence[entry], origins.origin[entry]
    chosen = forecasts[entry, ahead]
    if not np.isfinite(chosen).all():
        row = np.argwhere(~np.isfinite(chosen))[0, 0]
        raise ValueError(
            f"forecast of series {sequence[row]} from row {origin[row]} is not finite {ahead[row] + 1} steps ahead; "
            f"fill the gaps of the history, or shorten the horizon of a model that diverges"
        )
    begins = np.cumsum([0, *map(len, series)])  # of each series among the rows of all
    truth = np.concatenate(series)[begins[sequence] + origin + ahead]
    return BacktestResult(sequence, origin, ahead + 1, chosen, truth, features)
