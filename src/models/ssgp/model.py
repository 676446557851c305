"""Sparse-spectrum Gaussian process regression (Lázaro-Gredilla, Quiñonero-Candela, Rasmussen and Figueiras-Vidal 2010,
Journal of Machine Learning Research 11; thesis, section 3.1.2.2): y = g(x) + ε, g with kernel s² Φ(x)ᵀ Φ(x′).

With B = I + (s²/σ²) Φᵀ Φ of size 2m, all that a Gaussian process needs follows from `moments.FeatureMoments`:

    −log p(y) = ½ [ (yᵀy − (s²/σ²) yᵀΦ B⁻¹ Φᵀy)/σ² + log|B| + N log(2π σ²) ]
    mean(x) = (s²/σ²) Φ(x)ᵀ B⁻¹ Φᵀy,   variance(x) = s² Φ(x)ᵀ B⁻¹ Φ(x)  (+ σ² for an observation)

The eigenvalues of B are at least 1, so that duplicate rows or a singular Φᵀ Φ do no harm, unless s²/σ² is so large that
the rounding of Φᵀ Φ, times it, exceeds 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from models.features.maps import random_features
from models.numerics.ridge import factor_ridge
from models.ssgp.moments import BLOCK, FeatureMoments, RowStream, feature_moments

NOISE_FLOOR = 1e-6  # of the noise variance, in units of the standardised target's
FIRST_NOISE = 0.25  # the noise variance that training begins with


class Prediction(NamedTuple):
    """Holds mean and variance of new observations, and the function's own variance; each (row,)."""

    mean: Tensor
    variance: Tensor
    function_variance: Tensor


def predicted_in_blocks(predict: Callable[[Tensor], Prediction], inputs: Tensor) -> Prediction:
    """Returns what `predict` gives at inputs (row, dimension), taken `BLOCK` rows at a time: memory for what lies
    between inputs and prediction is that of a block."""
    blocks = [predict(rows) for rows in inputs.split(BLOCK)]
    return Prediction(*(torch.cat(values) for values in zip(*blocks, strict=True)))


class TrainingEnded(ValueError):
    """Says that the likelihood cannot be computed any more with the hyper-parameters that training has come to."""


