"""Points in standardised parts, scores in the target's unit, and the curve of a fit, chosen on validation rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from tqdm import tqdm

from data.points import Points
from models.numerics.standardisation import STANDARDISED, Standardisation
from models.ssgp.autoencoder import MixtureAutoencoder
from models.ssgp.linear import LinearGaussian
from models.ssgp.predictor import ChangedInputs, Process
from models.ssgp.regression import MOST_STANDARDISED

Predict = Callable[[Tensor], tuple[Tensor, Tensor]]  # inputs ↦ mean and variance of observations, standardised


class StandardisedPart(NamedTuple):
    """Holds standardised inputs (row, input) and targets (row,)."""

    inputs: Tensor
    targets: Tensor


class PointUnits(NamedTuple):
    """Holds the standardisations of inputs (input,) and target, and a map of the standardised inputs, if there is
    one."""

    inputs: Standardisation
    target: Standardisation
    change: ChangedInputs | None = None


class StandardisedPoints(NamedTuple):
    """Holds the parts, standardised by the training part, and the units that this was done by."""

    train: StandardisedPart
    validation: StandardisedPart
    test: StandardisedPart
    units: PointUnits

    @property
    def scale(self) -> float:
        """Returns the standard deviation of the training targets, in their unit."""
        return float(self.units.target.scale)


class Scores(NamedTuple):
    """Holds the root mean squared error, and the mean negative log predictive density in nats; both are for the target
    in its own unit."""

    rmse: float
    nlpd: float


class CurveRow(NamedTuple):
    """Holds one point of a curve. loss: −log p(y)/N in standardised units, of a variational process a bound of it; NaN
    where there is none."""

    iteration: int
    loss: float
    validation: Scores
    test: Scores

    def values(self) -> dict[str, float]:
        """Returns all but the iteration, by the names of metrics and of columns."""
        parts = {"validation": self.validation, "test": self.test}
        scores = {f"{part}_{name}": value for part, scored in parts.items() for name, value in scored._asdict().items()}
        return {"loss": self.loss, **scores}


def row_of(iteration: int, values: Mapping[str, float]) -> CurveRow:
    """Returns the point of a curve at an iteration whose `CurveRow.values` are given."""
    validation, test = (Scores(values[f"{part}_rmse"], values[f"{part}_nlpd"]) for part in ("validation", "test"))
    return CurveRow(iteration, values["loss"], validation, test)


def standardised_points(
    points: Points, *, rows: int | None, dtype: torch.dtype, device: torch.device
) -> StandardisedPoints:
    """Returns the parts of the points, standardised by the training part, of a dtype and on a device. rows: how many of
    each part are kept at most; None keeps all. Raises ValueError for an empty part, and as `refuse_too_large` does."""
    chosen = {name: getattr(points, name)[:rows] for name in ("train", "validation", "test")}
    for name, places in chosen.items():
        if len(places) == 0:
            raise ValueError(f"{points.name}: the {name} part has no row; give more rows, or another split of them")
    parts = [points.part(places) for places in chosen.values()]
    inputs, target = (Standardisation.of(values) for values in parts[0])
    standardised = [
        StandardisedPart(inputs.apply(x).to(device, dtype), target.apply(y).to(device, dtype)) for x, y in parts
    ]
    refuse_too_large(points.name, (*inputs, *target), standardised)
    there = [Standardisation(*(value.to(device) for value in units)) for units in (inputs, target)]
    return StandardisedPoints(*standardised, units=PointUnits(there[0], there[1]))


def refuse_too_large(name: str, units: Iterable[Tensor], parts: Iterable[StandardisedPart]) -> None:
    """Raises ValueError for units that are not finite, and for values too far from those of the training part."""
    far = any(not bool((values.abs() <= MOST_STANDARDISED).all()) for part in parts for values in part)
    if far or not all(bool(unit.isfinite().all()) for unit in units):
        raise ValueError(
            f"{name}: a column has values that are too large for double precision, or over {MOST_STANDARDISED:g} "
            "standard deviations from those of the training rows; rescale it, or leave out its extreme rows"
        )


def with_inputs(data: StandardisedPoints, change: Tensor | MixtureAutoencoder) -> StandardisedPoints:
    """Returns the points on inputs that a projection or an autoencoder changed, standardised anew."""
    parts = data.train, data.validation, data.test
    unscaled = Standardisation(torch.zeros(()), torch.ones(()))
    changed = [ChangedInputs(change, unscaled).apply(part.inputs) for part in parts]
    units = Standardisation.of(changed[0], least=STANDARDISED)
    mapped = [part._replace(inputs=units.apply(inputs)) for part, inputs in zip(parts, changed, strict=True)]
    return StandardisedPoints(*mapped, units=data.units._replace(change=ChangedInputs(change, units)))


def scores(predict: Predict, part: StandardisedPart, scale: float) -> Scores:
    """Returns the scores of a prediction on a part. scale: the standard deviation of the targets in their own unit. The
    NLPD of a row is ½ log(2πv) + (y − mean)²/(2v), plus the log of the scale for the target's own unit."""
    mean, variance = (value.double() for value in predict(part.inputs))
    squared = (part.targets.double() - mean).square()
    density = 0.5 * ((2 * math.pi * variance).log() + squared / variance)
    return Scores(scale * math.sqrt(squared.mean().item()), density.mean().item() + math.log(scale))


def curve_row(predict: Predict, data: StandardisedPoints, iteration: int, loss: float) -> CurveRow:
    """Returns the point of a curve at an iteration, with the scores of a prediction on the validation and the test
    part."""
    validation, test = (scores(predict, part, data.scale) for part in (data.validation, data.test))
    return CurveRow(iteration, loss, validation, test)


def best_place(validation: Sequence[float]) -> int:
    """Returns the place of the least NLPD on the validation part, the only thing that anything is chosen by. A value
    that is not finite is worst; of equals the first is taken."""
    return min(range(len(validation)), key=lambda place: (not math.isfinite(validation[place]), validation[place]))


class FittedCurve(NamedTuple):
    """Holds the curve of a fit, and the process at the point of it that is kept."""

    curve: list[CurveRow]
    process: Process

    @property
    def best(self) -> CurveRow:
        """Returns the point that is kept."""
        return self.curve[best_place([row.validation.nlpd for row in self.curve])]

    @property
    def solved(self) -> bool:
        """Returns true where the points of the curve are ridges, not iterations."""
        return isinstance(self.process, LinearGaussian)

    def ended_at(self, iterations: int) -> int | None:
        """Returns the last iteration of a training that ended before that many; None where it did not."""
        last = self.curve[-1].iteration
        return None if self.solved or last >= iterations else last


def say_end(curve: list[CurveRow], fit: str, error: Exception) -> None:
    """Says that the training of a fit ends early, and to which iteration its curve counts. fit: the name of the fit.
    Raises ValueError where the curve has no point."""
    if not curve:
        raise ValueError(f"{fit}: {error}") from error
    tqdm.write(f"{fit}: training ends early and counts to {curve[-1].iteration}: {error}")
