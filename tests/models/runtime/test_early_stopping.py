"""Training that ends by a validation loss."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from models.runtime.early_stopping import Course, EarlyStopping
from models.runtime.objective import Loss


class ToOne:
    """A line that is to give 1."""

    def __init__(self) -> None:
        self.model = nn.Linear(1, 1)

    def parameters(self) -> list[Tensor]:
        return list(self.model.parameters())

    def batches(self, generator: torch.Generator) -> Iterator[Tensor]:  # noqa: ARG002
        yield torch.ones(4, 1)

    def loss(self, batch: Tensor) -> Loss:
        return Loss((self.model(batch) - 1).square().sum(), 4.0)


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_a_validation_loss_that_is_not_finite_is_an_error(wrong: float) -> None:
    losses, objective = iter([1.0, wrong]), ToOne()
    optimiser = torch.optim.SGD(objective.parameters(), lr=0.01)
    training = EarlyStopping(objective, optimiser, lambda: next(losses), 0, "line")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="the validation loss of epoch 2 is not finite; lower learning_rate"):
        training.run(Course(3, 1.0, 5))
