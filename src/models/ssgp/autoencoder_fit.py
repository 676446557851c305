"""Training the mixture autoencoder."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from models.runtime.objective import Loss
from models.runtime.seeding import drawn, generator
from models.ssgp.autoencoder import MixtureAutoencoder


class Training(NamedTuple):
    """Says how an autoencoder is trained.

    steps: of Adam, on batches of `batch_size` rows, at that learning rate; alpha, beta: weights of the two terms that
    the thesis adds.
    """

    steps: int
    batch_size: int
    learning_rate: float
    alpha: float
    beta: float


class Batch(NamedTuple):
    """Holds the number of a step, the rows that it sees (row,), and the noise of one draw (row, component, latent)."""

    step: int
    rows: Tensor
    noise: Tensor


class EvidenceBound:
    """Is minus the objective of equation 3.50, to be minimised on random batches: an epoch has `training.steps` of
    them.

    inputs (row, input), standardised, of the model's device and dtype. `loss` raises ValueError where it is not finite.
    """

    def __init__(self, model: MixtureAutoencoder, inputs: Tensor, training: Training) -> None:
        self.model, self.inputs, self.training = model, inputs, training

    def parameters(self) -> list[nn.Parameter]:
        """Returns the parameters of the model."""
        return list(self.model.parameters())

    def batches(self, generator: torch.Generator) -> Iterator[Batch]:
        """Yields batches, each a random choice of rows, drawn when it is asked for."""
        size = min(self.training.batch_size, len(self.inputs))
        for step in range(self.training.steps):
            rows = torch.randperm(len(self.inputs), generator=generator)[:size].to(self.inputs.device)
            yield Batch(step, rows, self.model.noise(size, generator))

    def loss(self, batch: Batch) -> Loss:
        """Returns the bound of the batch's distribution, a scalar in nats; its pooled term is no mean over rows, so its
        weight is 1.

        Raises ValueError where it is not finite.
        """
        own = self.training
        loss = -self.model.objective(self.inputs[batch.rows], batch.noise, alpha=own.alpha, beta=own.beta)
        if not math.isfinite(loss.item()):
            raise ValueError(f"the autoencoder's objective is not finite at step {batch.step}; lower its learning rate")
        return Loss(loss, 1.0)


def new_autoencoder(inputs: Tensor, *, latent: int, components: int, seed: int) -> MixtureAutoencoder:
    """Returns an untrained autoencoder for inputs (row, input), with the first weights of that seed.

    torch's global generator is left as it was. Raises ValueError for one row, which batch norm cannot take.
    """
    if len(inputs) < 2:
        raise ValueError("the autoencoder needs at least two training rows; leave out the revisited arms")
    with drawn(seed, "ssgp/autoencoder/weights"):
        model = MixtureAutoencoder(inputs=inputs.shape[1], rows=len(inputs), latent=latent, components=components)
    return model.to(inputs.device, inputs.dtype)


def batch_generator(seed: int) -> torch.Generator:
    """Returns the generator of that seed from which batches and noise are drawn: another than that of the weights."""
    return generator(seed, "ssgp/autoencoder/batches")
