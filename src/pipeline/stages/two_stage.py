"""Stage three: the first parameters of the PSRNN, by two-stage regression (or by chance), and its readout."""

from __future__ import annotations

from typing import Any, NamedTuple

from models.psrnn.cell import PSRNN
from models.psrnn.initialise import build_psrnn, empty_psrnn, feature_stream, random_parameters
from models.psrnn.projection import Projections, find_projections, projected
from models.psrnn.two_stage import TwoStageParameters, two_stage_regression, whiten_observations
from models.readout import fit_readout
from pipeline.memory import halving
from pipeline.seeding import generator
from pipeline.stages.features import Features
from pipeline.stages.first_model import Initialised, judge, readout_settings
from pipeline.stages.load import Loaded


class TwoStageSettings(NamedTuple):
    """The sections and values of the configuration that this stage reads."""

    initialise: Any
    readout: Any
    update: str
    projection: int | None
    learn_frequencies: bool
    seed: int

    @property
    def cell(self) -> dict[str, Any]:
        return {
            "lags": self.readout.lags,
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


def first_parameters(features: Features, settings: TwoStageSettings) -> Regressed:
    """By regression, in as large chunks as memory allows, or random ones (`initialise=random`, not projected)."""
    chunk = settings.initialise.chunk
    if settings.initialise.method != "random":
        return halving(lambda rows: regress(features, settings, chunk=rows), chunk=chunk, key="initialise.chunk")
    if settings.projection is not None:
        raise ValueError("initialise=random has no regression to find features.projection by; leave one of them out")
    count = 2 * len(features.frequencies.future)
    weights = generator(settings.seed, "weights")
    return Regressed(random_parameters(state=count, features=count, history=count, generator=weights), None, chunk)


def initialise(loaded: Loaded, features: Features, settings: TwoStageSettings) -> Initialised:
    """Regression, then the readout along the filtered training part. Warns of a draw that is of no use."""
    found = first_parameters(features, settings)
    model = build_psrnn(found.parameters, features.frequencies, found.projections, **settings.cell)
    asked = readout_settings(settings.readout)
    fitted = fit_readout(model, loaded.train, loaded.validation, asked, loaded.lagged)
    known = {"train": fitted.train, "validation": fitted.validation}
    halved = {"halved.initialise.chunk": found.chunk} if found.chunk != settings.initialise.chunk else {}
    return judge(model, loaded, {**fitted.chosen, **halved}, known=known)


def empty_model(features: Features, settings: TwoStageSettings) -> PSRNN:
    """The model that `initialise` would make, all numbers 0, to be filled from a checkpoint."""
    state = settings.projection or 2 * len(features.frequencies.future)
    return empty_psrnn(features.frequencies, state=state, projected=settings.projection, **settings.cell)
