"""How each model of points is fitted: its curve, chosen on validation rows, and what predicts at the point kept."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch

from models.features.kernels import Kernel
from models.features.samplers import Sampler
from models.ssgp.drawn import drawn_process, first_length_scale
from models.ssgp.fit import MarginalLikelihood
from models.ssgp.linear import linear_gaussians
from models.ssgp.method import PointModel, SparseSpectrum
from models.ssgp.model import NearlyNoiseless, TrainingEnded
from models.ssgp.moments import in_blocks
from pipeline.job.curve import Decision, EpochRow, Measures
from pipeline.job.fit import Fit
from pipeline.job.fit_settings import FitSettings
from pipeline.systems.ssgp.config import SsgpConfig
from pipeline.systems.ssgp.curves import (
    CurveRow,
    FittedCurve,
    StandardisedPoints,
    best_place,
    curve_row,
    row_of,
    say_end,
)


class Draw(NamedTuple):
    """Says by what frequencies are drawn."""

    kernel: Kernel
    sampler: Sampler


def process_loop(
    settings: SsgpConfig, objective: MarginalLikelihood, data: StandardisedPoints, path: Path | None
) -> tuple[Fit, list[CurveRow]]:
    """Returns the loop that trains a process by its marginal likelihood, and the curve that it fills. path: of the
    checkpoint of the loop, if there is to be one.

    The loop raises TrainingEnded as the objective does, and where the gradient is not finite.
    """
    curve, own = list[CurveRow](), settings.ssgp

    def evaluate() -> dict[str, float]:
        posterior, loss = objective.condition(loop.progress.steps)
        return curve_row(lambda x: posterior.predict(x)[:2], data, loop.progress.steps, loss).values()

    def on_row(row: EpochRow) -> None:
        if not row.accepted:
            raise TrainingEnded(f"the gradient is not finite at iteration {row.step}; lower the learning rate")
        curve.append(row_of(row.step, row.values))

    measures = Measures(evaluate, on_row, Decision("validation_nlpd"))
    how = FitSettings(
        1, "adam", own.learning_rate, steps=own.iterations, accept="always", evaluate_every=own.every, title="training"
    )
    loop = Fit(objective, how, generator=torch.Generator(), measures=measures, path=path)
    return loop, curve


def fit_process(
    settings: SsgpConfig, data: StandardisedPoints, draw: Draw, *, train_frequencies: bool, path: Path | None = None
) -> FittedCurve:
    """Trains a sparse-spectrum process by the marginal likelihood; the parameters of least validation NLPD are kept.

    Where the likelihood cannot be computed any more, training stops and the curve ends there, which is said. With a
    `path` a training that was stopped goes on from it to the same numbers.
    """
    model = drawn_process(
        data.train.inputs, draw.kernel, draw.sampler, count=settings.features.count, seed=settings.seed,
        train_frequencies=train_frequencies,
    )  # fmt: skip
    objective = MarginalLikelihood(model, in_blocks(*data.train), iterations=settings.ssgp.iterations)
    loop, curve = process_loop(settings, objective, data, path)
    try:
        loop.run()
    except TrainingEnded as error:
        say_end(curve, f"seed {settings.seed}, p = {settings.features.count}", with_advice(error, data))
        model.load_state_dict(loop.progress.best)
    posterior, _ = objective.condition(loop.progress.kept.step)
    return FittedCurve(curve, posterior)


def with_advice(error: TrainingEnded, data: StandardisedPoints) -> TrainingEnded:
    """Returns the error, which advises double precision too where the rows are not in it."""
    if isinstance(error, NearlyNoiseless) and data.train.inputs.dtype != torch.float64:
        return NearlyNoiseless(error.ratio, "train for fewer iterations, or in double precision (dtype=float64)")
    return error


def fit_ridge(data: StandardisedPoints, ridges: list[float]) -> FittedCurve:
    """Fits linear ridge regression, with a row of the curve for each ridge."""
    fits = linear_gaussians(*data.train, ridges)
    curve = [curve_row(lambda x, fit=fit: fit.predict(x)[:2], data, place, math.nan) for place, fit in enumerate(fits)]
    kept = fits[best_place([row.validation.nlpd for row in curve])]
    return FittedCurve(curve, kept)


def fit_peer(name: str, settings: SsgpConfig, data: StandardisedPoints) -> FittedCurve:
    """Trains a model of GPyTorch's as our own are trained. name: rff, svgp or full_gp. The first two begin at the same
    length-scale as ours, the third at the likeliest of it, its half, quarter and eighth. GPyTorch is an extra, and is
    imported only when this is called."""
    from pipeline.systems.ssgp import gpytorch_peers as peers

    own, count = settings.ssgp, settings.features.count
    scale = first_length_scale(data.train.inputs, settings.seed)
    training = peers.PeerTraining(own.iterations, own.learning_rate, own.every, scale, settings.seed)
    fits: dict[str, Callable[[], FittedCurve]] = {
        "rff": lambda: peers.rff(data, training, count=count),
        "svgp": lambda: peers.svgp(data, training, inducing=2 * count, batch_size=settings.gpytorch.batch_size),
        "full_gp": lambda: peers.full_gp(data, training, points=settings.gpytorch.points),
    }
    return fits[name]()


def fit(
    settings: SsgpConfig, model: PointModel, data: StandardisedPoints, draw: Draw | None, path: Path
) -> FittedCurve:
    """Returns the fit of a model to standardised points. path: of its checkpoint, of those that have one."""
    if model.peer:
        return fit_peer(model.name, settings, data)
    if isinstance(model, SparseSpectrum) and draw is not None:
        return fit_process(settings, data, draw, train_frequencies=model.trains_frequencies, path=path)
    return fit_ridge(data, settings.ssgp.ridges)
