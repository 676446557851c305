"""Training the hyper-parameters by the marginal likelihood."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from models.ssgp.model import SSGP, TrainingEnded
from models.ssgp.moments import Stream

Watch = Callable[[int, float], None]


def train(model: SSGP, stream: Stream, *, iterations: int, learning_rate: float, watch: Watch) -> None:
    """`iterations` steps of Adam on −log p(y)/N over all rows; `watch` is told of the loss before the step of each
    iteration (0, 1, …) and once more at the end.

    Raises TrainingEnded when the loss stops being finite or cannot be computed any more.
    """
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=learning_rate)
    for iteration in range(iterations):
        optimizer.zero_grad()
        loss = model.loss(stream)
        watch(iteration, _finite(loss, iteration))
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        watch(iterations, _finite(model.loss(stream), iterations))


def _finite(loss: torch.Tensor, iteration: int) -> float:
    value = loss.item()
    if not math.isfinite(value):
        raise TrainingEnded(f"the marginal likelihood is not finite at iteration {iteration}; lower the learning rate")
    return value
