"""The arms of `recipe=ssgp`: models, with the sampler of those that draw, and how each is fitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from models.features.samplers import check_pair
from models.numerics.signs import with_fixed_signs
from models.ssgp.autoencoder_fit import Training
from models.ssgp.drawn import first_length_scale
from pipeline.host.errors import PipelineError
from pipeline.settings.build import build
from pipeline.systems.ssgp.autoencoder import fit_autoencoder
from pipeline.systems.ssgp.config import SsgpConfig
from pipeline.systems.ssgp.curves import (
    CurveRow,
    SparseTraining,
    StandardisedPoints,
    explained,
    ridge_curve,
    ssgp_curve,
    with_inputs,
)

if TYPE_CHECKING:
    from pipeline.systems.ssgp.gpytorch_peers import PeerTraining


class Cell(NamedTuple):
    """One fit: an arm, the number of frequencies (0: it has none) and the seed."""

    arm: str
    p: int
    seed: int


class Bench:
    """The points, and what fits to them share: the kernel, the samplers, and inputs that were changed."""

    def __init__(self, settings: SsgpConfig, points: StandardisedPoints) -> None:
        self.settings, self.points = settings, points
        self.kernel = build("kernel", settings.kernel, settings.extensions)
        asked = {arm_of(name, settings.samplers)[1] for name in settings.ssgp.arms} - {""}
        self.samplers = {
            name: build(f"samplers.{name}", settings.samplers[name], settings.extensions) for name in sorted(asked)
        }
        for sampler in self.samplers.values():
            check_pair(self.kernel, sampler)
        self.reconfigured = cache(self.reconfigure)
        self.unlogged: dict[int, dict[str, float]] = {}  # by seed: what autoencoders trained since have come to

    def reconfigure(self, seed: int) -> StandardisedPoints:
        """Returns the points on inputs that an autoencoder reconfigured, trained on the training inputs alone.

        Noted are the radius of its prior, and what it explains of the validation inputs (`curves.explained`).
        """
        own = self.settings.autoencoder
        training = Training(own.steps, own.batch_size, own.learning_rate, own.alpha, own.beta)
        model = fit_autoencoder(
            self.points.train.inputs, latent=own.latent, components=own.components, training=training, seed=seed
        )
        seen = self.points.validation.inputs
        self.unlogged[seed] = {"radius": model.radius.item(), "explained": explained(seen, model.reconfigure(seen))}
        return with_inputs(self.points, model.reconfigure)

    @cached_property
    def projected(self) -> StandardisedPoints:
        """The points on as many principal components of the inputs as the latent space has dimensions."""
        *_, directions = torch.linalg.svd(self.points.train.inputs, full_matrices=False)
        kept = with_fixed_signs(directions[: self.settings.autoencoder.latent].T)
        return with_inputs(self.points, lambda inputs: inputs @ kept)

    def fit(self, cell: Cell) -> list[CurveRow]:
        """Returns the curve of one fit. Raises PipelineError for an arm that is unknown."""
        arm, sampler = arm_of(cell.arm, self.samplers)
        return arm.fit(self, sampler, cell)

    def sparse(
        self, points: StandardisedPoints, sampler: str, cell: Cell, *, train_frequencies: bool = False
    ) -> list[CurveRow]:
        own = self.settings.ssgp
        training = SparseTraining(own.iterations, own.learning_rate, own.every, train_frequencies)
        return ssgp_curve(points, self.kernel, self.samplers[sampler], count=cell.p, seed=cell.seed, training=training)

    def ridge(self, points: StandardisedPoints) -> list[CurveRow]:
        return ridge_curve(points, self.settings.ssgp.ridges)

    def stops_early(self, cell: Cell, curve: list[CurveRow]) -> bool:
        """Whether training ended before its last iteration, which `curves.say_end` has told."""
        arm, _ = arm_of(cell.arm, self.samplers)
        return not arm.linear and curve[-1].iteration < self.settings.ssgp.iterations


def peer_training(bench: Bench, cell: Cell) -> PeerTraining:
    """Returns how GPyTorch's models are trained: as ours, from the same length-scale. GPyTorch is an extra."""
    from pipeline.systems.ssgp.gpytorch_peers import PeerTraining

    own = bench.settings.ssgp
    scale = first_length_scale(bench.points.train.inputs, cell.seed)
    return PeerTraining(own.iterations, own.learning_rate, own.every, scale, cell.seed)


def full_gp(bench: Bench, sampler: str, cell: Cell) -> list[CurveRow]:  # noqa: ARG001
    from pipeline.systems.ssgp.gpytorch_peers import full_gp_curve

    return full_gp_curve(bench.points, peer_training(bench, cell), points=bench.settings.gpytorch.points)


def rff(bench: Bench, sampler: str, cell: Cell) -> list[CurveRow]:  # noqa: ARG001
    from pipeline.systems.ssgp.gpytorch_peers import rff_curve

    return rff_curve(bench.points, peer_training(bench, cell), count=cell.p)


