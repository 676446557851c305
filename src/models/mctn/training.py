"""Training a network of an arm without a pipeline: Adam, the epoch of the least validation loss, patience."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch

from models.mctn.objective import SentimentObjective, measure
from models.mctn.samples import Samples
from models.runtime.objective import descend
from models.runtime.seeding import drawn, generator


class Training(NamedTuple):
    """Says how to train: passes over the samples at most, Adam's learning rate, the largest norm of a gradient, and how
    many epochs without a better one end training."""

    epochs: int
    learning_rate: float
    clip: float
    patience: int


def train(
    objective: SentimentObjective, validation: Samples | None, how: Training, *, seed: int
) -> list[tuple[float, float]]:
    """Returns the training and the validation loss of each epoch, the latter of predictions alone, NaN without a
    validation part.

    The network is left in evaluation mode with the weights of the epoch of least validation loss, without a validation
    part with the last. seed: of batches and dropout. Raises ValueError for a loss that is not finite.
    """
    model, batches, curve = objective.model, generator(seed, "mctn/batches"), list[tuple[float, float]]()
    optimizer = torch.optim.Adam(objective.parameters(), lr=how.learning_rate)
    optimizer.register_step_pre_hook(lambda *_: clip(objective, how.clip))
    best, kept = math.inf, dict[str, Any]()
    waited = 0
    for epoch in range(how.epochs):
        model.train()
        curve.append((one_epoch(objective, optimizer, batches, seed, epoch), validation_loss(objective, validation)))
        if validation is None:
            continue
        waited += 1
        if curve[-1][1] < best:
            best, kept, waited = curve[-1][1], {k: v.clone() for k, v in model.state_dict().items()}, 0
        if waited >= how.patience:
            break
    if kept:
        model.load_state_dict(kept)
    model.eval()
    return curve


def clip(objective: SentimentObjective, largest: float) -> None:
    """Shortens the gradient to that norm."""
    torch.nn.utils.clip_grad_norm_(objective.parameters(), largest)


def one_epoch(
    objective: SentimentObjective, optimizer: torch.optim.Optimizer, batches: torch.Generator, seed: int, epoch: int
) -> float:
    """Returns the mean loss over the batches of an epoch, each before its step. Raises ValueError where it is not
    finite."""
    with drawn(seed, f"mctn/dropout/{epoch}"):
        losses = descend(objective, optimizer, generator=batches)
    mean = sum(float(loss.total) for loss in losses) / sum(float(loss.weight) for loss in losses)
    if not math.isfinite(mean):
        raise ValueError(
            f"the loss of epoch {epoch + 1} is not finite; lower learning_rate, or look for extreme numbers"
        )
    return mean


def validation_loss(objective: SentimentObjective, validation: Samples | None) -> float:
    """Returns the mean loss of predictions on the validation part, NaN without one."""
    if validation is None:
        return math.nan
    return measure(objective.model, validation, terms=frozenset()).losses["prediction"]