class NearlyNoiseless(TrainingEnded):
    """Says that the noise variance is so small beside the signal's that rounding decides. ratio: of the signal variance
    to that of the noise. advice: what is to be done."""

    def __init__(self, ratio: float, advice: str = "train for fewer iterations") -> None:
        super().__init__(
            f"a signal variance of {ratio:.3g} times the noise variance is more than the sums over features carry: the "
            f"targets are nearly free of noise; {advice}"
        )
        self.ratio, self.advice = ratio, advice

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns what another process makes the error of."""
        return type(self), (self.ratio, self.advice)


def softplus_inverse(value: float) -> float:
    """Returns r with log(1 + eʳ) = value > 0."""
    return value + math.log(-math.expm1(-value))


def factor_of(gram: Tensor, ratio: Tensor) -> Tensor:
    """Returns the lower Cholesky factor (2m, 2m) of B = I + ratio·gram.

    gram: Φᵀ Φ (2m, 2m); ratio: s²/σ², a scalar. Raises NearlyNoiseless where rounding leaves it without one,
    TrainingEnded where the ratio is not finite.
    """
    if not math.isfinite(ratio.item()):
        raise TrainingEnded("the ratio of signal and noise variance is not finite any more; lower the learning rate")
    try:
        return factor_ridge(ratio * gram, 1.0)
    except ValueError:
        raise NearlyNoiseless(ratio.item()) from None


def negative_log_likelihood(moments: FeatureMoments, signal: Tensor, noise: Tensor) -> Tensor:
    """Returns −log p(y) in nats, a differentiable scalar, for the variances s² and σ², which are scalars.

    The formula stands at the head of the module. Errors: as `factor_of`.
    """
    ratio = signal / noise
    factor = factor_of(moments.gram, ratio)
    half = torch.linalg.solve_triangular(factor, moments.cross.unsqueeze(1), upper=False)
    quadratic = (moments.square - ratio * half.square().sum()) / noise
    determinant = 2 * factor.diagonal().log().sum() + moments.rows * noise.log()
    return 0.5 * (quadratic + determinant + moments.rows * math.log(2 * math.pi))


class Posterior(NamedTuple):
    """Holds a fitted process: frequencies over length-scales (m, dimension), the Cholesky factor of B (2m, 2m), the
    weights (s²/σ²) B⁻¹ Φᵀy (2m,), and the variances s² and σ²."""

    frequencies: Tensor
    factor: Tensor
    weights: Tensor
    signal: Tensor
    noise: Tensor

    def predict(self, inputs: Tensor) -> Prediction:
        """Returns mean and variances (row,), float64, at inputs (row, dimension), see `predicted_in_blocks`."""
        return predicted_in_blocks(self._of_block, inputs)

    def _of_block(self, inputs: Tensor) -> Prediction:
        features = random_features(inputs.double(), self.frequencies)
        half = torch.linalg.solve_triangular(self.factor, features.T, upper=False)
        variance = self.signal * half.square().sum(0)
        return Prediction(features @ self.weights, variance + self.noise, variance)

    def draw(self, inputs: Tensor, *, functions: int, generator: torch.Generator) -> Tensor:
        """Returns so many functions drawn from the process, at inputs (row, dimension): float64 (row, functions).

        The weights of a function are normal with mean `weights` and covariance s² B⁻¹. Rows are taken in blocks, so
        that memory grows with the functions at all rows, and not with the features of all rows.
        """
        shape = len(self.weights), functions
        normal = torch.randn(shape, generator=generator, dtype=torch.float64).to(self.factor.device)
        spread = self.signal.sqrt() * torch.linalg.solve_triangular(self.factor.mT, normal, upper=True)
        weights = self.weights.unsqueeze(1) + spread
        return torch.cat([random_features(rows.double(), self.frequencies) @ weights for rows in inputs.split(BLOCK)])


@torch.no_grad()
def conditioned(frequencies: Tensor, moments: FeatureMoments, signal: Tensor, noise: Tensor) -> Posterior:
    """Returns the process of these frequencies over length-scales (m, dimension) and variances s² and σ², conditioned
    on rows that come to `moments` under the frequencies.

    Raises TrainingEnded as `factor_of`.
    """
    ratio = signal / noise
    factor = factor_of(moments.gram, ratio)
    weights = ratio * torch.cholesky_solve(moments.cross.unsqueeze(1), factor).squeeze(1)
    return Posterior(frequencies.detach(), factor, weights, signal.detach(), noise.detach())


class SSGP(nn.Module):
    """Holds the hyper-parameters: length-scales (dimension,), s² and σ², and the frequencies, trained if asked for.

    What is positive is log(1 + eʳ) of a trained r. That is linear in a large r, so that a step takes a length-scale on
    by about the learning rate. Trained in its logarithm, that of an input that says little would grow by a factor in
    each step, and the function would follow its trend the further beyond the training rows.

    frequencies: (m, dimension), float64, of the kernel's spectral measure at bandwidth 1; see
    `models.features.samplers.draw_frequencies`. scale: the length-scale that training begins with.
    Raises ValueError for a scale that is not positive and frequencies of another shape.
    """

    def __init__(self, frequencies: Tensor, *, scale: float = 1.0, train_frequencies: bool = False) -> None:
        super().__init__()
        if frequencies.ndim != 2 or frequencies.numel() == 0:
            raise ValueError(f"frequencies must have shape (count, dimension), got {tuple(frequencies.shape)}")
        if not 0 < scale < math.inf:
            raise ValueError(f"the first length-scale must be positive and finite, got {scale}")
        start = frequencies.double()
        self.frequencies = nn.Parameter(start.clone(), requires_grad=train_frequencies)
        self.raw_scales = nn.Parameter(start.new_full((frequencies.shape[1],), softplus_inverse(scale)))
        self.raw_signal = nn.Parameter(start.new_full((), softplus_inverse(1.0)))
        self.raw_noise = nn.Parameter(start.new_full((), softplus_inverse(FIRST_NOISE)))

    @property
    def length_scales(self) -> Tensor:
        """Returns the length-scales (dimension,), in the units of the inputs."""
        return softplus(self.raw_scales)

    @property
    def scaled_frequencies(self) -> Tensor:
        """Returns frequencies over length-scales, (m, dimension): Φ of them at x is Φ of the unscaled ones at x over
        the length-scales.

        Raises TrainingEnded where one is not finite.
        """
        scaled = self.frequencies / self.length_scales
        if not bool(scaled.isfinite().all()):
            raise TrainingEnded("a frequency over its length-scale is not finite any more; lower the learning rate")
        return scaled

    @property
    def signal(self) -> Tensor:
        """Returns s², the variance of the function, a scalar in the squared unit of the targets."""
        return softplus(self.raw_signal)

    @property
    def noise(self) -> Tensor:
        """Returns σ², the variance of the noise, a scalar in the squared unit of the targets, at least
        `NOISE_FLOOR`."""
        return softplus(self.raw_noise) + NOISE_FLOOR

    def loss(self, stream: RowStream) -> Tensor:
        """Returns −log p(y)/N in nats, a differentiable scalar.

        Raises ValueError as `feature_moments`, TrainingEnded as `factor_of` and `scaled_frequencies`.
        """
        return self.loss_of(feature_moments(self.scaled_frequencies, stream))

    @torch.no_grad()
    def posterior(self, stream: RowStream) -> Posterior:
        """Returns the process conditioned on the rows of the stream, in one pass.

        Raises ValueError as `feature_moments`, TrainingEnded as `factor_of` and `scaled_frequencies`.
        """
        frequencies = self.scaled_frequencies
        return conditioned(frequencies, feature_moments(frequencies, stream), self.signal, self.noise)

    @torch.no_grad()
    def posterior_and_loss(self, stream: RowStream) -> tuple[Posterior, Tensor]:
        """Returns what `posterior` and `loss` give, the loss without a gradient, in one pass. Errors: as theirs."""
        frequencies = self.scaled_frequencies
        moments = feature_moments(frequencies, stream)
        return conditioned(frequencies, moments, self.signal, self.noise), self.loss_of(moments)

    def loss_of(self, moments: FeatureMoments) -> Tensor:
        """Returns `loss`, given what the rows come to under the scaled frequencies. Raises TrainingEnded as
        `factor_of`."""
        return negative_log_likelihood(moments, self.signal, self.noise) / moments.rows
