"""A sparse-spectrum Gaussian process learnt from rows in their own units, to which more rows can be added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from models.features.kernels import Kernel
from models.features.samplers import Sampler
from models.numerics.standardisation import Standardisation, varies_by_rounding
from models.ssgp.drawn import drawn_process
from models.ssgp.fit import Trained, train_to_least
from models.ssgp.model import NearlyNoiseless, Posterior, conditioned, negative_log_likelihood
from models.ssgp.moments import FeatureMoments, feature_moments, in_blocks, sum_of_moments
from models.ssgp.predictor import Predictor

SOME_SPREAD = 0.5  # of standardised values, whose standard deviation is 1 unless it is too small for its type
MOST_STANDARDISED = 1e100  # of later rows; the phases and sums of larger ones say nothing


@dataclass(frozen=True, kw_only=True)
class Learning:
    """Says how a process is drawn and trained: see `models.ssgp.drawn.drawn_process` and
    `models.ssgp.fit.train_to_least`."""

    kernel: Kernel
    sampler: Sampler
    count: int
    iterations: int
    learning_rate: float
    train_frequencies: bool
    seed: int


class Learnt(NamedTuple):
    """Holds a process with its units, what its rows come to under its features, and the length-scales of the inputs.

    inputs, target: the standardisation of the inputs (input,) and of the target, scalars; process and moments are in
    standardised units, the length-scales (input,) in those of the inputs.
    """

    inputs: Standardisation
    target: Standardisation
    process: Posterior
    moments: FeatureMoments
    length_scales: Tensor

    def predictor(self, input_names: tuple[str, ...], target_name: str) -> Predictor:
        """Returns what predicts in the units of the rows, by the names of their columns."""
        return Predictor(self.inputs, self.target, self.process, input_names, target_name)

    def with_rows(self, inputs: Tensor, targets: Tensor) -> Learnt:
        """Returns the process conditioned on more rows, inputs (row, input) and targets (row,) in their own units.

        Units, frequencies, length-scales and variances stay as they are, so that this is the process conditioned on
        all rows at once. Raises ValueError for values beyond `MOST_STANDARDISED`, and TrainingEnded as
        `models.ssgp.model.factor_of`.
        """
        own, scaled = self.process, (self.inputs.apply(inputs), self.target.apply(targets))
        if any(bool((part.abs() > MOST_STANDARDISED).any()) for part in scaled):
            raise ValueError(
                f"values of X or y are over {MOST_STANDARDISED:g} standard deviations from those of fit; rescale them"
            )
        rows = in_blocks(*scaled)
        moments = sum_of_moments(self.moments, feature_moments(own.frequencies, rows))
        try:
            process = conditioned(own.frequencies, moments, own.signal, own.noise)
        except NearlyNoiseless as error:
            raise NearlyNoiseless(error.ratio, "fit all rows anew, for fewer iterations") from None
        return self._replace(process=process, moments=moments)

    def log_marginal_likelihood(self) -> float:
        """Returns log p(y) of all rows in nats, the density that of targets in their own unit."""
        negative = negative_log_likelihood(self.moments, self.process.signal, self.process.noise)
        return float(-negative - self.moments.rows * self.target.scale.log())


def learn(inputs: Tensor, targets: Tensor, how: Learning) -> tuple[Learnt, Trained]:
    """Returns a process learnt from inputs (row, input) and targets (row,), float64 and in their own units, and how its
    training went.

    Raises ValueError for a target that does not vary and for columns whose spread is not finite, as
    `models.ssgp.drawn.drawn_process` does, and TrainingEnded as `models.ssgp.fit.train_to_least`.
    """
    units, unit = Standardisation.of(inputs), Standardisation.of(targets)
    rows, values = units.apply(inputs), unit.apply(targets)
    check_spread(units, unit, targets, values)
    model = drawn_process(
        rows, how.kernel, how.sampler, count=how.count, seed=how.seed, train_frequencies=how.train_frequencies
    )
    stream = in_blocks(rows, values)
    trained = train_to_least(model, stream, iterations=how.iterations, learning_rate=how.learning_rate)
    with torch.no_grad():
        frequencies, length_scales = model.scaled_frequencies, model.length_scales * units.scale
    moments = feature_moments(frequencies, stream)
    process = conditioned(frequencies, moments, model.signal, model.noise)
    return Learnt(units, unit, process, moments, length_scales), trained


def check_spread(units: Standardisation, unit: Standardisation, targets: Tensor, values: Tensor) -> None:
    """Raises ValueError unless the units of inputs and target are finite, and the targets (row,) vary, in their own
    unit and standardised to values (row,)."""
    if not all(bool(part.isfinite().all()) for part in (*units, *unit)):
        raise ValueError("values of X or y are too large for a standard deviation in double precision; rescale them")
    if bool(varies_by_rounding(*targets.aminmax())) or float(values.std(correction=0)) < SOME_SPREAD:
        raise ValueError("y is constant, so that there is nothing to learn; give rows with different targets")
