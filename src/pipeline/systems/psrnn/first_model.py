"""What every first model leaves, errors and whether it is of use; and the first model of all but the PSRNN."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import nn

from models.forecasting.filtering import Filtered, MaskedSequences, SequenceModel, filter_by_all_ranks, up_to_end
from models.forecasting.fitting import Problem
from models.forecasting.lags import settle_lags
from models.forecasting.readout import FittedReadout
from models.forecasting.readout_settings import ReadoutSettings
from models.numerics.ridge import masked_mse
from models.runtime.seeding import Generators
from models.runtime.threads import threads_for
from pipeline.host.progress import progress_bar
from pipeline.job.study import Study
from pipeline.settings.messages import of_section
from pipeline.systems.psrnn.labels import name_of
from pipeline.systems.psrnn.lags import say_lags
from pipeline.systems.psrnn.load import Parts
from pipeline.systems.psrnn.own_models import check_fitted


class Initialised(NamedTuple):
    """Holds the model, what was chosen on validation, and the errors of the model on the three parts.

    limit: the validation error from which on the model is of no use (see `judge`); refinement does not move it.
    """

    model: nn.Module
    chosen: dict[str, Any]
    train_mse: float
    validation_mse: float
    test_mse: float
    limit: float

    def stable(self, train_mse: float, validation_mse: float) -> bool:
        """Says whether a model with these errors, refined or not, is of use."""
        return math.isfinite(train_mse) and validation_mse < self.limit


@torch.no_grad()
def one_step_mse(model: SequenceModel, part: MaskedSequences, filtered: Filtered | None = None) -> float:
    """Returns the mean squared error of one-step predictions over the scored steps of a part.

    filtered: the part as the model filters it, where that is known.
    """
    filtered = filtered or filter_by_all_ranks(model, part.values, up_to_end(part.mask))
    return float(masked_mse(filtered.predictions, part.values, part.scored))


def errors_of(model: Any, parts: Parts) -> tuple[float, float]:
    """Returns the one-step errors on the training and the validation part."""
    return one_step_mse(model, parts.train), one_step_mse(model, parts.validation)


def mean_predictor_mse(part: MaskedSequences) -> float:
    """Returns the error of predicting the training mean, which is 0 in standardised units; NaN for an empty part."""
    return float(masked_mse(torch.zeros_like(part.values), part.values, part.scored))


def judge(model: Any, parts: Parts, readout: FittedReadout, *, drawn: bool = True) -> Initialised:
    """Returns the model with its errors on the three parts. Warns of a draw of features that is of no use.

    readout: with what was chosen for the model, and the parts as the model filters them where that is known.

    A random draw (`drawn`) is of use when its error on the validation part is below that of predicting the mean: on the
    training part a readout that was solved there cannot be worse than the mean, whatever the state does. Any other
    model is of use when its errors are finite.
    """
    train = one_step_mse(model, parts.train, readout.train)
    validation = one_step_mse(model, parts.validation, readout.validation)
    test, mean = one_step_mse(model, parts.test), mean_predictor_mse(parts.validation)
    first = Initialised(model, readout.chosen, train, validation, test, mean if drawn else math.inf)
    if not first.stable(train, validation):
        advice = "take more features, update=bayes or another seed" if drawn else "its filter diverges on this data"
        errors = f"validation error {validation:.4g}, where the mean has {mean:.4g}"
        warnings.warn(f"this model is no better than predicting the mean: {errors}; {advice}", stacklevel=2)
    return first


@dataclass(frozen=True)
class MethodStages:
    """Fits every model but the PSRNN in its one stage: closed-form fits whole, networks up to where the gradient
    begins.

    kept: whether the model will be saved, which a model of a person's own must be fit for.
    """

    drawn: ClassVar[bool] = False
    method: Any
    readout: ReadoutSettings
    generators: Generators
    kept: bool = True

    @property
    def span(self) -> int:
        return 1

    def words(self) -> str:
        return str(self.method)

    def first_model(self, parts: Parts, study: Study) -> Initialised:
        with study.clock.stage("fit"):
            return self.fitted(parts)

    def fitted(self, parts: Parts) -> Initialised:
        """Returns the model as its method fits it, with the lags that validation chose where they are left open."""
        problem = Problem(parts.train, parts.validation, self.readout, self.generators("weights"), parts.lagged)
        with of_section("model"), progress_bar("fit"):
            fitted = self.method.fit(problem)
        check_fitted(self.method, fitted, kept=self.kept)
        with threads_for(fitted.model), progress_bar("filtering"):
            solve = parts.readout_fit(self.readout)
            settled = settle_lags(fitted.model, FittedReadout(fitted.chosen, None, None), solve)
            say_lags(name_of(self.method), settled.model, settled.tried)
            return judge(settled.model, parts, settled.readout, drawn=False)
