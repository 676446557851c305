"""What every method of the group `model` is given, and what it gives back."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol

import torch
from torch import nn

from models.forecasting.filtering import MaskedSequences
from models.forecasting.lag_shares import LagShares
from models.forecasting.readout import fit_readout
from models.forecasting.readout_settings import ReadoutSettings
from models.forecasting.recurrent import Recurrent


class Problem(NamedTuple):
    """Holds the standardised training and validation part, the readout asked for, the generator of random weights,
    and what fits along the same sequences share."""

    train: MaskedSequences
    validation: MaskedSequences
    readout: ReadoutSettings
    generator: torch.Generator
    lagged: LagShares | None = None

    @property
    def dimension(self) -> int:
        """Returns d, the number of observed features."""
        return self.train.values.shape[2]


class Fitted(NamedTuple):
    """Holds a model that offers `models.forecasting.filtering.SequenceModel`, and what was chosen on the validation
    part."""

    model: nn.Module
    chosen: dict[str, Any]


class Method(Protocol):
    """Is a section `model` of the configuration.

    name: of the model, in tables. trained: whether gradient refinement follows the fit.
    """

    name: ClassVar[str]
    trained: ClassVar[bool]

    def fit(self, problem: Problem) -> Fitted:
        """Returns a fitted model. Raises ValueError for data that it cannot be fitted to."""
        ...


def with_readout(model: Recurrent, problem: Problem) -> Fitted:
    """Returns the model in the data's dtype and on its device, its readout solved.

    Raises ValueError as `models.forecasting.readout.fit_readout`.
    """
    model.to(dtype=problem.train.values.dtype, device=problem.train.values.device)
    readout = fit_readout(model, problem.train, problem.validation, problem.readout, problem.lagged)
    return Fitted(model, dict(readout.chosen))
