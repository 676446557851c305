"""What `recipe=ssgp` refuses before anything is loaded."""

from __future__ import annotations

from importlib.util import find_spec

from hydra.utils import get_object

from models.ssgp.method import MODELS, PointModel
from pipeline.host.errors import PipelineError
from pipeline.systems.ssgp.config import SsgpConfig

LEAST_PICTURE = 4  # points that t-SNE needs at least


def check(settings: SsgpConfig) -> None:
    """Raises PipelineError for settings that mean nothing to the model, or nothing together."""
    model: type[PointModel] = get_object(settings.model["_target_"])
    if model not in MODELS.values():
        raise PipelineError(
            f"model._target_={settings.model['_target_']} cannot be fitted; choose model=ssgp or another"
        )
    if settings.stream.rows and not model.draws:
        raise PipelineError(
            f"stream.rows: model={model.name} draws no frequencies to stream rows through; use model=ssgp"
        )
    if model.inputs == "autoencoder" and settings.autoencoder.batch_size < 2:
        raise PipelineError("autoencoder.batch_size=1: its layers normalise over a batch; give at least 2")
    if model.inputs == "autoencoder" and settings.ssgp.picture < LEAST_PICTURE:
        raise PipelineError(f"ssgp.picture={settings.ssgp.picture}: a t-SNE takes at least {LEAST_PICTURE} points")
    if model.peer:
        check_peer(settings, model.name)


def check_peer(settings: SsgpConfig, name: str) -> None:
    """Raises PipelineError where GPyTorch is not installed, and for another kernel than its models have here."""
    if find_spec("gpytorch") is None:
        raise PipelineError(
            f"model={name} needs GPyTorch; install it (pip install -c constraints.txt -e '.[gp]'), or leave it out"
        )
    if not str(settings.kernel.get("_target_")).endswith(".Gaussian"):
        raise PipelineError(f"model={name} has the Gaussian kernel; use kernel=gaussian or leave it out")
