"""Training a translator without a pipeline: Adam, a rate that rises and falls, the epoch of least validation nats."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch

from models.experts.objective import EncodedPairs, TranslationObjective, measure
from models.runtime.objective import descend
from models.runtime.seeding import drawn, generator


class Training(NamedTuple):
    """Says how to train: epochs at most, updates of each, Adam's largest learning rate, the updates in which it rises
    before it falls as 1/√update, the largest norm of a gradient, and how many epochs without a better one end
    training."""

    epochs: int
    updates: int
    learning_rate: float
    warmup: int
    clip: float
    patience: int

    def share(self, update: int) -> float:
        """Returns the share of the learning rate that an update, from 0, takes."""
        return min((update + 1) / self.warmup, math.sqrt(self.warmup / (update + 1)))


def train(
    objective: TranslationObjective, validation: EncodedPairs, how: Training, *, seed: int
) -> list[tuple[float, float]]:
    """Returns the training loss and the validation nats (mean over tasks) of each epoch, the latter NaN without a
    validation pair.

    The network is left in evaluation mode with the weights of the epoch of least nats, without a validation pair with
    the last. seed: of batches, dropout and random routers. Raises ValueError for a loss that is not finite.
    """
    model, batches, curve = objective.model, generator(seed, "experts/batches"), list[tuple[float, float]]()
    optimizer = torch.optim.Adam(objective.parameters(), lr=how.learning_rate, betas=(0.9, 0.98))
    pace = torch.optim.lr_scheduler.LambdaLR(optimizer, how.share)
    optimizer.register_step_pre_hook(lambda *_: clip(objective, how.clip))
    optimizer.register_step_post_hook(lambda *_: pace.step())
    best, kept, waited = math.inf, dict[str, Any](), 0
    for epoch in range(how.epochs):
        loss = one_epoch(objective, optimizer, batches, seed, epoch)
        curve.append((loss, measure(model, validation).mean if validation.count else math.nan))
        waited += 1
        if curve[-1][1] < best:
            best, kept, waited = curve[-1][1], {k: v.clone() for k, v in model.state_dict().items()}, 0
        if validation.count and waited >= how.patience:
            break
    if kept:
        model.load_state_dict(kept)
    model.eval()
    return curve


def clip(objective: TranslationObjective, largest: float) -> None:
    """Shortens the gradient to that norm."""
    torch.nn.utils.clip_grad_norm_(objective.parameters(), largest)


def one_epoch(
    objective: TranslationObjective, optimizer: torch.optim.Optimizer, batches: torch.Generator, seed: int, epoch: int
) -> float:
    """Returns the mean loss over the batches of an epoch, each before its update. Raises ValueError where it is not
    finite."""
    objective.model.train()
    with drawn(seed, f"experts/dropout/{epoch}"):
        losses = descend(objective, optimizer, generator=batches)
    mean = sum(float(loss.total) for loss in losses) / sum(float(loss.weight) for loss in losses)
    if not math.isfinite(mean):
        raise ValueError(f"the loss of epoch {epoch + 1} is not finite; lower learning_rate")
    return mean
