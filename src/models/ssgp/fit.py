"""Training the hyper-parameters by the marginal likelihood."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import nn

from models.runtime.objective import Loss
from models.ssgp.model import SSGP, Posterior, TrainingEnded
from models.ssgp.moments import RowStream


def finite(loss: torch.Tensor, iteration: int) -> float:
    """Returns the loss, a scalar, as a number. Raises TrainingEnded where it is not finite."""
    value = loss.item()
    if not math.isfinite(value):
        raise TrainingEnded(f"the marginal likelihood is not finite at iteration {iteration}; lower the learning rate")
    return value


class MarginalLikelihood:
    """Is −log p(y)/N over all rows of a stream, in nats, as an objective: an epoch has `iterations` batches, which are
    their numbers 0, 1, …, and all rows are in each of them.

    `loss` and `condition` raise TrainingEnded when the loss stops being finite or cannot be computed any more.
    """

    def __init__(self, model: SSGP, stream: RowStream, *, iterations: int) -> None:
        self.model, self.stream, self.iterations = model, stream, iterations

    def parameters(self) -> list[nn.Parameter]:
        """Returns the parameters of the model that are trained."""
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]

    def batches(self, generator: torch.Generator) -> Iterator[int]:  # noqa: ARG002
        """Yields the numbers of the iterations, 0, 1, …; nothing is drawn from the generator."""
        yield from range(self.iterations)

    def loss(self, batch: int) -> Loss:
        """Returns the loss before the step of that iteration, a scalar, with weight 1."""
        value = self.model.loss(self.stream)
        finite(value, batch)
        return Loss(value, 1.0)

    def condition(self, iteration: int) -> tuple[Posterior, float]:
        """Returns the process conditioned on all rows, and the loss, after so many steps, in one pass over the rows."""
        posterior, loss = self.model.posterior_and_loss(self.stream)
        return posterior, finite(loss, iteration)


class Trained(NamedTuple):
    """Holds the losses, in nats, before each step and after the last, as far as training came, and why it ended early
    (None: it did not)."""

    losses: list[float]
    ended: str | None


def train_to_least(model: SSGP, stream: RowStream, *, iterations: int, learning_rate: float) -> Trained:
    """Takes so many steps of Adam on −log p(y)/N over all rows, and leaves the model with the least loss of all that it
    came by.

    Where the loss stops being finite or cannot be computed any more training ends early. Raises TrainingEnded where
    that is so before the first step.
    """
    objective, losses, ended = MarginalLikelihood(model, stream, iterations=iterations), list[float](), None
    parameters, least = objective.parameters(), list[torch.Tensor]()
    optimizer = torch.optim.Adam(parameters, lr=learning_rate)
    try:
        for iteration in range(iterations + 1):
            loss = objective.loss(iteration).total
            if not losses or loss.item() < min(losses):
                least = [parameter.detach().clone() for parameter in parameters]
            losses.append(loss.item())
            if iteration < iterations:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    except TrainingEnded as error:
        if not losses:
            raise
        ended = str(error)
    with torch.no_grad():
        for parameter, value in zip(parameters, least, strict=True):
            parameter.copy_(value)
    return Trained(losses, ended)
