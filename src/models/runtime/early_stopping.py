"""Training by gradient without a pipeline: the weights of the best epoch are kept, and patience ends it."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn

from models.runtime.objective import EpochObjective, Objective, descend
from models.runtime.progress import epochs_shown
from models.runtime.seeding import drawn, generator


def rising_then_falling(update: int, warmup: int) -> float:
    """Returns the share of the largest learning rate that an update, from 0, takes: it rises over so many updates, and
    then falls as 1/√update (Vaswani et al. 2017)."""
    return min((update + 1) / warmup, math.sqrt(warmup / (update + 1)))


class Course(NamedTuple):
    """Says how long to train: epochs at most, the largest norm of a gradient, how many epochs without a better one end
    training, how many epochs at the beginning are not counted among these, as the learning rate only rises, and
    whether the weights before the first epoch may be kept, which is measured then."""

    epochs: int
    clip: float
    patience: int
    rising: int = 0
    from_start: bool = False


@dataclass(frozen=True)
class EarlyStopping:
    """Trains the model of an objective by an optimiser of its parameters until the validation loss stops falling.

    validation: gives the loss on the validation part; None without such a part. seed, name: of batches and dropout.
    advice: ends the error about a loss that is not finite.
    """

    objective: Objective
    optimizer: torch.optim.Optimizer
    validation: Callable[[], float] | None
    seed: int
    name: str
    advice: str = "lower learning_rate"

    def run(self, course: Course) -> list[tuple[float, float]]:
        """Returns the training and the validation loss of each epoch, the latter NaN without a validation part.

        The model is left in evaluation mode with the weights of the epoch of least validation loss, or those that it
        began with where `Course.from_start` is set and none was better; without a validation part with the last.
        Patience is counted from the best epoch, be it better than the start or not, and the start has no row in the
        curve. A terminal shows a bar of the epochs. Raises ValueError for a training loss that is not finite, and where
        no epoch's validation loss is.
        """
        batches, curve = generator(self.seed, f"{self.name}/batches"), list[tuple[float, float]]()
        self.optimizer.register_step_pre_hook(lambda *_: self.clip(course.clip))
        start, first = self.start(course)
        best, kept, waited = math.inf, None, 0
        with epochs_shown(course.epochs) as shown:
            for epoch in range(course.epochs):
                loss = self.epoch(epoch, batches)
                curve.append((loss, self.validation() if self.validation else math.nan))
                shown(*curve[-1])
                waited += epoch >= course.rising
                if curve[-1][1] < best:
                    best, kept, waited = curve[-1][1], self.weights(), 0
                if self.validation and waited >= course.patience:
                    break
        if kept is None and self.validation:
            raise ValueError(f"the validation loss is not finite after any epoch; {self.advice}")
        if kept is not None:
            self.objective.model.load_state_dict(first if first is not None and start <= best else kept)
        self.objective.model.eval()
        return curve

    def start(self, course: Course) -> tuple[float, dict[str, Any] | None]:
        """Returns the validation loss and the weights that the best epoch has to better, infinity and None for any."""
        if not course.from_start or self.validation is None:
            return math.inf, None
        self.objective.model.eval()
        return self.validation(), self.weights()

    def weights(self) -> dict[str, Any]:
        """Returns a copy of the model's weights."""
        return copy.deepcopy(self.objective.model.state_dict())

    def clip(self, largest: float) -> None:
        """Shortens the gradient to that norm."""
        nn.utils.clip_grad_norm_(self.objective.parameters(), largest)

    def epoch(self, number: int, batches: torch.Generator) -> float:
        """Returns the mean loss over the batches of an epoch, each before its step. Raises ValueError where it is not
        finite."""
        self.objective.model.train()
        if isinstance(self.objective, EpochObjective):
            self.objective.begins(number)
        with drawn(self.seed, f"{self.name}/dropout/{number}"):
            losses = descend(self.objective, self.optimizer, generator=batches)
        mean = sum(float(loss.total) for loss in losses) / sum(float(loss.weight) for loss in losses)
        if not math.isfinite(mean):
            raise ValueError(f"the loss of epoch {number + 1} is not finite; {self.advice}")
        return mean
