"""Estimators whose model has a readout of state and recent observations: lags, readouts in groups, and training by
gradient."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from models.forecasting.burn_in import settle_start_up
from models.forecasting.errors_ahead import error_ahead_of, least_ahead
from models.forecasting.estimators.checks import check_lags
from models.forecasting.estimators.estimator import ForecastingEstimator
from models.forecasting.filtering import MaskedSequences
from models.forecasting.fitting import Fitted, Method, Problem
from models.forecasting.lags import MOST_INPUTS, takes_lags
from models.forecasting.lags_ahead import settle_ahead
from models.forecasting.readout import ReadoutFit
from models.forecasting.readout_settings import ReadoutSettings
from models.forecasting.readouts.fit import fit_grouped, reachable
from models.forecasting.readouts.settings import GroupedSettings
from models.forecasting.recurrent import Recurrent
from models.forecasting.season import Seasons
from models.forecasting.training import Descent, train_by_gradient
from models.runtime.parameters import MOST_EPOCHS, one_of, shown, whole_number
from models.runtime.seeding import Generators
from models.runtime.threads import threads_for

RIDGES = (1e-3, 1.0, 1e2, 1e4)  # of lags, and of the state; all pairs are tried
LAGS = (0, 1, 2, 4, 8, 16, 24)
READOUTS = ("linear", "grouped", "kernel")
KERNEL = GroupedSettings(lags=4, count=400, bandwidth=1.5, whiten=0.5)
OF_COMMANDS = {"auto": 'lags="auto"', "skip": "lags=2, say"}  # readouts of the command line, as they are written here
DIRECT = 24  # steps ahead that have a regression of their own, where the number is left open
READOUT = ReadoutSettings(0, RIDGES, "none", RIDGES)  # of the state alone, before lags are chosen


def lag_choices(season: int | None) -> Sequence[int]:
    """Returns the numbers of lags that are tried: those of `LAGS`, and one, two and four seasons. season: in rows; None
    where there is none."""
    return sorted({*LAGS, *([] if season is None else [season, 2 * season, 4 * season])})


@dataclass(kw_only=True, eq=False, repr=False)
class ReadoutEstimator(ForecastingEstimator):
    """Is an estimator whose finished model may get a readout in groups above it.

    readout: "linear", that of the model itself; "grouped", state and rows in standardised columns with a ridge for
    each, fitted above the finished model; "kernel", random features of the rows beside them, 4 of them at least; or a
    `models.forecasting.readouts.settings.GroupedSettings`, which says all of it, the rows too. direct: True, or up to
    how many steps ahead each has a regression of its own, used where it is better on the validation part than feeding
    predictions back, or these grow soon after; a linear readout is then a grouped one, and False leaves settings as
    they are. Where one map is fed back for all steps its ridges are larger than those of least one-step error, if
    forecasts of 1 to 24 steps are better then. `direct` does not go with columns that are known ahead. True goes as far
    as the series allows, 24 steps at most; fitting raises ValueError for a number that is further than it allows.
    """

    readout: str | GroupedSettings = "linear"
    direct: bool | int = False

    def _check(self) -> None:
        if not isinstance(self.readout, GroupedSettings):
            self._refuse_name_of_command()
            one_of("readout", self.readout, READOUTS)
        if not isinstance(self.direct, bool):
            whole_number("direct", self.direct)

    def _refuse_name_of_command(self) -> None:
        """Raises ValueError for a readout that the command line has and that is a number of lags here."""
        written = OF_COMMANDS.get(self.readout) if isinstance(self.readout, str) and hasattr(self, "lags") else None
        if written:
            raise ValueError(
                f"readout must be one of {', '.join(READOUTS)}, got {shown(self.readout)}, which is the command line's "
                f"name for {written}; give that, and leave readout out"
            )

    def _steps(self) -> bool | int:
        """Returns `direct`, or the settings' own where it is False and they ask for more than the next step."""
        own = self.readout.direct if isinstance(self.readout, GroupedSettings) else 1
        return own if self.direct is False and own > 1 else self.direct

    def _context(self, train: MaskedSequences, *, seasons: Seasons, held_out: int) -> int:
        """Returns how many rows before the validation part are asked for: those that settings of a readout read."""
        own = int(self.readout.lags) if isinstance(self.readout, GroupedSettings) else 0
        return max(own, super()._context(train, seasons=seasons, held_out=held_out))

    def _grouped(self, model: Any, validation: MaskedSequences) -> GroupedSettings:
        """Returns the readout to put above the model."""
        furthest, steps = int(validation.scored.any(2).sum(1).max()) // 2, self._steps()
        direct = max(1, min(DIRECT if steps is True else max(1, steps), furthest))
        if isinstance(self.readout, GroupedSettings):
            return replace(self.readout, direct=direct)
        of_rows = KERNEL if self.readout == "kernel" else GroupedSettings()
        own = model.lags if isinstance(model, Recurrent) else max(of_rows.lags, int(getattr(model, "history", 0)))
        return replace(of_rows, lags=max(own, of_rows.lags) if of_rows.count else own, direct=direct)

    def _refuse_too_far(self, model: Any, solve: ReadoutFit, settings: GroupedSettings) -> None:
        """Raises ValueError where regressions were asked for further ahead than the parts have rows for."""
        steps = self._steps()
        if isinstance(steps, bool):
            return
        history = max(settings.lags, int(getattr(model, "history", 0)))
        reach = reachable(solve.train, solve.validation, history=history, most=settings.direct)
        if 0 < reach < steps:
            raise ValueError(
                f"direct={steps} is further ahead than this series has rows to fit and to validate: {reach} "
                f"step{'s' * (reach > 1)} at most; lower direct, or give a longer series"
            )

    def _finished(self, fitted: Fitted, solve: ReadoutFit, generators: Generators, *, leads: int) -> Fitted:
        """Returns the model beneath the readout asked for, its start-up settled; as it is with a linear one.

        solve: has the two parts. Raises ValueError for direct forecasts of columns beside which others are known, and
        for those further ahead than the parts have rows for.
        """
        if self.readout == "linear" and self.direct is False:
            return fitted
        if leads and self._steps() is not False:
            raise ValueError(
                "direct forecasts take nothing that is known ahead: leave out direct, or covariates, calendar, season"
            )
        model: Any = fitted.model
        with threads_for(model):
            if isinstance(model, Recurrent):
                settle_start_up(model, solve.train)
            asked = self._grouped(model, solve.validation)
            self._refuse_too_far(model, solve, asked)
            found = fit_grouped(model, solve.train, solve.validation, asked, generators, leads=leads)
        return Fitted(found.model, {**fitted.chosen, **found.chosen})