def svgp(bench: Bench, sampler: str, cell: Cell) -> list[CurveRow]:  # noqa: ARG001
    from pipeline.systems.ssgp.gpytorch_peers import svgp_curve

    batch_size = bench.settings.gpytorch.batch_size
    return svgp_curve(bench.points, peer_training(bench, cell), inducing=2 * cell.p, batch_size=batch_size)


@dataclass(frozen=True)
class Arm:
    """A model of the comparison.

    fit: makes the curve of a `Cell` on a `Bench`, with the name of a sampler ("" for a model that draws nothing).
    draws: draws frequencies by a sampler, with which it is named.
    counted: has a number of frequencies, or of inducing points.
    linear: is solved, not trained by iterations.
    changes_ssgp: is an SSGP to which something was done, and is compared with the SSGP itself.
    autoencoder: takes the inputs that an autoencoder reconfigured. pictured: these are shown beside the inputs.
    peer: is GPyTorch's, with the Gaussian kernel, and draws independently if it draws.
    dashes: of the line at the height of its error; None where it has a curve for each count.
    """

    model: str
    fit: Callable[[Bench, str, Cell], list[CurveRow]]
    draws: bool = False
    counted: bool = False
    linear: bool = False
    changes_ssgp: bool = False
    autoencoder: bool = False
    pictured: bool = False
    peer: bool = False
    dashes: Any = None

    def fits_once(self, settings: SsgpConfig, rows: int) -> bool:
        """Whether one fit stands for all seeds: the full process draws rows where there are more than it takes."""
        return self.model == "ridge" or (self.model == "full_gp" and rows <= settings.gpytorch.points)


ARMS = {
    arm.model: arm
    for arm in (
        Arm("ssgp", lambda bench, sampler, cell: bench.sparse(bench.points, sampler, cell), draws=True, counted=True),
        Arm(
            "spectrum",
            lambda bench, sampler, cell: bench.sparse(bench.points, sampler, cell, train_frequencies=True),
            draws=True, counted=True, changes_ssgp=True,
        ),
        Arm(
            "revisited", lambda bench, sampler, cell: bench.sparse(bench.reconfigured(cell.seed), sampler, cell),
            draws=True, counted=True, changes_ssgp=True, autoencoder=True, pictured=True,
        ),
        Arm("pca", lambda bench, sampler, cell: bench.sparse(bench.projected, sampler, cell), draws=True, counted=True),
        Arm("rff", rff, draws=True, counted=True, peer=True),
        Arm("svgp", svgp, counted=True, peer=True),
        Arm("ridge", lambda bench, *_: bench.ridge(bench.points), linear=True, dashes=(0, (1, 3))),
        Arm(
            "vae_ridge", lambda bench, _, cell: bench.ridge(bench.reconfigured(cell.seed)), linear=True,
            autoencoder=True, dashes=(0, (5, 4)),
        ),
        Arm("full_gp", full_gp, peer=True, dashes="-"),
    )
}  # fmt: skip


def model_of(name: str) -> Arm | None:
    """Returns the arm whose model stands in front of the sampler in a name; None where there is no such model."""
    return ARMS.get(name.partition("/")[0])


def arm_of(name: str, samplers: dict[str, Any]) -> tuple[Arm, str]:
    """Returns the arm of a name and its sampler ("" where none is drawn by). Raises PipelineError for an unknown name.

    samplers: those that an arm may draw by.
    """
    arm, (_, _, sampler) = model_of(name), name.partition("/")
    if arm is None or (sampler and not arm.draws):
        known = ", ".join(f"{arm.model}/SAMPLER" if arm.draws else arm.model for arm in ARMS.values())
        raise PipelineError(f"ssgp.arms: {name} is unknown; choose of {known}")
    if arm.draws and sampler not in samplers:
        raise PipelineError(f"ssgp.arms: {name} needs a sampler; choose {arm.model}/ one of {', '.join(samplers)}")
    if arm.draws and arm.peer and sampler != "iid":
        raise PipelineError(
            f"ssgp.arms: GPyTorch draws frequencies independently; use {arm.model}/iid in place of {name}"
        )
    return arm, sampler


def check_peers(settings: SsgpConfig) -> None:
    """Raises PipelineError where an arm needs GPyTorch and it is not installed, or another kernel than it has here."""
    asked = [name for name in settings.ssgp.arms if arm_of(name, settings.samplers)[0].peer]
    if not asked:
        return
    if find_spec("gpytorch") is None:
        raise PipelineError(
            f"ssgp.arms: {', '.join(asked)} need GPyTorch; install it (pip install -c constraints.txt -e '.[gp]'), or "
            "leave them out"
        )
    if not str(settings.kernel.get("_target_")).endswith(".Gaussian"):
        raise PipelineError(
            f"ssgp.arms: {', '.join(asked)} have the Gaussian kernel; use kernel=gaussian or leave them out"
        )
