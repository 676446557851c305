"""The metric of a kernel: inputs half-whitened, or whitened, before their features are taken, and kept beside them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from models.numerics.whitening import whitening


class Metric(NamedTuple):
    """Holds what turns an input x (…, n) into x̃ = S^(−g/2) (x − centre), and the weight of x̃ beside its features.

    centre (n,): the mean. root (n, n): S^(−g/2), symmetric; None where g = 0. linear (): a/√E‖x̃‖²; None where x̃ itself
    is no feature (a = 0).
    """

    centre: Tensor
    root: Tensor | None
    linear: Tensor | None

    def applied(self, x: Tensor) -> Tensor:
        """Returns x̃ (…, n) of inputs x (…, n)."""
        centred = x - self.centre
        return centred if self.root is None else centred @ self.root


def empty_metric(size: int, *, whitened: bool, linear: bool) -> Metric | None:
    """Returns a metric of inputs (…, size) whose numbers are still to be loaded; None where inputs stay as they are."""
    if not (whitened or linear):
        return None
    root, weight = torch.zeros(size, size) if whitened else None, torch.zeros(()) if linear else None
    return Metric(torch.zeros(size), root, weight)


def metric_of(points: Tensor, *, whiten: float, linear: float) -> Metric | None:
    """Returns the metric of points (row, n), computed in float64; None where both exponent and weight are 0.

    whiten: g, 0 or more, of `models.numerics.whitening.whitening`, whose matrix is the root. linear: a, 0 or more.
    Raises ValueError for a negative number, and where the points do not differ.
    """
    for name, value in (("whiten", whiten), ("linear", linear)):
        if value < 0:
            raise ValueError(f"{name} must be 0 or more, got {value}")
    if not (whiten or linear):
        return None
    exact = points.double()
    centre = exact.mean(0)
    covariance = torch.cov(exact.T, correction=0).view(len(centre), len(centre))
    if not bool(covariance.isfinite().all()):
        raise ValueError(
            "whiten, linear: the points are not finite, or too large to square; mend them, or leave both 0"
        )
    if not bool(covariance.any()):
        raise ValueError("whiten, linear: nothing varies, so that there is nothing to scale by; leave both 0")
    root = whitening(covariance, power=whiten) if whiten else None
    plain = Metric(centre, root, None)
    weight = linear / plain.applied(exact).square().sum(1).mean().sqrt() if linear else None
    return Metric(*(None if part is None else part.to(points) for part in (centre, root, weight)))  # pyright: ignore[reportArgumentType]
