"""What every first model leaves: the one-step errors before refinement, and whether the draw is usable."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import nn

from models.forecasting.filtering import Filtered, MaskedSequences, SequenceModel, filter_by_all_ranks, up_to_end
from models.forecasting.fitting import Method, Problem
from models.numerics.ridge import masked_mse
from pipeline.host.progress import shown
from pipeline.host.threads import threads_for
from pipeline.job.seeding import generator
from pipeline.systems.psrnn.lags import readout_settings, settle_lags
from pipeline.systems.psrnn.load import Loaded
from pipeline.systems.psrnn.own_models import check_fitted


class Initialised(NamedTuple):
    """The model, what was chosen on validation, and the errors of the model on the three parts.

    limit: the validation error from which on the model is of no use (see `judge`); refinement does not move it.
    """

    model: nn.Module
    chosen: dict[str, Any]
    train_mse: float
    validation_mse: float
    test_mse: float
    limit: float

    def stable(self, train_mse: float, validation_mse: float) -> bool:
        """Whether a model with these errors, refined or not, is of use."""
        return math.isfinite(train_mse) and validation_mse < self.limit


@torch.no_grad()
def one_step_mse(model: SequenceModel, part: MaskedSequences, filtered: Filtered | None = None) -> float:
    """filtered: the part as the model filters it, where that is known."""
    filtered = filtered or filter_by_all_ranks(model, part.values, up_to_end(part.mask))
    return float(masked_mse(filtered.predictions, part.values, part.scored))


def mean_predictor_mse(part: MaskedSequences) -> float:
    """The error of predicting the training mean, which is 0 in standardised units; NaN for an empty part."""
    return float(masked_mse(torch.zeros_like(part.values), part.values, part.scored))


def judge(
    model: Any,
    loaded: Loaded,
    chosen: dict[str, Any],
    *,
    drawn: bool = True,
    known: Mapping[str, Filtered | None] = MappingProxyType({}),
) -> Initialised:
    """Measure the errors, and warn of a draw of features that is of no use. known: parts as this model filters them.

    A random draw (`drawn`) is of use when its error on the validation part is below that of predicting the mean: on the
    training part a readout that was solved there cannot be worse than the mean, whatever the state does. Any other
    model is of use when its errors are finite.
    """
    train, validation, test = (
        one_step_mse(model, getattr(loaded, part), known.get(part)) for part in ("train", "validation", "test")
    )
    mean = mean_predictor_mse(loaded.validation)
    found = Initialised(model, chosen, train, validation, test, mean if drawn else math.inf)
    if not found.stable(train, validation):
        advice = "take more features, update=bayes or another seed" if drawn else "its filter diverges on this data"
        errors = f"validation error {validation:.4g}, where the mean has {mean:.4g}"
        warnings.warn(f"this model is no better than predicting the mean: {errors}; {advice}", stacklevel=2)
    return found


def fit_method(method: Method, loaded: Loaded, *, readout: Any, seed: int, kept: bool = True) -> Initialised:
    """Stage `fit` of every model but the PSRNN: closed-form fits whole, networks up to where the gradient begins.

    kept: whether the model will be saved, which one of a person's own must be fit for.
    """
    problem = Problem(
        loaded.train, loaded.validation, readout_settings(readout), generator(seed, "weights"), loaded.lagged
    )
    with shown("fit"):
        fitted = method.fit(problem)
    check_fitted(method, fitted, kept=kept)
    with threads_for(fitted.model), shown("filtering"):
        settled = settle_lags(fitted.model, fitted.chosen, loaded, readout)
        return judge(settled.model, loaded, settled.chosen, drawn=False, known=settled.known)
