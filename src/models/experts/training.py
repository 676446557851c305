"""Training a translator without a pipeline: Adam, a rate that rises and falls, the epoch of least validation nats."""

from __future__ import annotations

from typing import NamedTuple

import torch

from models.experts.objective import EncodedPairs, TranslationObjective, measure
from models.runtime.early_stopping import Course, EarlyStopping, rising_then_falling


class Training(NamedTuple):
    """Says how to train: epochs at most, updates of each, Adam's largest learning rate, the updates in which it rises
    before it falls as 1/√update, the largest norm of a gradient, and how many epochs without a better one end
    training, counted from the epoch in which the rate stops rising; and whether the weights before the first epoch may
    be kept."""

    epochs: int
    updates: int
    learning_rate: float
    warmup: int
    clip: float
    patience: int
    from_start: bool = False

    def share(self, update: int) -> float:
        """Returns the share of the learning rate that an update, from 0, takes."""
        return rising_then_falling(update, self.warmup)

    @property
    def course(self) -> Course:
        """Returns how long to train."""
        rising = (self.warmup - 1) // self.updates
        return Course(self.epochs, self.clip, self.patience, rising=rising, from_start=self.from_start)


def train(
    objective: TranslationObjective, validation: EncodedPairs, how: Training, *, seed: int
) -> list[tuple[float, float]]:
    """Returns the training loss and the validation nats (mean over tasks) of each epoch, the latter NaN without a
    validation pair.

    The network is left in evaluation mode with the weights of the epoch of least nats, or those before the first, see
    `Training`; without a validation pair with the last. seed: of batches, dropout and random routers. Raises ValueError
    for a training loss that is not finite, and where no epoch's nats are.
    """
    optimizer = torch.optim.Adam(objective.parameters(), lr=how.learning_rate, betas=(0.9, 0.98))
    pace = torch.optim.lr_scheduler.LambdaLR(optimizer, how.share)
    optimizer.register_step_post_hook(lambda *_: pace.step())
    nats = (lambda: measure(objective.model, validation).mean) if validation.count else None
    return EarlyStopping(objective, optimizer, nats, seed, "experts").run(how.course)
