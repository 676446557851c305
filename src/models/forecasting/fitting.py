"""What every method of the group `model` is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
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

    @classmethod
    def again(cls, rows: MaskedSequences, readout: ReadoutSettings) -> Problem:
        """Returns the problem of solving a model again along sequences, where nothing is left to choose or draw."""
        return cls(rows, rows, readout, torch.Generator())

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

    name: of the model, in tables. trained: whether gradient refinement follows the fit. One that is not trained may
    have `solved_again(model, chosen, problem)` beside `fit`, see the function of this name.
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


def solves_again(method: Method) -> bool:
    """Says whether models of the method can be solved again by `solved_again`, as all that are trained can."""
    return method.trained or hasattr(method, "solved_again")


def solved_again(method: Any, model: nn.Module, chosen: Mapping[str, Any], problem: Problem) -> nn.Module:
    """Returns the model solved again along other sequences, with what validation chose for it, as a new model.

    It is what the method's own `solved_again` gives, and `readout_solved_again` for a method without one. problem: see
    `Problem.again`.
    """
    again = getattr(method, "solved_again", readout_solved_again)
    return again(model, chosen, problem)


def readout_solved_again(model: Any, chosen: Mapping[str, Any], problem: Problem) -> nn.Module:
    """Returns a copy of a `models.forecasting.recurrent.Recurrent` whose readout is solved along other sequences, with
    the lags and ridges chosen; belief and start-up stay. problem: see `Problem.again`.

    Raises ValueError as `models.forecasting.readout.fit_readout`.
    """
    again = deepcopy(model)
    settings = problem.readout.with_lags(model.lags).only(chosen)
    fit_readout(again, problem.train, problem.validation, settings)
    return again
