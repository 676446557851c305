"""What a model learns from: the inputs as given, principal components of them, or what an autoencoder makes of them."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor
from tqdm import tqdm

from models.numerics.signs import with_fixed_signs
from models.ssgp.autoencoder import MixtureAutoencoder
from models.ssgp.autoencoder_fit import EvidenceBound, Training, batch_generator, new_autoencoder
from models.ssgp.method import PointModel
from pipeline.host.errors import said_of
from pipeline.job import checkpoint
from pipeline.job.curve import EpochRow, Measures
from pipeline.job.fit import Fit
from pipeline.job.fit_settings import FitSettings
from pipeline.job.shared import MARK_LETTERS, forget_states, versioned
from pipeline.job.study import Study
from pipeline.systems.ssgp.config import AutoencoderConfig, SsgpConfig
from pipeline.systems.ssgp.curves import StandardisedPoints, with_inputs

VERSION = 2  # of how autoencoders are trained, raised where the same settings give another one
CHECKPOINT_STEPS = 250


def principal_directions(inputs: Tensor, count: int) -> Tensor:
    """Returns at most `count` directions of largest variance of inputs (row, input), as columns; the largest entry of
    each is positive."""
    *_, directions = torch.linalg.svd(inputs, full_matrices=False)
    return with_fixed_signs(directions[:count].T)


def refuse_taken_back(row: EpochRow) -> None:
    """Raises ValueError where the gradient was not finite: the steps before it are all there is."""
    if not row.accepted:
        raise ValueError(f"the autoencoder's gradient is not finite at step {row.step}; lower its learning rate")


def fit_autoencoder(
    inputs: Tensor, own: AutoencoderConfig, *, seed: int, path: Path | None = None
) -> MixtureAutoencoder:
    """Returns the autoencoder of these standardised inputs (row, input) after `steps` of Adam on random batches.

    seed: of weights, batches and draws. With a `path` a training that was stopped goes on from it. Raises ValueError as
    `new_autoencoder` and `EvidenceBound`, and for a gradient that is not finite.
    """
    with said_of("autoencoder"):
        model = new_autoencoder(inputs, latent=own.latent, components=own.components, seed=seed)
    training = Training(own.steps, own.batch_size, own.learning_rate, own.alpha, own.beta)
    how = FitSettings(
        1, "adam", own.learning_rate, steps=own.steps, accept="always", checkpoint_every=CHECKPOINT_STEPS,
        title="autoencoder",
    )  # fmt: skip
    loop = Fit(
        EvidenceBound(model, inputs, training), how, generator=batch_generator(seed),
        measures=Measures(dict, refuse_taken_back), path=path,
    )  # fmt: skip
    loop.run()
    return model


def mark_of(inputs: Tensor, own: AutoencoderConfig, seed: int) -> str:
    """Returns what names the autoencoder of these inputs, settings and seed among all others."""
    threads = torch.get_num_threads()  # sums are rounded by them
    said = repr((sorted(asdict(own).items()), seed, str(inputs.dtype), inputs.device.type, inputs.shape, threads))
    return hashlib.sha256(said.encode() + inputs.cpu().numpy().tobytes()).hexdigest()


def autoencoder_in(folder: Path, inputs: Tensor, own: AutoencoderConfig, seed: int) -> MixtureAutoencoder:
    """Returns the autoencoder that a folder holds, trained there first if need be."""
    path = folder / "trained.npz"
    saved = checkpoint.find(path)
    if saved is None:
        model = fit_autoencoder(inputs, own, seed=seed, path=folder / "training.npz")
        checkpoint.save(path, model.state_dict(), {})
        forget_states(folder, result=path.name)
        return model
    tqdm.write(f"autoencoder of seed {seed}: found, trained before ({folder})")
    model = new_autoencoder(inputs, latent=own.latent, components=own.components, seed=seed)
    with checkpoint.fitting(path):
        model.load_state_dict(saved.tensors)
    return model.eval()


def explained(inputs: Tensor, reconfigured: Tensor) -> float:
    """Returns 1 − Σ(x − x̂)²/Σ(x − x̄)² over all rows and columns. 0 is no better than the mean; the number is not
    finite for equal rows."""
    return 1 - ((inputs - reconfigured).square().sum() / (inputs - inputs.mean(0)).square().sum()).item()


def reconfigured(settings: SsgpConfig, points: StandardisedPoints, here: Study) -> StandardisedPoints:
    """Returns the points on inputs that the autoencoder of the seed reconfigures, which is trained on the training
    inputs alone.

    The autoencoder is trained once for all runs that want it. Logs the radius of its prior, and how much of the
    validation inputs it explains.
    """
    inputs, own = points.train.inputs, settings.autoencoder
    mark = mark_of(inputs, own, settings.seed)
    with here.place_of("autoencoder", mark, version=VERSION) as folder:
        model = autoencoder_in(folder, inputs, own, settings.seed)
    seen = points.validation.inputs
    here.run.metric("autoencoder/radius", model.radius.item())
    here.run.metric("autoencoder/explained", explained(seen, model.reconfigure(seen)))
    return with_inputs(points, model)


def inputs_for(settings: SsgpConfig, model: PointModel, points: StandardisedPoints, here: Study) -> StandardisedPoints:
    """Returns the points as the model learns from them: the inputs as given, principal components of them, or
    reconfigured."""
    if model.inputs == "given":
        return points
    with here.clock.stage(model.inputs):
        if model.inputs == "principal":
            return with_inputs(points, principal_directions(points.train.inputs, settings.autoencoder.latent))
        return reconfigured(settings, points, here)


def checkpoint_of_fit(settings: SsgpConfig, model: PointModel, points: StandardisedPoints, folder: Path) -> Path:
    """Returns where in the folder of a run the state of its fit is kept.

    The name has the mark of the autoencoder, where there is one, and of the version that trains it, so that a fit that
    was stopped does not go on with what another autoencoder gives; a line says that it begins anew.
    """
    path = folder / "fit.npz"
    if model.inputs != "autoencoder":
        return path
    mark = versioned(mark_of(points.train.inputs, settings.autoencoder, settings.seed), VERSION)
    path = path.with_stem(f"fit-{mark[:MARK_LETTERS]}")
    if not path.exists() and any(folder.glob("fit*.npz")):
        tqdm.write("the fit begins anew: before the stop it learned from the inputs of another autoencoder")
    return path
