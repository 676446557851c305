"""Training a network of documents without a pipeline: hidden words first, then the task; the best epoch is kept."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch

from models.documents.examples import Example
from models.documents.objective import GuessingObjective, Prepared, ReadingObjective
from models.documents.predictor import DocumentPredictor
from models.runtime.early_stopping import Course, EarlyStopping, rising_then_falling
from models.sequence.entities import Counts, entity_counts

DECAY = 0.01  # of weights, in AdamW
MOST_TOKENS = 4096  # of a batch that nobody chose
UPDATES = 10  # of an epoch at least, where batches can be small enough: patience=5 then outlasts warmup=50


class Training(NamedTuple):
    """Says how to train: epochs at most, AdamW's largest learning rate, the updates in which it rises before it falls
    as 1/√update, the largest norm of a gradient, and how many epochs without a better one end training."""

    epochs: int
    learning_rate: float
    warmup: int
    clip: float
    patience: int


def train(
    objective: ReadingObjective | GuessingObjective,
    held_out: ReadingObjective | None,
    how: Training,
    *,
    seed: int,
    name: str,
) -> list[tuple[float, float]]:
    """Returns the training and the validation loss of each epoch, the latter NaN without a validation part.

    The network is left in evaluation mode with the weights of the epoch of least validation loss, without a validation
    part with the last. seed, name: of batches and dropout. Raises ValueError for a loss that is not finite.
    """
    optimizer = torch.optim.AdamW(objective.parameters(), lr=how.learning_rate, weight_decay=DECAY)
    pace = torch.optim.lr_scheduler.LambdaLR(optimizer, partial(rising_then_falling, warmup=how.warmup))
    optimizer.register_step_post_hook(lambda *_: pace.step())
    measured: Callable[[], float] | None = None if held_out is None else partial(mean_loss, held_out)
    return EarlyStopping(objective, optimizer, measured, seed, f"documents/{name}").run(
        Course(how.epochs, how.clip, how.patience)
    )


def tokens_for(documents: Sequence[Prepared], *, most: int = MOST_TOKENS) -> int:
    """Returns how many tokens a batch of these documents may have: `most`, and of few documents so many fewer that an
    epoch has 10 updates, but never fewer than the longest one has."""
    lengths = [len(document.tokens.ids) for document in documents]
    return max(*lengths, min(most, sum(lengths) // UPDATES))


def mean_loss(objective: Any) -> float:
    """Returns the mean loss over all documents of an objective, each read by itself."""
    objective.model.eval()
    with torch.inference_mode():
        losses = [objective.loss([row]) for row in range(len(objective.documents))]
    return sum(float(loss.total) for loss in losses) / sum(float(loss.weight) for loss in losses)


def warn_of_nothing_found(predictor: DocumentPredictor, held_out: Sequence[Example], how: Training) -> None:
    """Warns where the held-out documents have entities and none of them is found, with what to try."""
    found = predictor.labels([own.document for own in held_out])
    counts = sum(entity_counts([own.answer for own in held_out], found).values(), Counts())
    if counts.true and not counts.right:
        patience = min(3 * how.patience, 3 * how.epochs)  # more never ends training
        longer = f"epochs={3 * how.epochs}" + (f" and patience={patience}" if patience > how.patience else "")
        warnings.warn(
            f"none of the {counts.true} entities of {len(held_out)} held-out documents is found; try {longer}, "
            f"learning_rate={3 * how.learning_rate:g}, or more documents",
            stacklevel=3,
        )
