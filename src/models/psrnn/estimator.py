"""PSRNNs in scikit-learn's manners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from models.features.names import kernel_of, rule_of, sampler_of
from models.features.samplers import check_pair
from models.forecasting.estimators.recurrent import READOUT, RecurrentEstimator, trained
from models.forecasting.filtering import MaskedSequences
from models.forecasting.fitting import Fitted
from models.forecasting.lags_ahead import settle_ahead
from models.forecasting.readout import ReadoutFit
from models.forecasting.season import Seasons
from models.forecasting.training import Descent
from models.psrnn.features import FeatureDraw
from models.psrnn.fit import Regression, fit
from models.psrnn.kronecker import KroneckerPreconditioner
from models.psrnn.update import MEANINGS
from models.runtime.parameters import MOST_EPOCHS, MOST_UNITS, not_negative, number, numbers, one_of, whole_number
from models.runtime.seeding import Generators
from models.runtime.threads import threads_for

DAMPING = 0.01
WHITENING = 1e-4  # of the means that an update is divided by
MOST_DELAY = 100_000  # rows
MOST_WEIGHT = 1e6  # beside features that are at most 1


@dataclass(kw_only=True, eq=False, repr=False)
class PSRNNForecaster(RecurrentEstimator):
    """Forecasts by a predictive state recurrent network: random features, two-stage regression and a solved readout.

        forecaster = PSRNNForecaster().fit(table)
        forecaster.predict(24)

    * count: frequencies of each of the three feature maps, so that the state has 2·count numbers (and with `linear` as
      many more as a future has).
    * sampler: how the frequencies depend on one another, "orthogonal", "iid", "hadamard", "stratified",
      "near_orthogonal", "sobol" or a `models.features.samplers.Sampler`.
    * kernel: "gaussian", "laplacian", "laplacian_l1", "matern", "rational_quadratic" or one of
      `models.features.kernels`.
    * window: rows in a history and in a future.
    * bandwidth: of the kernel, "median_pairs", "median_neighbours", a number of standard deviations, or a
      `models.features.bandwidth.BandwidthRule`.
    * state_update: how the state takes a step, "bayes", "sign", "whitened" or "paper" (`models.psrnn.update`).
    * ridge: of both stages of the regression, on means.
    * epochs: of refinement by gradient after the regression; 0 leaves it as it is, and takes seconds.
    * history, future: rows of a history and of a future where they are not `window`.
    * delay: the last rows by which the state takes a step.
    * traces: time constants, in rows, of exponential traces that the history has beside its rows.
    * whiten: windows are taken times the power −whiten/2 of their covariance (0.5 is half-whitened).
    * linear: the weight of the windows themselves beside their features.
    * projection: the number of directions kept of the features, which the state then has in place of 2·count; None
      keeps all.
    * whitening: κ of the state updates "bayes" and "whitened", on means; the others have none.
    * lags: recent rows that the readout sees beside the state, "auto" or a number.
    * readout: "linear", "grouped", "kernel" or settings.
    * direct: whether each step ahead has a regression of its own
      (`models.forecasting.estimators.recurrent.ReadoutEstimator`).
    * season: in rows; adds up to three waves, each a sine and a cosine, to the columns that the features are of. So
      the same `count` of frequencies tells less of the values. It pays where a steady season stands out from the noise,
      most of all half a season ahead and further; elsewhere, above all one step ahead, forecasts may be worse than
      without. Compare `validation_errors_` with and without it. Lags that are chosen reach one, two and four seasons:
      of this one, else of those that are found in the data.

    The rest (target, covariates, calendar, validation, seed) and what there is after `fit` is as in
    `models.forecasting.estimators.estimator.ForecastingEstimator`.
    """

    count: int = 20
    sampler: Any = "orthogonal"
    kernel: Any = "gaussian"
    window: int = 2
    bandwidth: Any = "median_pairs"
    state_update: str = "bayes"
    ridge: float = 0.01
    epochs: int = 0
    history: int | None = None
    future: int | None = None
    delay: int = 1
    traces: Sequence[float] = ()
    whiten: float = 0.0
    linear: float = 0.0
    projection: int | None = None
    whitening: float = WHITENING

    def _check(self) -> None:
        super()._check()
        whole_number("epochs", self.epochs, least=0, most=MOST_EPOCHS)
        self._draw()
        self._regression()

    def _draw(self) -> FeatureDraw:
        sampler, kernel = sampler_of(self.sampler), kernel_of(self.kernel)
        check_pair(kernel, sampler)
        return FeatureDraw(
            count=whole_number("count", self.count, most=MOST_UNITS), window=whole_number("window", self.window),
            history=self._rows("history"), future=self._rows("future"),
            delay=whole_number("delay", self.delay, most=MOST_DELAY), traces=numbers("traces", self.traces),
            kernel=kernel, sampler=sampler, bandwidth=rule_of(self.bandwidth),
            whiten=not_negative("whiten", self.whiten, most=1),
            linear=not_negative("linear", self.linear, most=MOST_WEIGHT),
        )  # fmt: skip

    def _rows(self, name: str) -> int | None:
        given = getattr(self, name)
        return None if given is None else whole_number(name, given)

    def _regression(self) -> Regression:
        update = one_of("state_update", self.state_update, MEANINGS)
        if not MEANINGS[update].divide_by_observations and self.whitening != WHITENING:
            raise ValueError(f'state_update="{update}" divides by nothing that whitening would be for; leave it out')
        return Regression(
            update=update, ridge=number("ridge", self.ridge), whitening=number("whitening", self.whitening),
            projection=self._directions(),
        )  # fmt: skip

    def _directions(self, columns: int | None = None) -> int | None:
        """Returns the parameter `projection`, checked by the number of features; None without one. With `linear` there
        are more features, by the columns of the data. Raises TypeError and ValueError as `whole_number`."""
        if self.projection is None:
            return None
        most = 2 * int(self.count)
        if self.linear:
            most = MOST_UNITS if columns is None else most + min(self._draw().inputs(columns))
        return whole_number("projection", self.projection, most=most)

    def _descent(self) -> Descent:
        return Descent(2.0, KroneckerPreconditioner(damping=DAMPING))

    def _model(
        self, train: MaskedSequences, validation: MaskedSequences, generators: Generators, *, leads: int,
        seasons: Seasons,
    ) -> Fitted:  # fmt: skip
        solve = ReadoutFit(train, validation, READOUT)
        self._directions(train.values.shape[2])
        found = fit(
            train, validation, features=self._draw(), regression=self._regression(), readout=solve.settings,
            generators=generators,
        )  # fmt: skip
        with threads_for(found.model):
            first = Fitted(found.model, dict(found.readout.chosen))
            first = settle_ahead(first, solve, self.choices(seasons), leads=leads)
        refined = trained(first, solve, epochs=self.epochs, descent=self._descent(), generators=generators, leads=leads)
        return self._finished(refined, solve, generators, leads=leads)


@dataclass(kw_only=True, eq=False, repr=False)
class FactorisedPSRNNForecaster(PSRNNForecaster):
    """Forecasts by a PSRNN whose update is a sum of `rank` outer products, for states that are large.

    The other parameters are those of `PSRNNForecaster`.
    """

    rank: int = 80

    def _regression(self) -> Regression:
        return replace(super()._regression(), rank=whole_number("rank", self.rank, most=MOST_UNITS))

    def _descent(self) -> Descent:
        return Descent(0.05, KroneckerPreconditioner(damping=DAMPING))
