"""A fitted PSRNN in one call: random features, two-stage regression and readout; see `fit_forecaster` and `fit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from models.forecasting.burn_in import settle_start_up
from models.forecasting.filtering import MaskedSequences, filter_sequences, up_to_end
from models.forecasting.forecaster import Forecaster
from models.forecasting.lags import LagsTried, settle_lags
from models.forecasting.readout import FittedReadout, ReadoutFit
from models.forecasting.readout_settings import ReadoutSettings
from models.forecasting.series import FIRST_SCORED, arrays_of, cut_in_time, standardised, units_of
from models.numerics.canonical import Canonical
from models.psrnn.bilinear_cell import BilinearCell
from models.psrnn.cell import PSRNN
from models.psrnn.factorised import FactorisedPSRNN, decompose_update, empty_factorised
from models.psrnn.features import FeatureDraw, Features, draw_features
from models.psrnn.initialise import build_psrnn, feature_stream, random_parameters
from models.psrnn.projection import Projections, find_projections, projected
from models.psrnn.two_stage import TwoStageParameters, two_stage_regression, whiten_observations
from models.psrnn.update import update_named
from models.runtime.seeding import Generators

if TYPE_CHECKING:
    import pandas as pd

RIDGES = (1e-4, 1e-2, 1.0, 1e2, 1e4)


@dataclass(frozen=True, kw_only=True)
class Regression:
    """Says how the first parameters of a cell are found from drawn features.

    update: one of `models.psrnn.update.MEANINGS`; whitening: its κ, on means. ridge, scale: λ of both stages, see
    `models.numerics.ridge.per_sample_ridge`. chunk: time steps whose features are held at once.
    projection: the number of directions kept of the features; None keeps all. rank: the number of outer products that
    the update is a sum of; None holds it whole. random: Gaussian parameters in place of the regression.
    learn_frequencies: whether a later training by gradient moves the frequencies.
    Raises ValueError for an unknown update, and for random parameters with a projection.
    """

    update: str = "bayes"
    whitening: float = 1e-4
    ridge: float = 0.01
    scale: str = "samples"
    chunk: int = 4096
    projection: int | None = None
    rank: int | None = None
    random: bool = False
    learn_frequencies: bool = False

    def __post_init__(self) -> None:
        update_named(self.update)
        if self.random and self.projection is not None:
            raise ValueError("random parameters have no regression to find a projection by; leave out one of the two")

    @property
    def passes(self) -> int:
        """Returns how often `first_cell` goes through the data: once for the projection and twice for the
        regression."""
        return 2 if self.projection is None else 3


class FittedPSRNN(NamedTuple):
    """Holds the model; its readout, with what validation chose for it and the two parts as the model filters them;
    the numbers of lags that were tried (None: no choice); and the decomposition of its update (None: it is held
    whole)."""

    model: BilinearCell
    readout: FittedReadout
    tried: LagsTried | None
    decomposition: Canonical | None


FEATURES, REGRESSION = FeatureDraw(), Regression()
READOUT = ReadoutSettings(0, RIDGES, "none", RIDGES, choices=(0, 1, 2, 4, 8, 16, 24))


def regress(features: Features, regression: Regression) -> tuple[TwoStageParameters, Projections | None]:
    """Returns what two-stage regression gives, after a projection if there is one, with the division of the update.

    Raises ValueError as `find_projections`, `two_stage_regression` and `whiten_observations` do.
    """
    stream = feature_stream(features.windows, features.frequencies, chunk=regression.chunk)
    projections = None
    if regression.projection is not None:
        projections = find_projections(stream, size=regression.projection)
        stream = projected(stream, projections)
    parameters = two_stage_regression(stream, ridge=regression.ridge, scale=regression.scale)
    if update_named(regression.update).divide_by_observations:
        divided = whiten_observations(parameters.update, parameters.observation_moment, regression.whitening)
        parameters = parameters._replace(update=divided)
    return parameters, projections


def first_cell(features: Features, regression: Regression, generators: Generators, *, lags: int = 0) -> PSRNN:
    """Returns a cell with its first parameters, by regression or by chance; its readout, of `lags` lags, is 0.

    Raises ValueError as `regress` does.
    """
    projections = None
    if regression.random:
        _, state, observation = features.frequencies.sizes()
        parameters = random_parameters(state=state, features=observation, generator=generators("weights"))
    else:
        parameters, projections = regress(features, regression)
    return build_psrnn(
        parameters, features.frequencies, projections, lags=lags,
        keep_sign=update_named(regression.update).keep_sign, learn_frequencies=regression.learn_frequencies,
    )  # fmt: skip


def factorise(
    cell: PSRNN, readout: FittedReadout, train: MaskedSequences, *, rank: int, generator: torch.Generator
) -> tuple[FactorisedPSRNN, Canonical]:
    """Returns a cell with the update of `cell`, whose readout is solved, as `rank` outer products; and what these are.

    readout: of `cell` along `train` (sequence, time, feature).
    """
    filtered = readout.train or filter_sequences(cell, train.values, up_to_end(train.mask))
    decomposition = decompose_update(cell, filtered, train.scored, rank=rank, generator=generator)
    model = empty_factorised(cell, rank)
    model.set_update(decomposition.factors, cell.initial)
    return model, decomposition


def solved_cell(cell: PSRNN, solve: ReadoutFit, regression: Regression, generators: Generators) -> FittedPSRNN:
    """Returns the cell, or the factorised one made from it, with its readout solved and its lags chosen.

    A factorised cell is made from the full one, by which its errors are weighted, and gets a readout of its own.
    """
    model, readout, decomposition = cell, solve(cell), None
    if regression.rank is not None:
        model, decomposition = factorise(
            cell, readout, solve.train, rank=regression.rank, generator=generators("decomposition")
        )
        readout = solve(model)
    settled = settle_lags(model, readout, solve)
    return FittedPSRNN(settled.model, settled.readout, settled.tried, decomposition)


def fit(
    train: MaskedSequences,
    validation: MaskedSequences,
    *,
    features: FeatureDraw = FEATURES,
    regression: Regression = REGRESSION,
    readout: ReadoutSettings = READOUT,
    generators: Generators,
) -> FittedPSRNN:
    """Returns a PSRNN fitted to the training part, its readout chosen by the validation part.

    train, validation: standardised sequences (sequence, time, feature). generators: of the frequencies, and of what
    else is drawn, by name, as `models.runtime.seeding.generators_of(seed)` gives them. It is what `recipe=psrnn` fits
    before refinement. Raises ValueError as its stages do, for data that are too short say.
    """
    drawn = draw_features(train, features, generators)
    cell = first_cell(drawn, regression, generators, lags=readout.lags)
    return solved_cell(cell, ReadoutFit(train, validation, readout), regression, generators)


def fit_forecaster(
    series: Sequence[np.ndarray | pd.DataFrame],
    validation: Sequence[np.ndarray | pd.DataFrame] | None = None,
    *,
    features: FeatureDraw = FEATURES,
    regression: Regression = REGRESSION,
    readout: ReadoutSettings = READOUT,
    generators: Generators,
) -> Forecaster:
    """Returns a forecaster fitted to series in their own units: `forecast(series, horizon)` goes on with one of them.

    series: arrays (time, feature), NaN where nothing was observed, or tables of pandas with the same columns, in any
    order. validation: more of them, by which the readout is chosen; None holds out the last tenth of each series.
    The rest: see `fit`. Raises ValueError for series of other shapes and for a feature without an observation.
    """
    arrays, names = arrays_of(series)
    held_out = None if validation is None else arrays_of(validation, names, name="validation")[0]
    fitted_to, held_out = (arrays, held_out) if held_out is not None else cut_in_time(arrays)
    units = units_of(fitted_to)
    first = max(FIRST_SCORED, readout.lags)
    parts = [standardised(part, units, first_step=first) for part in (fitted_to, held_out)]
    model = fit(*parts, features=features, regression=regression, readout=readout, generators=generators).model
    settle_start_up(model, parts[0])
    return Forecaster(model, mean=units.mean, scale=units.scale, feature_names=names)
