"""GPyTorch's models as the processes of `models.ssgp`: saved, loaded and served without GPyTorch.

They predict what GPyTorch does, to the rounding of its dtype, and to the jitter (1e-6 in double precision) that it adds
to the variance of a variational process.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor

from models.ssgp.kernel_process import (
    GaussianKernel,
    InducingValues,
    KernelProcess,
    exact_process,
    variational_process,
)
from models.ssgp.model import Posterior, conditioned
from models.ssgp.moments import feature_moments, in_blocks
from pipeline.systems.ssgp.curves import StandardisedPart


class Numbers(NamedTuple):
    """Holds the kernel and the noise variance of a model, in float64."""

    kernel: GaussianKernel
    noise: Tensor


def numbers_of(model: Any, likelihood: Any) -> Numbers:
    """Returns what a trained model and its likelihood have come to."""
    own = model.covar_module
    scales, signal, noise = (
        value.detach().double() for value in (own.base_kernel.lengthscale[0], own.outputscale, likelihood.noise[0])
    )
    return Numbers(GaussianKernel(scales, signal), noise)


def exact_peer(model: Any, likelihood: Any, part: StandardisedPart) -> KernelProcess:
    """Returns the exact process on the rows that it was trained on."""
    return exact_process(*numbers_of(model, likelihood), *part)


def feature_peer(model: Any, likelihood: Any, part: StandardisedPart) -> Posterior:
    """Returns the process of random Fourier features on the rows that it was trained on."""
    own, noise = numbers_of(model, likelihood)
    frequencies = model.covar_module.base_kernel.randn_weights.T.double() / own.length_scales
    moments = feature_moments(frequencies, in_blocks(part.inputs.double(), part.targets.double()))
    return conditioned(frequencies, moments, own.signal, noise)


def variational_peer(model: Any, likelihood: Any) -> KernelProcess:
    """Returns the variational process."""
    return variational_process(*numbers_of(model, likelihood), inducing_values(model))


def inducing_values(model: Any) -> InducingValues:
    """Returns what a trained model says of the values at its inducing points."""
    strategy: Any = model.variational_strategy
    values = strategy._variational_distribution  # of L⁻¹ u; GPyTorch gives its factor nowhere else
    places, mean, root = (
        value.detach() for value in (strategy.inducing_points, values.variational_mean, values.chol_variational_covar)
    )
    return InducingValues(places, strategy.jitter_val, mean, root.tril())
