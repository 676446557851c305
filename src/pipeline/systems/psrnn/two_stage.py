"""Stage three: the first parameters of the PSRNN, by two-stage regression (or by chance), and its readout."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

from tqdm import tqdm

from models.forecasting.filtering import Filtered, filter_sequences, up_to_end
from models.forecasting.readout import ReadoutFit
from models.forecasting.start_up import StartUp, start_up_orders
from models.psrnn.bilinear_cell import BilinearCell
from models.psrnn.cell import PSRNN
from models.psrnn.factorised import FactorisedPSRNN, decompose_update, empty_factorised
from models.psrnn.initialise import build_psrnn, empty_psrnn, feature_stream, random_parameters
from models.psrnn.projection import Projections, find_projections, projected
from models.psrnn.two_stage import TwoStageParameters, two_stage_regression, whiten_observations
from pipeline.host.out_of_memory import halving
from pipeline.host.progress import shown
from pipeline.host.threads import threads_for
from pipeline.job.seeding import generator
from pipeline.systems.psrnn.features import Features
from pipeline.systems.psrnn.first_model import Initialised, judge
from pipeline.systems.psrnn.lags import LAGS, readout_settings, settle_lags
from pipeline.systems.psrnn.load import Loaded

DECOMPOSITION_ERROR = "decomposition.error"


class TwoStageSettings(NamedTuple):
    """The sections and values that this stage reads. terms: outer products of the update, None where it is whole."""

    initialise: Any
    readout: Any
    update: str
    projection: int | None
    learn_frequencies: bool
    terms: int | None
    seed: int

    @property
    def cell(self) -> dict[str, Any]:
        return {
            "lags": self.readout.lags or 0,
            "keep_sign": self.update in ("bayes", "sign"),
            "learn_frequencies": self.learn_frequencies,
        }


class Regressed(NamedTuple):
    """What 2SR found, the projection before it, and the rows whose features were held at once."""

    parameters: TwoStageParameters
    projections: Projections | None
    chunk: int


def regress(features: Features, settings: TwoStageSettings, *, chunk: int) -> Regressed:
    """2SR, after a projection if there is one; `update=bayes` and `whitened` fold the whitening of ω_t into W."""
    stream = feature_stream(features.windows, features.frequencies, chunk=chunk)
    projections = None
    if settings.projection is not None:
        projections = find_projections(stream, size=settings.projection)
        stream = projected(stream, projections)
    found = two_stage_regression(stream, ridge=settings.initialise.ridge, scale=settings.initialise.scale)
    if settings.update in ("bayes", "whitened"):
        update = whiten_observations(found.update, found.observation_moment, settings.initialise.whitening)
        found = found._replace(update=update)
    return Regressed(found, projections, chunk)


def rows_passed(features: Features, settings: TwoStageSettings) -> int:
    """The rows of all passes of `regress` over the data: of one for the projection and two for the regression."""
    return len(features.windows.time) * (2 if settings.projection is None else 3)


def first_parameters(features: Features, settings: TwoStageSettings) -> Regressed:
    """By regression, in as large chunks as memory allows, or random ones (`initialise=random`, not projected)."""
    chunk = settings.initialise.chunk
    if settings.initialise.method != "random":
        with shown("two-stage regression", rows_passed(features, settings)):
            return halving(lambda rows: regress(features, settings, chunk=rows), chunk=chunk, key="initialise.chunk")
    if settings.projection is not None:
        raise ValueError("initialise=random has no regression to find features.projection by; leave one of them out")
    count = 2 * len(features.frequencies.future)
    weights = generator(settings.seed, "weights")
    return Regressed(random_parameters(state=count, features=count, history=count, generator=weights), None, chunk)


def factorise(
    full: PSRNN, loaded: Loaded, filtered: Filtered | None, *, rank: int, seed: int
) -> tuple[FactorisedPSRNN, float]:
    """A cell with the update of `full`, whose readout is solved, as `rank` outer products; and their relative error.

    filtered: the training part as `full` filters it, where that is known. Warns where the sweeps did not come to rest.
    """
    train = loaded.train
    filtered = filtered or filter_sequences(full, train.values, up_to_end(train.mask))
    found = decompose_update(full, filtered, train.scored, rank=rank, generator=generator(seed, "decomposition"))
    tqdm.write(f"update tensor: {rank} outer products, relative error {found.error:.3g}")
    if not found.converged:
        warnings.warn(
            f"model.rank={rank}: the decomposition was stopped before it came to rest, at a relative error of "
            f"{found.error:.3g}; another rank or seed may do better",
            stacklevel=2,
        )
    model = empty_factorised(full, rank)
    model.set_update(found.factors, full.initial)
    return model, found.error


def initialise(loaded: Loaded, features: Features, settings: TwoStageSettings) -> Initialised:
    """Regression, then the readout along the filtered training part. Warns of a draw that is of no use.

    A factorised cell is made from the full one, by which its errors are weighted, and gets a readout of its own.
    """
    found = first_parameters(features, settings)
    full = build_psrnn(found.parameters, features.frequencies, found.projections, **settings.cell)
    with threads_for(full), shown("filtering"):
        return with_readout(full, loaded, settings, found.chunk)


def with_readout(full: PSRNN, loaded: Loaded, settings: TwoStageSettings, chunk: int) -> Initialised:
    """`full`, or a factorised cell made from it, with its readout and errors. chunk: `Regressed`'s."""
    solve = ReadoutFit(loaded.train, loaded.validation, readout_settings(settings.readout), loaded.lagged)
    model, fitted = full, solve(full)
    chosen = {"halved.initialise.chunk": chunk} if chunk != settings.initialise.chunk else {}
    if settings.terms is not None:
        model, error = factorise(full, loaded, fitted.train, rank=settings.terms, seed=settings.seed)
        fitted = solve(model)
        chosen |= {DECOMPOSITION_ERROR: error}
    known = {"train": fitted.train, "validation": fitted.validation}
    settled = settle_lags(model, {**fitted.chosen, **chosen}, loaded, settings.readout, known)
    return judge(settled.model, loaded, settled.chosen, known=settled.known)


def empty_model(features: Features, settings: TwoStageSettings, chosen: Mapping[str, Any]) -> BilinearCell:
    """The model that `initialise` made and chose so much for, all numbers 0, to be filled from a checkpoint."""
    cell = settings.cell if LAGS not in chosen else {**settings.cell, "lags": chosen[LAGS]}
    state = settings.projection or 2 * len(features.frequencies.future)
    full = empty_psrnn(features.frequencies, state=state, projected=settings.projection, **cell)
    model = full if settings.terms is None else empty_factorised(full, settings.terms)
    if model.lags:
        orders, dimension = start_up_orders(model.lags), len(model.readout_bias)
        model.start_up = StartUp(dimension=dimension, orders=orders, history=model.lags).to(model.readout_bias)
    return model
