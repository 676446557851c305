"""What a forecaster learns from its data: a model with its units, a held-out part, and errors beside naive ones."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from models.forecasting.burn_in import settle_start_up
from models.forecasting.estimators.checks import season_of
from models.forecasting.estimators.covariates import Columns, columns_of
from models.forecasting.estimators.following import check_goes_on
from models.forecasting.estimators.held_out import (
    HeldOut,
    cut,
    forecasts_from,
    origins_of,
    rows_of,
    scored_parts,
    spacing_of,
)
from models.forecasting.estimators.input import Form, Group, Rows, of_labels
from models.forecasting.estimators.own_units import finite_units, unchanged_first, with_own_units
from models.forecasting.estimators.row_checks import check_rows, check_season, is_uneven, say_uneven
from models.forecasting.estimators.series_behind import FarBehind, far_behind, said_of_series, series_of
from models.forecasting.estimators.unlike_series import check_levels, say_unlike_spreads, say_unlike_steps
from models.forecasting.filtering import MaskedSequences
from models.forecasting.forecaster import Forecaster
from models.forecasting.held_out import naive_forecasts, truths
from models.forecasting.known_ahead import from_first, observed_columns
from models.forecasting.naive_ahead import NaiveAhead, naive_ahead, said_of_naive
from models.forecasting.recurrent import Recurrent
from models.forecasting.season import Seasons, find_seasons
from models.forecasting.series import FIRST_SCORED, standardised
from models.numerics.standardisation import Standardisation
from models.numerics.ties import NEAR_TIE
from models.runtime.seeding import generators_of
from models.runtime.threads import threads_for

CONTEXT = 256  # rows before the held-out part, at least, that its state and its lags come from
COMPARED = 24  # steps ahead over which the model is compared with naive forecasts
BEFORE = "season before"  # the naive forecast that is there where the data reach back so far
DIVERGED = 2.0  # times the error of the mean, from which on a forecast is said to diverge


class Learnt(NamedTuple):
    """Holds what `fit` finds.

    forecaster: the model with its units; its columns are `Columns.names`. columns: their roles. labels: of the data, in
    its own order. form: in which the data came. held_out: what the model was not fitted to. chosen: by that part.
    residuals: `residuals` for as many steps as are compared, and errors: mean squares of them in standard deviations.
    season: in rows, of the naive forecast; None where there is none. uneven: whether the rows were. ahead: where
    a naive forecast is clearly better, and behind: in which series the model is far behind one; neither is written to
    disk. held_out_from: the forecaster that residuals are of, where another one was fitted to the held-out rows too.
    """

    forecaster: Forecaster
    columns: Columns
    labels: tuple[Any, ...]
    form: Form
    held_out: list[HeldOut]
    chosen: Mapping[str, Any]
    residuals: np.ndarray
    errors: Mapping[str, np.ndarray]
    season: int | None
    uneven: bool = False
    ahead: Sequence[NaiveAhead] = ()
    behind: Sequence[FarBehind] = ()
    held_out_from: Forecaster | None = None

    def say(self, standardise: str) -> None:
        """Warns where a naive forecast has the smaller error over the steps compared, or a clearly smaller one at
        some, where the model is far behind one in single series, and where nothing was scored.

        standardise: "all" or "each", by which the model was fitted.
        """
        if np.isnan(self.errors["model"]).all():
            warnings.warn(
                "nothing of the validation part could be scored, so that the model was compared with no naive "
                "forecast; give fewer gaps at the end, or a larger validation",
                stacklevel=4,
            )
            return
        means = {name: float(np.nanmean(errors)) for name, errors in self.errors.items()}
        ours = means.pop("model")
        name, least = min(means.items(), key=lambda pair: pair[1])
        if not np.isfinite(ours):
            warnings.warn("the forecasts of the validation part diverge; take other parameters", stacklevel=4)
        elif least * NEAR_TIE < ours:
            steps = len(self.errors["model"])
            warnings.warn(
                f"on the validation part a naive forecast ({name}) is better than this model over 1 to {steps} steps: "
                f"mean squared error {least:.3g}, not {ours:.3g}, in standard deviations{self._diverging()}; try other "
                "parameters or that",
                stacklevel=4,
            )
        elif self.ahead:
            warnings.warn(said_of_naive(self.ahead, len(self.errors["model"])), stacklevel=4)
        if self.behind:
            said = said_of_series(self.behind, len(self.errors["model"]), standardise=standardise)
            warnings.warn(said, stacklevel=4)

    def say_beyond(self, horizon: int) -> None:
        """Warns of a horizon beyond `COMPARED`, up to which errors are measured where the validation part is long
        enough."""
        measured = len(self.errors["model"])
        if horizon > COMPARED:
            warnings.warn(
                f"no error was measured beyond {measured} step{'s' * (measured > 1)} ahead (validation_errors_), and "
                f"{horizon} are asked for; predict_interval or backtest of {horizon} steps measures them, where there "
                "are enough rows",
                stacklevel=3,
            )

    def _diverging(self) -> str:
        """Returns words about the first step at which the model has more than `DIVERGED` times the error of the mean;
        none where there is none."""
        steps = np.flatnonzero(self.errors["model"] > DIVERGED * mean_errors(self)) + 1
        return f"; {steps[0]} steps ahead it diverges, beyond {DIVERGED:g} times that of the mean" if len(steps) else ""


def learn(estimator: Any, rows: Rows) -> tuple[Learnt, list[Group]]:
    """Returns what an estimator with checked parameters learns from the rows, and the series as it takes them.

    Raises ValueError for data that it cannot be fitted to.
    """
    columns, groups = checked_columns(estimator, rows)
    if estimator.standardise == "each":
        unlike, groups = False, with_own_units(groups, columns, share=estimator.validation)
    else:
        off = "forecasts and intervals" if estimator.sees_units else "intervals"
        unlike = say_unlike_spreads(groups, columns.targets, rows.form, share=estimator.validation, off=off)
    parts = cut_parts(estimator, columns, groups)
    forecaster, chosen = fitted_forecaster(estimator, columns, parts)
    uneven = any(map(is_uneven, groups))
    learnt = Learnt(
        forecaster, columns, rows.labels, rows.form, parts.held_out, chosen, np.empty((0, 0, 0)), {},
        parts.seasons.shortest, uneven,
    )  # fmt: skip
    return compared_with_naive(learnt, [] if unlike else [group.key for group in groups]), groups


def checked_columns(estimator: Any, rows: Rows) -> tuple[Columns, list[Group]]:
    """Returns the roles of the columns, and the series with the columns that have one. Raises ValueError for data that
    cannot be fitted to."""
    season = season_of(estimator)
    columns = columns_of(
        rows, target=estimator.target, covariates=estimator.covariates, calendar=estimator.calendar,
        season=season if estimator.sees_season else None,
    )  # fmt: skip
    groups = of_labels(rows, columns.labels)
    check_levels(rows)
    check_rows(groups, columns, estimator.validation)
    check_goes_on(columns, groups, rows.form.grouping)
    say_uneven(groups, columns, rows.form.grouping, stacklevel=6)
    say_unlike_steps(groups, rows.form.grouping)
    check_season(groups, season or 0, estimator.validation)
    return columns, groups


class CutParts(NamedTuple):
    """Holds the units of the rows fitted to, these rows in them, the rows held out in units of the data, or of each
    series where it has its own, and the seasons, given or found in the rows fitted to."""

    units: Standardisation
    train: MaskedSequences
    held_out: list[HeldOut]
    seasons: Seasons


def cut_parts(estimator: Any, columns: Columns, groups: Sequence[Group]) -> CutParts:
    """Returns the parts of the series. Raises ValueError for values whose standard deviation is not finite."""
    series = [rows_of(columns, group) for group in groups]
    fitted_to = [cut(part, share=estimator.validation, context=0)[0] for part in series]
    units = finite_units(fitted_to)
    if groups[0].units is not None:
        units = unchanged_first(units, len(columns.observed))
    seen = [from_first(part, columns.leads) for part in fitted_to]
    train = standardised(seen, units, first_step=FIRST_SCORED)
    given = season_of(estimator)
    seasons = Seasons(given, given) if given else find_seasons(observed_columns(train, columns.leads))
    longest = max(len(part) for part in series)
    wanted = estimator._context(train, seasons=seasons, held_out=round(estimator.validation * longest))
    context = max(CONTEXT, seasons.shortest or 0, wanted)
    held_out = [cut(part, share=estimator.validation, context=context)[1] for part in series]
    return CutParts(units, train, held_out, seasons)


def fitted_forecaster(estimator: Any, columns: Columns, parts: CutParts) -> tuple[Forecaster, Mapping[str, Any]]:
    """Returns the model fitted to the parts, with its units, and what the part held out chose."""
    seen = [part._replace(rows=from_first(part.rows, columns.leads)) for part in parts.held_out]
    validation = scored_parts(seen, parts.units, columns=len(columns.targets))
    generators = generators_of(estimator.seed)
    fitted = estimator._model(parts.train, validation, generators, leads=columns.leads, seasons=parts.seasons)
    if isinstance(fitted.model, Recurrent):
        with threads_for(fitted.model):
            settle_start_up(fitted.model, parts.train)
    units = parts.units
    return Forecaster(fitted.model, mean=units.mean, scale=units.scale, feature_names=columns.names), fitted.chosen


def residuals(learnt: Learnt, horizon: int) -> np.ndarray:
    """Returns truth − forecast (forecast, horizon, target) of forecasts of the held-out part, in units of `HeldOut`;
    NaN where nothing was observed.

    Raises ValueError where a forecast diverges.
    """
    found = learnt.residuals[:, :horizon]
    if horizon > found.shape[1]:
        with threads_for(learnt.forecaster.model):
            found = errors_of(learnt, horizon)["model"]
    diverges = np.isinf(found).any((0, 2))
    if diverges.any():
        step = int(np.argmax(diverges)) + 1
        raise ValueError(
            f"a forecast of the validation part diverges {step} step{'s' * (step > 1)} ahead, so that its errors tell "
            "nothing from there on; ask for fewer steps, or fit another model"
        )
    return found


def errors_of(learnt: Learnt, horizon: int) -> dict[str, np.ndarray]:
    """Returns truth − forecast (forecast, horizon, target), NaN where not scored, of model and naive forecasts; that of
    a forecast that is not a number is infinite."""
    targets = len(learnt.columns.targets)
    forecaster = learnt.held_out_from or learnt.forecaster
    errors: dict[str, list[np.ndarray]] = {}
    for part in learnt.held_out:
        origins = origins_of(part)
        if not len(origins):
            continue
        truth = truths(part.rows, origins, horizon, targets)
        ours = forecasts_from(forecaster, learnt.columns, part.rows, origins, horizon)
        forecasts = {
            "model": np.where(np.isnan(ours), np.inf, ours),
            "last value": naive_forecasts(part.rows, origins, horizon, targets=targets, season=1),
        }
        if learnt.season is not None:
            forecasts[BEFORE] = naive_forecasts(part.rows, origins, horizon, targets=targets, season=learnt.season)
        for name, ahead in forecasts.items():
            errors.setdefault(name, []).append(truth - ahead)
    joined = {name: np.concatenate(parts) for name, parts in errors.items()}
    return {name: own for name, own in joined.items() if name != BEFORE or not np.isnan(own).all()}


def compared_with_naive(learnt: Learnt, keys: Sequence[Any]) -> Learnt:
    """Returns it with its residuals, and the mean squared errors of model and naive forecasts over the same entries.
    keys: of the series; none where these are not to be compared one by one."""
    longest = max(len(part.rows) - part.first for part in learnt.held_out)
    horizon = max(1, min(COMPARED, longest // 2))
    with threads_for(learnt.forecaster.model):
        residuals = errors_of(learnt, horizon)
    scale = learnt.forecaster.scale[: len(learnt.columns.targets)].cpu().numpy()
    naive = [name for name in residuals if name != "model"]
    scored = np.logical_and.reduce([~np.isnan(residuals[name]) for name in naive])
    scaled = {name: part / scale for name, part in residuals.items()}
    errors = {name: _mean_square(part, scored) for name, part in scaled.items()}
    spacing = np.concatenate([spacing_of(part) for part in learnt.held_out])
    ahead = naive_ahead(scaled, scored, learnt.columns.targets, spacing=spacing)
    series = series_of(learnt.held_out, keys, scale) if keys else []
    behind = far_behind(scaled, scored, series, learnt.columns.targets)
    return learnt._replace(residuals=residuals["model"], errors=errors, ahead=ahead, behind=behind)


def mean_errors(learnt: Learnt) -> np.ndarray:
    """Returns the mean squared error of the mean of the part fitted to, (horizon,), on the held-out part, for the steps
    compared."""
    targets = len(learnt.columns.targets)
    mean, scale = (part[:targets].cpu().numpy() for part in (learnt.forecaster.mean, learnt.forecaster.scale))
    horizon = len(learnt.errors["model"])
    parts = [truths(part.rows, origins_of(part), horizon, targets) for part in learnt.held_out]
    deviations = (np.concatenate(parts) - mean) / scale
    return _mean_square(deviations, ~np.isnan(deviations))


def _mean_square(residual: np.ndarray, scored: np.ndarray) -> np.ndarray:
    """Returns the mean square of the scored residuals (forecast, horizon, feature) for each horizon, (horizon,); NaN
    where nothing is scored."""
    counts = scored.sum((0, 2))
    squared = np.where(scored, np.square(residual), 0.0)
    return np.where(counts > 0, squared.sum((0, 2)), np.nan) / np.maximum(counts, 1)
