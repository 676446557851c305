"""A live signal filtered one reading at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from models.forecasting.filtering import SequenceModel, State, has_begun, moved_by
from models.forecasting.frame import in_order, is_row, said_of_next_row
from models.runtime.parameters import shown

if TYPE_CHECKING:
    import pandas as pd

AnyState = tuple[State, None, Tensor]


class AnyStep:
    """Takes one step of the filter of any model for a single sequence.

    The state is that of the model, then None, where a PSRNN's own step has recent rows, and the prediction (d,) of the
    next row.
    """

    def __init__(self, model: SequenceModel) -> None:
        self.model = model

    def initial(self) -> AnyState:
        """Returns the state before the first observation."""
        return self._read(self.model.initial_state(1))

    def __call__(self, state: State, recent: None, observation: Tensor, *, begun: bool = True) -> AnyState:  # noqa: ARG002
        """Returns the state after one more observation (d,), which has to be complete. begun: as in `moved_by`."""
        moves = torch.tensor([begun], device=observation.device)
        return self._read(moved_by(self.model, state, observation.unsqueeze(0), moves))

    def _read(self, state: State) -> AnyState:
        return state, None, self.model.predict(state)[0]


class InUnits(Protocol):
    """Is a model with the units of its data, as `models.forecasting.forecaster.Forecaster`."""

    model: nn.Module
    feature_names: tuple[str, ...]

    def standardised(self, series: np.ndarray) -> tuple[Tensor, Tensor]:
        """Returns values and mask (time, feature) of one series, standardised."""
        ...

    def in_own_units(self, values: Tensor) -> np.ndarray:
        """Returns standardised values (…, feature) in the data's own units."""
        ...


def numbers_of(reading: ArrayLike | pd.Series, names: Sequence[str]) -> np.ndarray:
    """Returns a reading, (feature,), in the order of the names. Raises ValueError as `OnlineForecaster.update` does."""
    if is_row(reading):
        return in_order(reading, names)
    wanted = f"a reading must be {len(names)} number{'s' * (len(names) > 1)}, of {', '.join(names)}, NaN for a gap"
    try:
        own = np.asarray(reading, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{wanted}; got {shown(reading)}") from error
    if own.shape != (len(names),):
        raise ValueError(f"{wanted}; got shape {own.shape}{said_of_next_row(names)}")
    return own


class OnlineForecaster:
    """Takes one reading at a time, in the data's own units, and gives the predictions of `Forecaster.predict` as they
    come.

    prediction (feature,): of the next reading. A PSRNN has a step of its own for it, which is faster than its filter of
    many sequences; other models take the step that they filter by.
    """

    @torch.inference_mode()
    def __init__(self, forecaster: InUnits) -> None:
        model: Any = forecaster.model
        self.forecaster = forecaster
        self.step = model.online_step() if hasattr(model, "online_step") else AnyStep(model)
        self.state = self.step.initial()
        self.begun, self.counts = False, not bool(has_begun(model, model.initial_state(1)).all())

    @property
    def prediction(self) -> np.ndarray:
        """Returns the prediction of the next reading, (feature,), in the data's own units."""
        return self.forecaster.in_own_units(self.state[2])

    @torch.inference_mode()
    def update(self, reading: ArrayLike | pd.Series) -> np.ndarray:
        """Returns the next prediction, (feature,), after one more reading (feature,), NaN where it is missing. Of a
        model that counts rows, readings without a value before the first that has one change nothing.

        A row of a table of pandas goes by the names of the columns, in any order. A feature "NAME (next row)" is a
        covariate, and takes its value in the row after. Raises ValueError for another shape, what is no number, a name
        that is missing and infinite values.
        """
        own = numbers_of(reading, self.forecaster.feature_names)
        values, mask = self.forecaster.standardised(own[np.newaxis])
        self.begun = self.begun or bool(mask.any())
        if self.counts and not self.begun:
            return self.prediction
        belief, recent, prediction = self.state
        begun = {"begun": self.begun} if isinstance(self.step, AnyStep) else {}
        self.state = self.step(belief, recent, torch.where(mask[0], values[0], prediction), **begun)
        return self.prediction
