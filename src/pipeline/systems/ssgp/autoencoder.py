"""The autoencoder that reconfigures inputs, trained by the gradient loop."""

from __future__ import annotations

import torch
from torch import Tensor

from models.ssgp.autoencoder import MixtureAutoencoder
from models.ssgp.autoencoder_fit import EvidenceBound, Training, new_autoencoder
from pipeline.job.curve import EpochRow, Measures
from pipeline.job.fit import Fit
from pipeline.job.fit_settings import FitSettings


def refuse_taken_back(row: EpochRow) -> None:
    """Raise ValueError where the gradient was not finite: the steps before it are all there is."""
    if not row.accepted:
        raise ValueError(f"the autoencoder's gradient is not finite at step {row.step}; lower its learning rate")


def fit_autoencoder(
    inputs: Tensor, *, latent: int, components: int, training: Training, seed: int
) -> MixtureAutoencoder:
    """The autoencoder that `models.ssgp.autoencoder_fit.train_autoencoder` gives for the same arguments."""
    model = new_autoencoder(inputs, latent=latent, components=components, seed=seed)
    settings = FitSettings(1, "adam", training.learning_rate, steps=training.steps, accept="always")
    loop = Fit(
        EvidenceBound(model, inputs, training), settings, generator=torch.Generator().manual_seed(seed),
        measures=Measures(dict, refuse_taken_back),
    )  # fmt: skip
    loop.run()
    return model
