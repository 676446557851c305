"""Training a network of an arm without a pipeline: Adam, the epoch of the least validation loss, patience."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import torch

from models.mctn.objective import SentimentObjective, measure
from models.mctn.samples import Samples
from models.runtime.early_stopping import Course, EarlyStopping


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
    validation part; both in the unit of the labels, whatever `Learning.unit` is.

    The network is left in evaluation mode with the weights of the epoch of least validation loss, without a validation
    part with the last. seed: of batches and dropout. Raises ValueError for a loss that is not finite.
    """
    optimizer = torch.optim.Adam(objective.parameters(), lr=how.learning_rate)
    measured = None if validation is None else partial(prediction_loss, objective, validation)
    advice = "lower learning_rate, or look for extreme numbers"
    course = Course(how.epochs, how.clip, how.patience)
    curve = EarlyStopping(objective, optimizer, measured, seed, "mctn", advice).run(course)
    unit = objective.learning.unit
    return [(unit * learned, validated) for learned, validated in curve]


def prediction_loss(objective: SentimentObjective, validation: Samples) -> float:
    """Returns the mean loss of predictions on the validation part, in the unit of the labels."""
    return measure(objective.model, validation, terms=frozenset()).losses["prediction"]
