"""Gaussian processes on points: standardised parts, scores in the target's unit, and fits chosen on validation rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from tqdm import tqdm

from data.points import Points
from models.features.kernels import Kernel
from models.features.samplers import Sampler
from models.numerics.standardisation import Standardisation
from models.ssgp.drawn import drawn_process
from models.ssgp.fit import MarginalLikelihood
from models.ssgp.linear import linear_gaussians
from models.ssgp.model import TrainingEnded
from models.ssgp.moments import in_blocks
from pipeline.job.curve import EpochRow, Measures
from pipeline.job.fit import Fit
from pipeline.job.fit_settings import FitSettings

Predict = Callable[[Tensor], tuple[Tensor, Tensor]]  # inputs ↦ mean and variance of observations, standardised


class Part(NamedTuple):
    """Standardised inputs (row, input) and targets (row,)."""

    inputs: Tensor
    targets: Tensor


class StandardisedPoints(NamedTuple):
    """Parts standardised by the training part; scale: standard deviation of the training targets, in their unit."""

    train: Part
    validation: Part
    test: Part
    scale: float


class Scores(NamedTuple):
    """Root mean squared error, and mean negative log predictive density in nats, both in the target's own unit."""

    rmse: float
    nlpd: float


class CurveRow(NamedTuple):
    """One point of a curve. loss: −log p(y)/N in standardised units, where there is one."""

    iteration: int
    loss: float
    validation: Scores
    test: Scores


def standardised_points(
    points: Points, *, rows: int | None, dtype: torch.dtype, device: torch.device
) -> StandardisedPoints:
    """rows: keep as many of each part at most; None: all. Raises ValueError for an empty part."""
    chosen = {name: getattr(points, name)[:rows] for name in ("train", "validation", "test")}
    for name, kept in chosen.items():
        if len(kept) == 0:
            raise ValueError(f"{points.name}: the {name} part has no row; give more rows, or another split of them")
    parts = [points.part(kept) for kept in chosen.values()]
    inputs, targets = (Standardisation.of(values) for values in parts[0])
    made = [Part(inputs.apply(x).to(device, dtype), targets.apply(y).to(device, dtype)) for x, y in parts]
    return StandardisedPoints(*made, scale=float(targets.scale))


def with_inputs(data: StandardisedPoints, change: Callable[[Tensor], Tensor]) -> StandardisedPoints:
    """Returns the points on changed inputs, standardised anew."""
    parts = (data.train, data.validation, data.test)
    changed = [change(part.inputs) for part in parts]
    units = Standardisation.of(changed[0])
    made = [part._replace(inputs=units.apply(inputs)) for part, inputs in zip(parts, changed, strict=True)]
    return StandardisedPoints(*made, scale=data.scale)


def scores(predict: Predict, part: Part, scale: float) -> Scores:
    """NLPD: ½ log(2πv) + (y − mean)²/(2v), plus the log of the scale for the target's own unit."""
    mean, variance = (value.double() for value in predict(part.inputs))
    squared = (part.targets.double() - mean).square()
    density = 0.5 * ((2 * math.pi * variance).log() + squared / variance)
    return Scores(scale * math.sqrt(squared.mean().item()), density.mean().item() + math.log(scale))


def curve_row(predict: Predict, data: StandardisedPoints, iteration: int, loss: float) -> CurveRow:
    validation, test = (scores(predict, part, data.scale) for part in (data.validation, data.test))
    return CurveRow(iteration, loss, validation, test)


def best_place(validation: Sequence[float]) -> int:
    """Of the least NLPD on the validation part, the only thing that anything is chosen by; not finite is worst."""
    return min(range(len(validation)), key=lambda place: (not math.isfinite(validation[place]), validation[place]))


def best_row(curve: Sequence[CurveRow]) -> CurveRow:
    return curve[best_place([row.validation.nlpd for row in curve])]


def explained(inputs: Tensor, reconfigured: Tensor) -> float:
    """1 − Σ(x − x̂)²/Σ(x − x̄)² over all rows and columns: 0 is no better than the mean; not finite for equal rows."""
    return 1 - ((inputs - reconfigured).square().sum() / (inputs - inputs.mean(0)).square().sum()).item()


def say_end(curve: Sequence[CurveRow], fit: str, error: Exception) -> None:
    """Training of a fit ends early, and its curve counts. Raises ValueError where that has no point."""
    if not curve:
        raise ValueError(f"{fit}: {error}") from error
    tqdm.write(f"{fit}: training ends early and counts to {curve[-1].iteration}: {error}")


class SparseTraining(NamedTuple):
    """How a sparse-spectrum process is trained; a row of its curve every `every` iterations and at the end."""

    iterations: int
    learning_rate: float
    every: int
    train_frequencies: bool = False


def ssgp_curve(
    data: StandardisedPoints, kernel: Kernel, sampler: Sampler, *, count: int, seed: int, training: SparseTraining
) -> list[CurveRow]:
    """Train by the marginal likelihood, of `count` frequencies that are drawn under the seed; returns the curve.

    Where the likelihood cannot be computed any more training stops, which is said, and the curve ends there.
    """
    inputs, targets = data.train
    model = drawn_process(inputs, kernel, sampler, count=count, seed=seed, train_frequencies=training.train_frequencies)
    steps, curve = training.iterations, list[CurveRow]()
    objective = MarginalLikelihood(model, in_blocks(inputs, targets), iterations=steps)
    settings = FitSettings(
        1, "adam", training.learning_rate, steps=steps, accept="always", evaluate_every=training.every
    )
    try:
        train(objective, settings, data, curve)
    except TrainingEnded as error:
        say_end(curve, f"seed {seed}, p = {count}", error)
    return curve


def train(
    objective: MarginalLikelihood, settings: FitSettings, data: StandardisedPoints, curve: list[CurveRow]
) -> None:
    """Train in place, with each row added to `curve` when it is there.

    Raises TrainingEnded as the objective does, and where the gradient is not finite.
    """

    def evaluate() -> dict[str, float]:
        posterior, loss = objective.condition(loop.progress.steps)
        row = curve_row(lambda x: posterior.predict(x)[:2], data, loop.progress.steps, loss)
        curve.append(row)
        return {"loss": loss, "validation_nlpd": row.validation.nlpd}

    def on_row(row: EpochRow) -> None:
        if not row.accepted:
            raise TrainingEnded(f"the gradient is not finite at iteration {row.step}; lower the learning rate")

    loop = Fit(objective, settings, generator=torch.Generator(), measures=Measures(evaluate, on_row))
    loop.run()


def ridge_curve(data: StandardisedPoints, ridges: Sequence[float]) -> list[CurveRow]:
    """Linear ridge regression, a row for each ridge; the variance is the mean squared training residual."""
    fits = linear_gaussians(*data.train, ridges)
    return [curve_row(lambda x, fit=fit: fit.predict(x)[:2], data, place, math.nan) for place, fit in enumerate(fits)]
