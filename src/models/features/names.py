"""Samplers, kernels and rules of bandwidth by name, as estimators take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from models.features.bandwidth import BandwidthRule
from models.features.kernels import (
    Gaussian,
    IsotropicKernel,
    Kernel,
    Laplacian,
    LaplacianL1,
    Matern,
    RationalQuadratic,
)
from models.features.samplers import Hadamard, Iid, Orthogonal, Sampler
from models.features.variance_reduction import NearOrthogonal, Sobol, Stratified
from models.runtime.parameters import number, one_of

SAMPLERS: dict[str, type[Sampler]] = {
    "orthogonal": Orthogonal,
    "iid": Iid,
    "hadamard": Hadamard,
    "stratified": Stratified,
    "near_orthogonal": NearOrthogonal,
    "sobol": Sobol,
}
KERNELS: dict[str, Callable[[], Kernel]] = {
    "gaussian": Gaussian,
    "laplacian": Laplacian,
    "laplacian_l1": LaplacianL1,
    "matern": lambda: Matern(smoothness=1.5),
    "rational_quadratic": lambda: RationalQuadratic(shape=1.0),
}
UNNUMBERED_RULES = ("median_pairs", "median_neighbours")  # that need no number beside them


def sampler_of(given: Any) -> Sampler:
    """Returns the sampler of that name with its default settings, or the sampler given.

    Raises TypeError and ValueError for anything else.
    """
    return given if isinstance(given, Sampler) else SAMPLERS[one_of("sampler", given, SAMPLERS)]()


def kernel_of(given: Any) -> Kernel:
    """Returns the kernel of that name, or the kernel given: "matern" is that of smoothness 1.5, "rational_quadratic"
    that of shape 1.

    Raises TypeError and ValueError for anything else.
    """
    if isinstance(given, IsotropicKernel | LaplacianL1):
        return given
    return KERNELS[one_of("kernel", given, KERNELS)]()


def rule_of(given: Any) -> BandwidthRule:
    """Returns the rule of that name, the fixed bandwidth of a number, or the rule given. Raises TypeError and
    ValueError for anything else."""
    if isinstance(given, BandwidthRule):
        return given
    if isinstance(given, str):
        return BandwidthRule(one_of("bandwidth", given, UNNUMBERED_RULES))
    return BandwidthRule("fixed", value=number("bandwidth", given))
