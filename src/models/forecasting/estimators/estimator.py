"""Forecasters in scikit-learn's manners: fit, predict, update; what all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.base import BaseEstimator

from models.forecasting.backtest import BacktestResult
from models.forecasting.estimators.asked_rows import MOST_STEPS
from models.forecasting.estimators.attributes import FittedAttributes
from models.forecasting.estimators.checks import check_coverage, check_shared_parameters
from models.forecasting.estimators.following import following, index_ahead, known_ahead, known_to_come
from models.forecasting.estimators.histories import in_order_of, read_histories
from models.forecasting.estimators.input import Form, Rows, handed_back, of_labels, read
from models.forecasting.estimators.learnt import learn
from models.forecasting.estimators.own_units import first_told, lack_units, units_of_rows, units_told_first
from models.forecasting.estimators.position import Position, forecast, moved, positions_of, say_short
from models.forecasting.estimators.refit import refitted
from models.forecasting.estimators.scores import backtested, interval_radii, intervals, one_step, skill
from models.forecasting.filtering import MaskedSequences
from models.forecasting.fitting import Fitted, Problem, readout_solved_again
from models.forecasting.season import Seasons
from models.runtime.parameters import path, whole_number, yes_or_no
from models.runtime.seeding import Generators
from models.runtime.threads import threads_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(kw_only=True, eq=False, repr=False)
class ForecastingEstimator(FittedAttributes, BaseEstimator, ABC):
    """Is what all forecasters share. They take tables of pandas, arrays (time, feature) or (time,), and lists of these.

    Rows are time steps of equal length and columns are features; NaN is a gap, which nothing is put into. A table
    whose index has two levels, group and time, holds several series that one model is fitted to. Columns go by their
    names, or those of an array by their order. Forecasts have the form of the data: a table with the index continued,
    or an array.

    Parameters are kept as they are given and checked in `fit`:

    * target: the column or columns to forecast; None takes all but the covariates. Other columns are observed too.
    * covariates: columns that are known ahead, such as a price that is announced; `predict` takes them as `known`.
    * calendar: "auto" or names of cycles that the model is told of: "minute" (of the hour), "hour" (of the day),
      "weekday", "monthday" and "yearday"; the index has to hold times.
    * season: in rows; the model is told where in it a row lies, and a naive forecast knows it. A row lies where its
      time or number says, if the index has even steps where it ends, or working days: a row that is missing moves no
      other. Else rows are counted, and other series than those fitted to have no place in the season.
    * validation: the share of each series, its end, that makes choices and intervals, and is not fitted to.
    * standardise: "all" gives each column one unit, its mean and standard deviation over all series; "each" gives each
      series its own, of the part of it that is fitted to (a column that is constant there: its mean and 1), in all
      columns but the covariates; `fit` refuses series with fewer than 10 values of a target there. Then errors of small
      series count as much as those of large ones, intervals are a common width times that unit, and `forecaster_`
      works in these units. A series of X has the units of the group of `fit` with its name; where `fit` had one series
      without a name, an X that is no list and has no names has those of that one. Any other has those of its own rows,
      of 10 values of a target at least that are not all alike, and one of another column: of all rows in `predict`,
      in `backtest` of those before the first forecast, and in `predict_one_step` and `score` of as many first rows.
    * refit: True solves the readout, or a model that is found in closed form, again on all rows, the validation part
      too, with the lags, ridges and orders that this part chose. Units, `validation_errors_` and the widths of
      intervals stay those of the model before. It goes with `readout="linear"` and without `direct`.
    * seed: of everything that is drawn.

    After `fit`: `forecaster_`, the model with its units; `history_`, how many rows it wants; `chosen_`, what the
    validation part chose; `validation_errors_`, the mean squared error of the forecasts of the validation part by
    horizon, in standard deviations, of this model and of naive ones.
    """

    target: Any = None
    covariates: Any = None
    calendar: Any = None
    season: int | None = None
    validation: float = 0.1
    standardise: str = "all"
    refit: bool = False
    seed: int = 0
    sees_season: ClassVar[bool] = True  # whether the model is told where in its season a row lies
    sees_units: ClassVar[bool] = True  # whether the units of the columns change its forecasts
    solves_again: ClassVar[bool] = True  # whether `refit` has something to solve

    @abstractmethod
    def _check(self) -> None:
        """Raises ValueError or TypeError, in one line, for a parameter that makes no sense."""

    @abstractmethod
    def _model(
        self, train: MaskedSequences, validation: MaskedSequences, generators: Generators, *, leads: int,
        seasons: Seasons,
    ) -> Fitted:  # fmt: skip
        """Returns the model fitted to standardised sequences, and what the validation part chose. leads: how many of
        the last columns are known ahead. seasons: those of the part fitted to."""

    def _context(self, train: MaskedSequences, *, seasons: Seasons, held_out: int) -> int:  # noqa: ARG002
        """Returns how many rows before the validation part, of `held_out` rows, the parameters ask for."""
        return 0

    def _solved_again(self, model: Any, chosen: Mapping[str, Any], problem: Problem) -> Any:
        """Returns the model solved again on all rows, standardised, with what was chosen."""
        return readout_solved_again(model, chosen, problem)

    def fit(self, X: Any, y: None = None) -> Self:  # noqa: ARG002
        """Fits the model to one series or several, and returns the estimator.

        X: see the class. y is there for scikit-learn's sake and left aside. Where a naive forecast, the last value or
        that of a season before, is better on the validation part, over all steps or clearly so at some, a `UserWarning`
        says so, also for single ones of several series; so does one where the times or numbers of the index are uneven,
        or its dates are texts, and where series differ in their steps, or one has little spread beside the others.
        Raises TypeError and ValueError, in one line, for parameters and data that make no sense; what was fitted
        before is then still there.
        """
        self._fit_to(read(X))
        return self

    def _fit_to(self, rows: Rows) -> None:
        check_shared_parameters(self)
        self._check()
        learnt, groups = learn(self, rows)
        learnt = refitted(self, learnt, groups) if self.refit else learnt
        positions = positions_of(learnt.forecaster, learnt.columns, groups)
        learnt.say(self.standardise)  # may raise, where warnings are errors
        self._learnt, self._positions, self._all_rows = learnt, positions, rows

    def predict(self, horizon: int, X: Any = None, *, known: Any = None) -> Any:
        """Returns the forecast of the `horizon` rows after the last one, in the units and the form of the data.

        X: other series to go on from, whole histories with the columns of `fit` (an array has them in its order); None
        goes on from the rows of `fit` and `update`. known: the covariates of the rows to come, `horizon` rows a series,
        as a table, or as an array, which has the order of `covariates` and not that of the table.
        Times and numbers of a table's index go on by their step, in their own zone. Working days of which some are
        missing go on from Monday to Friday, and uneven periods are the next ones, or both those of `known`; after other
        uneven times the rows count 1, 2, …. A `UserWarning` tells of series of X that are uneven where `fit` had even
        ones, of another step, of no times where it had them, or less than `history_`, and of more than 24 steps, whose
        errors `fit` did not measure; of a short series it measured fewer (`validation_errors_`). Raises TypeError and
        ValueError for a horizon that is no whole number of at least 1, other columns, other rows of `known`, and where
        X tells no calendar or season to come: then times with and without a zone (`fit`, X) do not go together.
        """
        learnt, ahead = self._fitted(), whole_number("horizon", horizon, most=MOST_STEPS)
        forecasts = self._ahead(ahead, *self._positions_of(None if X is None else self._histories(X)), known)
        learnt.say_beyond(ahead)
        return forecasts

    def _ahead(self, horizon: int, positions: Mapping[Any, Position], form: Form, known: Any) -> Any:
        """Returns the forecasts from some positions, in the form of the data, see `predict`."""
        forecaster, columns, forecasts = self._fitted().forecaster, self._fitted().columns, []
        covariates = known_ahead(known, columns.known, positions, horizon, form)
        indices = [index_ahead(positions[key].tail, horizon, covariates[key].index) for key in positions]
        with threads_for(forecaster.model):
            for key, position in positions.items():
                to_come = known_to_come(columns, position, covariates[key].values)
                forecasts.append(forecast(forecaster, columns, position, to_come))
        return handed_back(forecasts, list(positions), indices, columns.targets, form)

    def _histories(self, data: Any) -> Rows:
        return read_histories(data, self._fitted(), self._positions)

    def _with_units(self, rows: Rows, *, first: int | None = None) -> Rows:
        """Returns series of X with the units of their first rows, None: all, where each has units and lacks its own."""
        if not lack_units(rows.groups, self._positions):
            return rows
        return rows._replace(groups=units_of_rows(rows.groups, self._fitted().columns, first))

    def _told_first(self, rows: Rows) -> tuple[Rows, list[int]]:
        """Returns series of X with units, and how many first rows of each tell its own: 0 of those that `fit` knows."""
        least = first_told(self.history_, lack=lack_units(rows.groups, self._positions))
        groups, firsts = units_told_first(rows.groups, self._positions, self._fitted().columns, least)
        return rows._replace(groups=groups), firsts

    def _positions_of(self, rows: Rows | None) -> tuple[dict[Any, Position], Form]:
        learnt = self._fitted()
        if rows is None:
            return self._positions, learnt.form
        positions = positions_of(learnt.forecaster, learnt.columns, self._with_units(rows).groups)
        say_short(learnt.columns, rows.groups, self.history_, stacklevel=4)
        return positions, rows.form

    def predict_interval(self, horizon: int, coverage: float = 0.9, X: Any = None, *, known: Any = None) -> Any:
        """Returns the lower and the upper bound of intervals around the forecast that hold the truth with about the
        probability `coverage`.

        For a table it has two columns a target, NAME_lower and NAME_upper. For an array it is (horizon, target, 2), and
        for a vector (horizon, 2). The widths are split-conformal ones: quantiles of the errors of forecasts of the
        validation part, a width for each horizon and target (`models.forecasting.conformal` says what they promise).
        Raises ValueError as `predict` does, for a coverage that does not lie between 0 and 1, and where the validation
        part is too short for the coverage at this horizon.
        """
        learnt = self._fitted()
        check_coverage(coverage)
        whole_number("horizon", horizon, most=MOST_STEPS)
        radii = interval_radii(learnt, horizon, coverage)
        positions, form = self._positions_of(None if X is None else self._histories(X))
        return intervals(learnt, self._ahead(horizon, positions, form, known), positions.values(), radii)

    def update(self, new_rows: Any, *, refit: bool = False) -> Self:
        """Takes rows that follow those seen so far, and returns the estimator; forecasts then go on from the last one.

        The model stays as it was fitted and its state is moved on, in time that grows with the new rows alone. It is
        the state that filtering the whole series would give. All rows are kept too, for refit=True, which fits the
        model anew to them, and for `plot`: they are copied at each call. A model that was loaded from disk has none.
        new_rows: as in `fit`, with the same columns and groups; a group without new rows may be left out, and a list
        has a part for each series. After uneven times, where nothing tells the next row, a `UserWarning` says which
        begin after a clearly longer step than any before, if most steps are alike. Rows that do not follow raise
        ValueError and leave all as it was.
        """
        learnt = self._fitted()
        rows = read(new_rows, name="new_rows", labels=learnt.labels)
        rows = following(rows, learnt.form, self._positions)
        if yes_or_no("refit", refit):
            self._fit_to(self._with(rows))
            return self
        positions = dict(self._positions)
        with threads_for(learnt.forecaster.model):
            for group in of_labels(rows, learnt.columns.labels):
                positions[group.key] = moved(learnt.forecaster, learnt.columns, positions[group.key], group)
        all_rows = self._with(rows) if getattr(self, "_all_rows", None) is not None else None
        self._positions, self._all_rows = positions, all_rows
        return self

    def _with(self, rows: Rows) -> Rows:
        before = getattr(self, "_all_rows", None)
        if before is None:
            raise ValueError("this model was loaded and has no rows to fit anew to; call fit with all of them")
        return before.followed_by(rows)

    def predict_one_step(self, X: Any) -> Any:
        """Returns the prediction of each row of X from the rows before it, in the form of X, with its index.

        The first rows of a series, before which little was seen, are predicted by autoregressions of lower order or
        the mean, and are those that tell its unit where it has one of its own rows. Raises ValueError for other columns
        than those of `fit`, and for values too large to reckon with.
        """
        rows, learnt = self._told_first(self._histories(X))[0], self._fitted()
        keys, indices = zip(*((group.key, group.index) for group in rows.groups), strict=True)
        found = handed_back(one_step(learnt, rows), keys, indices, learnt.columns.targets, rows.form)
        return in_order_of(found, X, rows.form)

    def score(self, X: Any, y: None = None) -> float:  # noqa: ARG002
        """Returns the skill of one-step predictions of X over the last value: 1 − MSE / MSE of the last value.

        Both are mean squared errors of all targets over the entries that were observed, and were in the row before too,
        in standard deviations (`standardise` says of what), so that no unit outweighs another. 1 is perfect, 0 as good
        as the last value, and below 0 is worse: higher is better. Rows that tell the unit of a series that has that of
        its own rows are not scored. Raises ValueError for other columns, for values too large to be squared, and where
        nothing changes from row to row.
        """
        return skill(self._fitted(), *self._told_first(self._histories(X)))

    def backtest(self, X: Any, *, horizon: int = 24, first: int | None = None, step: int = 1) -> BacktestResult:
        """Returns forecasts from many rows of X beside what came, with the model as it is: see
        `models.forecasting.backtest`.

        X: series that the model was not fitted to. first: rows seen before the first forecast; None takes as many as
        the model wants to have seen, and 10 at least where a series has the units of its own rows. step: rows between
        one forecast and the next. The covariates of X are known. `.by_horizon()` of the result has the errors. Raises
        ValueError as `models.forecasting.backtest.backtest` does.
        """
        ahead, apart = whole_number("horizon", horizon, most=MOST_STEPS), whole_number("step", step)
        asked = None if first is None else whole_number("first", first)
        rows = self._histories(X)
        seen = asked or first_told(self.history_, lack=lack_units(rows.groups, self._positions))
        return backtested(self._fitted(), self._with_units(rows, first=seen), first=seen, step=apart, horizon=ahead)

    def plot(
        self, horizon: int, coverage: float | None = 0.9, *, known: Any = None, rows: int | None = None,
        ax: Axes | None = None,
    ) -> Axes:  # fmt: skip
        """Draws the end of the first series and its forecast, dashed, with a band, and returns the axes of matplotlib.

        coverage: of the band; None leaves it out. rows: how many of the last rows are drawn; None takes four times the
        horizon. ax: the axes to draw into; None makes a figure of pyplot. The legend stands beside the axes where
        the figure's layout makes room. Raises ValueError as `predict_interval` does.
        """
        from models.forecasting.estimators.figure import draw

        return draw(self, horizon, coverage, known=known, rows=rows, ax=ax)

    def save(self, folder: str | Path) -> None:
        """Writes the fitted model into a folder that is not there yet, as plain numbers and texts, without pickle.

        The folder is there as a whole or not at all. The rows that the model was fitted to are not in it, but for
        those of the validation part, which intervals are made from. Raises FileExistsError for a folder that is there
        and not empty.
        """
        from models.forecasting.estimators.files import save

        save(self, path("folder", folder))

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Returns the estimator that `save` wrote; nothing is unpickled and nothing in the folder is run.

        Raises FileNotFoundError where there is no such folder, and ValueError for one that another class wrote, or
        that is not as it was written.
        """
        from models.forecasting.estimators.files import load

        return load(cls, path("folder", folder))