@dataclass(kw_only=True, eq=False, repr=False)
class RecurrentEstimator(ReadoutEstimator):
    """Is an estimator whose readout sees the model's state and the last `lags` rows.

    lags: a number, 0 for the state alone, or "auto", by which the validation part chooses it. readout, direct: see
    `ReadoutEstimator`; a linear readout has one ridge for the state and one for the rows.
    """

    lags: Any = "auto"

    def choices(self, seasons: Seasons) -> Sequence[int]:
        """Returns the numbers of lags to choose from; seasons: those of the part fitted to."""
        return lag_choices(seasons.shortest) if self.lags == "auto" else [int(self.lags)]

    def _context(self, train: MaskedSequences, *, seasons: Seasons, held_out: int) -> int:
        """Returns how many rows before the validation part are asked for.

        To be tried, lags need twice as many rows: a number of them in the context alone; those to choose from, but for
        the largest, together with the held-out part.
        """
        others = super()._context(train, seasons=seasons, held_out=held_out)
        if self.lags != "auto":
            return max(others, 2 * int(self.lags))
        *_, wanted, _ = self.choices(seasons)
        return max(others, 2 * min(wanted, MOST_INPUTS // train.values.shape[2]) - held_out)

    def _check(self) -> None:
        check_lags(self.lags)
        super()._check()


def trained(
    fitted: Fitted, solve: ReadoutFit, *, epochs: int, descent: Descent, generators: Generators, leads: int
) -> Fitted:
    """Returns the model after so many epochs of training by gradient, its lags as they were chosen.

    Training keeps the ridges, and the epoch whose forecasts of 1 to 24 steps have the least error on the validation
    part. Then the ridges are chosen anew (`settled_anew`).
    solve: has the two parts, and the readout that was asked for. leads: how many of the last columns are known ahead.
    """
    model: Any = fitted.model
    if not epochs or not isinstance(model, Recurrent):
        return fitted
    settings = solve.settings.with_lags(model.lags).only(fitted.chosen)
    with threads_for(model):
        errors = train_by_gradient(
            model, ReadoutFit(solve.train, solve.validation, settings), epochs=epochs, descent=descent,
            generator=generators("order"), error=partial(error_ahead_of, model, solve.validation, leads=leads),
        )  # fmt: skip
        settled = settled_anew(Fitted(model, fitted.chosen), solve, leads=leads)
    return Fitted(settled.model, {**settled.chosen, "epochs": errors.index(min(errors))})


def settled_anew(fitted: Fitted, solve: ReadoutFit, *, leads: int) -> Fitted:
    """Returns the model with the ridges that its forecasts of 1 to 24 steps prefer now that its state is another one,
    or as it is where they are nearly as good so. A model that takes no lags stays as it is.

    solve, leads: as for `trained`.
    """
    if not takes_lags(fitted.model):
        return fitted
    again = settle_ahead(fitted, solve, [fitted.model.lags], leads=leads)
    if again.chosen.items() <= fitted.chosen.items():
        return fitted
    return least_ahead([fitted, again], solve.validation, leads=leads)


@dataclass(kw_only=True, eq=False, repr=False)
class MethodEstimator(ForecastingEstimator):
    """Is an estimator of a model that is found in closed form."""

    @abstractmethod
    def _method(self) -> Method:
        """Returns what fits the model. Raises ValueError or TypeError for parameters that make no sense."""

    def _check(self) -> None:
        self._method()

    def _model(
        self, train: MaskedSequences, validation: MaskedSequences, generators: Generators, *, leads: int,
        seasons: Seasons,
    ) -> Fitted:  # fmt: skip
        del leads, seasons
        return self._method().fit(Problem(train, validation, READOUT, generators("weights")))


@dataclass(kw_only=True, eq=False, repr=False)
class MethodWithReadout(ReadoutEstimator, MethodEstimator):
    """Is a `MethodEstimator` whose model may get a readout in groups above it."""

    def _check(self) -> None:
        super()._check()
        self._method()

    def _alone(self, problem: Problem, *, leads: int) -> Fitted:
        """Returns the model without the readout in groups."""
        del leads
        return self._method().fit(problem)

    def _model(
        self, train: MaskedSequences, validation: MaskedSequences, generators: Generators, *, leads: int,
        seasons: Seasons,
    ) -> Fitted:  # fmt: skip
        del seasons
        fitted = self._alone(Problem(train, validation, READOUT, generators("weights")), leads=leads)
        return self._finished(fitted, ReadoutFit(train, validation, READOUT), generators, leads=leads)


@dataclass(kw_only=True, eq=False, repr=False)
class SolvedEstimator(RecurrentEstimator):
    """Is an estimator of a model that is drawn, or has nothing to draw, and whose readout is solved."""

    @abstractmethod
    def _method(self) -> Method:
        """Returns what draws the model. Raises ValueError or TypeError for parameters that make no sense."""

    def _check(self) -> None:
        super()._check()
        self._method()

    def _settled(self, solve: ReadoutFit, generators: Generators, *, leads: int, seasons: Seasons) -> Fitted:
        """Returns the model with the lags and ridges that validation prefers."""
        drawn = self._method().fit(Problem(solve.train, solve.validation, READOUT, generators("weights")))
        with threads_for(drawn.model):
            return settle_ahead(drawn, solve, self.choices(seasons), leads=leads)

    def _model(
        self, train: MaskedSequences, validation: MaskedSequences, generators: Generators, *, leads: int,
        seasons: Seasons,
    ) -> Fitted:  # fmt: skip
        solve = ReadoutFit(train, validation, READOUT)
        settled = self._settled(solve, generators, leads=leads, seasons=seasons)
        return self._finished(settled, solve, generators, leads=leads)


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkEstimator(SolvedEstimator):
    """Is an estimator of a network: random weights, a readout solved on them, then `epochs` of training by gradient."""

    epochs: int = 20

    def _check(self) -> None:
        super()._check()
        whole_number("epochs", self.epochs, least=0, most=MOST_EPOCHS)

    def _model(
        self, train: MaskedSequences, validation: MaskedSequences, generators: Generators, *, leads: int,
        seasons: Seasons,
    ) -> Fitted:  # fmt: skip
        solve = ReadoutFit(train, validation, READOUT)
        fitted = self._settled(solve, generators, leads=leads, seasons=seasons)
        fitted = trained(fitted, solve, epochs=self.epochs, descent=Descent(), generators=generators, leads=leads)
        return self._finished(fitted, solve, generators, leads=leads)
