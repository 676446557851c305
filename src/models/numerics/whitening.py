"""Half and whole whitening: powers of a covariance that make directions equally wide, or less unequal."""

from __future__ import annotations

import torch
from torch import Tensor

FLOOR = 1e-6  # of the largest eigenvalue, which is added to all of them


def whitening(covariance: Tensor, *, power: float) -> Tensor:
    """Returns (C + 10⁻⁶ λ_max I)^(−g/2), symmetric (k, k) in float64, for a covariance C (k, k) and the power g.

    g = 1 whitens, g = ½ halves the orders of magnitude between the widths, g = 0 leaves them. A symmetric power does
    not depend on the signs of eigenvectors. Raises ValueError for a covariance that is 0 or not finite.
    """
    if not bool(covariance.isfinite().all()) or not bool(covariance.any()):
        raise ValueError("nothing varies in the windows, or not by finite numbers; they cannot be whitened")
    values, vectors = torch.linalg.eigh(covariance.double())
    floored = values.clamp(min=0) + FLOOR * values[-1]
    return (vectors * floored ** (-power / 2)) @ vectors.T
