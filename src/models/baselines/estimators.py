"""The models beside the PSRNN in scikit-learn's manners."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from models.baselines.autoregression import VAR
from models.baselines.echo_state import EchoState
from models.baselines.kalman import KalmanFilter
from models.baselines.networks import GRU, LSTM, MinGRU
from models.baselines.no_state import NoState
from models.baselines.persistence import LastValue
from models.baselines.seasonal_naive import Seasonal, check_season_found, seasonal_naive
from models.forecasting.errors_ahead import least_ahead
from models.forecasting.estimators.checks import season_of
from models.forecasting.estimators.recurrent import (
    RIDGES,
    MethodEstimator,
    MethodWithReadout,
    NetworkEstimator,
    SolvedEstimator,
)
from models.forecasting.filtering import MaskedSequences
from models.forecasting.fitting import Fitted, Method, Problem, solved_again
from models.forecasting.readouts.settings import GroupedSettings
from models.forecasting.season import Seasons
from models.runtime.parameters import MOST_UNITS, number, whole_number
from models.runtime.seeding import Generators


def whole_numbers(name: str, given: Any) -> list[int]:
    """Returns one whole number of at least 1, or several, in an array say. Raises TypeError or ValueError for anything
    else."""
    given = given.tolist() if isinstance(given, np.ndarray) else given
    numbers = [given] if not isinstance(given, Sequence) or isinstance(given, str | bytes) else list(given)
    if not numbers:
        raise ValueError(f"{name} is empty; give at least one number")
    return [whole_number(name, value) for value in numbers]


@dataclass(kw_only=True, eq=False, repr=False)
class UnitsEstimator(NetworkEstimator):
    """Is an estimator of a network whose one size is the number of its units."""

    units: int = 32

    _cell: ClassVar[type[LSTM | GRU | MinGRU]]

    def _method(self) -> Method:
        return self._cell(units=whole_number("units", self.units, most=MOST_UNITS))


@dataclass(kw_only=True, eq=False, repr=False)
class LSTMForecaster(UnitsEstimator):
    """Forecasts by long short-term memory, trained by gradient.

    units: the size of the state. epochs: of training; lags: recent rows that the readout sees beside the state.
    readout, direct: see `models.forecasting.estimators.recurrent.ReadoutEstimator`.
    The rest: see `models.forecasting.estimators.estimator.ForecastingEstimator`.
    """

    _cell = LSTM


@dataclass(kw_only=True, eq=False, repr=False)
class GRUForecaster(UnitsEstimator):
    """Forecasts by a gated recurrent unit, trained by gradient.

    units: the size of the state. epochs: of training; lags: recent rows that the readout sees beside the state.
    readout, direct: see `models.forecasting.estimators.recurrent.ReadoutEstimator`.
    The rest: see `models.forecasting.estimators.estimator.ForecastingEstimator`.
    """

    _cell = GRU


@dataclass(kw_only=True, eq=False, repr=False)
class MinGRUForecaster(UnitsEstimator):
    """Forecasts by two layers of minimal gated recurrent units, trained by gradient.

    units: the size of the state of a layer. epochs: of training; lags: recent rows that the readout sees beside the
    state. readout, direct: see `models.forecasting.estimators.recurrent.ReadoutEstimator`.
    The rest: see `models.forecasting.estimators.estimator.ForecastingEstimator`.
    """

    _cell = MinGRU


@dataclass(kw_only=True, eq=False, repr=False)
class EchoStateForecaster(SolvedEstimator):
    """Forecasts by a fixed random reservoir whose readout is solved.

    units: of the reservoir. spectral_radius: of its recurrent weights. leak: above 0, at most 1. input_scale: half the
    width of its input weights. lags: recent rows that the readout sees beside the state.
    readout, direct: see `models.forecasting.estimators.recurrent.ReadoutEstimator`.
    The rest: see `models.forecasting.estimators.estimator.ForecastingEstimator`.
    """

    units: int = 200
    spectral_radius: float = 0.9
    leak: float = 0.5
    input_scale: float = 0.5

    def _method(self) -> Method:
        leak = number("leak", self.leak)
        if leak > 1:
            raise ValueError(f"leak must be a number above 0 and at most 1, got {leak:g}")
        return EchoState(
            units=whole_number("units", self.units, most=MOST_UNITS), leak=leak,
            input_scale=number("input_scale", self.input_scale),
            spectral_radius=number("spectral_radius", self.spectral_radius),
        )  # fmt: skip


def refuse_blind(readout: Any) -> None:
    """Raises ValueError for a readout that sees no rows, above a model that has no state to see."""
    if isinstance(readout, GroupedSettings) and not (readout.lags or readout.traces):
        raise ValueError("readout has neither lags nor traces, and there is nothing else to see; give it either")


@dataclass(kw_only=True, eq=False, repr=False)
class NoStateForecaster(SolvedEstimator):
    """Forecasts by a regression on recent rows alone, beside which one sees what a state adds.

    lags: the rows that it sees; with 0 of them a linear readout forecasts the mean. readout: "kernel" makes a nonlinear
    autoregression of it; "grouped" sees at least one row, and so does direct.
    readout, direct: see `models.forecasting.estimators.recurrent.ReadoutEstimator`.
    The rest: see `models.forecasting.estimators.estimator.ForecastingEstimator`.
    """

    def _check(self) -> None:
        super()._check()
        if self.lags != "auto" and not self.lags and self._wants_rows():
            raise ValueError("lags is 0, and a readout in groups has nothing else to see; give at least 1")
        refuse_blind(self.readout)

    def _wants_rows(self) -> bool:
        return self.readout == "grouped" or (self.readout == "linear" and self.direct is not False)

    def choices(self, seasons: Seasons) -> Sequence[int]:
        """Returns the numbers of lags to choose from, without 0 where the readout wants a row; seasons: as above."""
        found = super().choices(seasons)
        return [lags for lags in found if lags] if self._wants_rows() else found

    def _method(self) -> Method:
        return NoState()


class ChosenAhead(MethodWithReadout):
    """Is a forecaster whose method has several candidates, of which forecasts of 1 to 24 steps choose one."""

    @abstractmethod
    def _candidates(self, problem: Problem) -> list[Fitted]:
        """Returns the models to choose from, of nearly equal ones the one to take first."""

    def _alone(self, problem: Problem, *, leads: int) -> Fitted:
        return least_ahead(self._candidates(problem), problem.validation, leads=leads)

    def _solved_again(self, model: Any, chosen: Mapping[str, Any], problem: Problem) -> Any:
        return solved_again(self._method(), model, chosen, problem)


@dataclass(kw_only=True, eq=False, repr=False)
class KalmanForecaster(ChosenAhead):
    """Forecasts by a Kalman filter that subspace identification finds.

    blocks: rows of past and of future that states are found from, a number or several to choose from. orders: sizes of
    the state to choose from, beside the largest one. Both are chosen by forecasts of 1 to 24 steps. readout, direct:
    see `models.forecasting.estimators.recurrent.ReadoutEstimator`; such a readout sees 4 rows beside the state.
    The rest: see `models.forecasting.estimators.estimator.ForecastingEstimator`.
    """

    blocks: Any = (2, 4)
    orders: Any = (2, 4, 8, 16, 32, 64)

    def _method(self) -> KalmanFilter:
        blocks, orders = (sorted(whole_numbers(name, getattr(self, name))) for name in ("blocks", "orders"))
        return KalmanFilter(blocks=blocks, orders=orders)

    def _candidates(self, problem: Problem) -> list[Fitted]:
        return self._method().candidates(problem)


@dataclass(kw_only=True, eq=False, repr=False)
class VARForecaster(ChosenAhead):
    """Forecasts by a vector autoregression with a ridge.

    orders: numbers of recent rows that the next one is a linear map of, one or several to choose from; those that the
    data are too short for are left out. Order and ridge are chosen together, by forecasts of 1 to 24 steps. readout,
    direct: see `models.forecasting.estimators.recurrent.ReadoutEstimator`; such a readout sees as many rows, and 4 at
    least.
    The rest: see `models.forecasting.estimators.estimator.ForecastingEstimator`.
    """

    orders: Any = (1, 2, 4, 8, 16, 24)

    def _check(self) -> None:
        super()._check()
        refuse_blind(self.readout)

    def _context(self, train: MaskedSequences, *, seasons: Seasons, held_out: int) -> int:
        """Returns how many rows before the validation part are asked for: those of the longest order too."""
        return max(*whole_numbers("orders", self.orders), super()._context(train, seasons=seasons, held_out=held_out))

    def _method(self) -> VAR:
        return VAR(orders=sorted(whole_numbers("orders", self.orders)), ridges=list(RIDGES))

    def _candidates(self, problem: Problem) -> list[Fitted]:
        return self._method().candidates_of_every_ridge(problem)


@dataclass(kw_only=True, eq=False, repr=False)
class SeasonalNaiveForecaster(MethodEstimator):
    """Forecasts the value of a season before.

    season: in rows; None finds it in the columns that are not known ahead, and `fit` raises ValueError where none is
    clear. The rest: see `models.forecasting.estimators.estimator.ForecastingEstimator`.
    """

    sees_season = sees_units = solves_again = False

    def _method(self) -> Method:
        return Seasonal(season=season_of(self))

    def _model(
        self, train: MaskedSequences, validation: MaskedSequences, generators: Generators, *, leads: int,
        seasons: Seasons,
    ) -> Fitted:  # fmt: skip
        del validation, generators, leads
        season = check_season_found(seasons.clear)
        return Fitted(seasonal_naive(train, season), {"season": season})

    def _context(self, train: MaskedSequences, *, seasons: Seasons, held_out: int) -> int:  # noqa: ARG002
        """Returns how many rows before the validation part are asked for: a season."""
        return check_season_found(seasons.clear)


@dataclass(kw_only=True, eq=False, repr=False)
class LastValueForecaster(MethodEstimator):
    """Forecasts the last value. Its parameters are those of `models.forecasting.estimators.estimator`."""

    sees_season = sees_units = solves_again = False

    def _method(self) -> Method:
        return LastValue()
