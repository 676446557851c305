"""What every first model leaves: the one-step errors before refinement, and whether the draw is usable."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import torch
from torch import nn

from models.filtering import MaskedSequences, SequenceModel, filter_sequences
from models.fitting import Method, Problem
from models.numerics.ridge import masked_mse
from models.readout import ReadoutSettings
from pipeline.seeding import generator
from pipeline.stages.load import Loaded

MEAN_PREDICTOR = 1.0


class Initialised(NamedTuple):
    """The model, what was chosen on validation, and the errors of the model on training and test part."""

    model: nn.Module
    chosen: dict[str, Any]
    train_mse: float
    test_mse: float

    @property
    def stable(self) -> bool:
        """False when the filter is no better on the training part than predicting its mean: a draw that blew up."""
        return math.isfinite(self.train_mse) and self.train_mse < MEAN_PREDICTOR


@torch.no_grad()
def one_step_mse(model: SequenceModel, part: MaskedSequences) -> float:
    predictions = filter_sequences(model, part.values, part.mask).predictions
    return float(masked_mse(predictions, part.values, part.scored))


def judge(model: Any, loaded: Loaded, chosen: dict[str, Any]) -> Initialised:
    """Measure the errors; warn of a draw that blew up."""
    result = Initialised(model, chosen, one_step_mse(model, loaded.train), one_step_mse(model, loaded.test))
    if not result.stable:
        warnings.warn(
            f"this draw of features blew up: training error {result.train_mse:.3g}, "
            f"where predicting the mean has {MEAN_PREDICTOR:.0f}; take more features, update=bayes or another seed",
            stacklevel=2,
        )
    return result


def readout_settings(settings: Any) -> ReadoutSettings:
    return ReadoutSettings(settings.lags, settings.ridges, settings.scale)


def fit_method(method: Method, loaded: Loaded, *, readout: Any, seed: int) -> Initialised:
    """Stage `fit` of every model but the PSRNN: closed-form fits whole, networks up to where the gradient begins."""
    problem = Problem(loaded.train, loaded.validation, readout_settings(readout), generator(seed, "weights"))
    fitted = method.fit(problem)
    return judge(fitted.model, loaded, fitted.chosen)
