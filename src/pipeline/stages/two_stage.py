"""Stage three: the first parameters of the model, by two-stage regression (or by chance), and its readout."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import torch

from models.filtering import filter_sequences
from models.numerics.ridge import masked_mse
from models.psrnn.cell import PSRNN
from models.psrnn.initialise import (
    MaskedSequences,
    build_psrnn,
    feature_stream,
    fit_readout,
    random_parameters,
)
from models.psrnn.two_stage import TwoStageParameters, two_stage_regression, whiten_observations
from pipeline.seeding import generator
from pipeline.stages.features import Features
from pipeline.stages.load import Loaded

MEAN_PREDICTOR = 1.0


class Initialised(NamedTuple):
    """The model, the readout's ridge, and the errors of the model on training and test part."""

    model: PSRNN
    readout_ridge: float
    train_mse: float
    test_mse: float

    @property
    def stable(self) -> bool:
        """False when the filter is no better on the training part than predicting its mean: a draw that blew up."""
        return math.isfinite(self.train_mse) and self.train_mse < MEAN_PREDICTOR


@torch.no_grad()
def one_step_mse(model: PSRNN, part: MaskedSequences) -> float:
    predictions = filter_sequences(model, part.values, part.mask).predictions
    return float(masked_mse(predictions, part.values, part.scored))


def first_parameters(features: Features, settings: Any, *, update: str, seed: int) -> TwoStageParameters:
    """2SR or random parameters; `update=bayes` folds the whitening of the observation features into W."""
    if settings.method == "random":
        count = 2 * len(features.frequencies.future)
        return random_parameters(state=count, features=count, history=count, generator=generator(seed, "weights"))
    stream = feature_stream(features.windows, features.frequencies, chunk=settings.chunk)
    found = two_stage_regression(stream, ridge=settings.ridge, scale=settings.scale)
    if update == "paper":
        return found
    return found._replace(update=whiten_observations(found.update, found.observation_moment, settings.whitening))


def initialise(
    loaded: Loaded, features: Features, settings: Any, *, readout: Any, update: str, seed: int
) -> Initialised:
    """Regression, then the readout along the filtered training part. Warns of a draw that blew up."""
    parameters = first_parameters(features, settings, update=update, seed=seed)
    model = build_psrnn(parameters, features.frequencies, lags=readout.lags, keep_sign=update == "bayes")
    ridge = fit_readout(model, loaded.train, loaded.validation, ridges=readout.ridges, scale=readout.scale)
    return judge(model, loaded, ridge)


def judge(model: PSRNN, loaded: Loaded, ridge: float) -> Initialised:
    result = Initialised(model, ridge, one_step_mse(model, loaded.train), one_step_mse(model, loaded.test))
    if not result.stable:
        warnings.warn(
            f"this draw of features blew up: training error {result.train_mse:.3g}, "
            f"where predicting the mean has {MEAN_PREDICTOR:.0f}; take more features, update=bayes or another seed",
            stacklevel=2,
        )
    return result
