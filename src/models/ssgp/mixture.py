"""Mixtures of Gaussians whose parts are networks: the building block of the autoencoder (thesis, section 3.1.4)."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

HIDDEN = 10  # neurons of each layer
LEAST_LOG, MOST_LOG = -8.0, 6.0  # of a variance, so that a density stays finite


class Mixture(NamedTuple):
    """Is Σ_j exp(log_weights_j) N(means_j, diag exp(log_variances_j)): log_weights (row, k), the others (row, k, d)."""

    log_weights: Tensor
    means: Tensor
    log_variances: Tensor

    def mean(self) -> Tensor:
        """Returns the mean of each row's mixture, (row, d)."""
        return (self.log_weights.exp().unsqueeze(2) * self.means).sum(1)

    def draw(self, noise: Tensor) -> Tensor:
        """Returns one point of every component, differentiable, from standard normal noise: both (row, k, d)."""
        return self.means + (0.5 * self.log_variances).exp() * noise

    def log_density(self, points: Tensor) -> Tensor:
        """Returns log densities, row by row: points (row, n, d) → (row, n)."""
        return torch.logsumexp(_log_parts(points, self.log_weights, self.means, self.log_variances), dim=2)

    def pooled_log_density(self, points: Tensor) -> Tensor:
        """Returns log densities under the mean of all rows' mixtures: points (n, d) → (n,)."""
        parts = (part.flatten(0, 1) for part in (self.log_weights, self.means, self.log_variances))
        return torch.logsumexp(_log_parts(points, *parts), dim=1) - math.log(len(self.means))


def _log_parts(points: Tensor, log_weights: Tensor, means: Tensor, log_variances: Tensor) -> Tensor:
    """log π_j N(x_i; μ_j, v_j): points (…, n, d) under (…, k) and (…, k, d) → (…, n, k).

    One product: −½ Σ (x − μ)²/v + const = (x², x, 1)ᵀ (−1/(2v), μ/v, const − ½ Σ μ²/v).
    """
    precision = (-log_variances).exp()
    weighted = means * precision
    logs = (log_variances + math.log(2 * math.pi) + means * weighted).sum(-1)
    of_points = torch.cat([points.square(), points, torch.ones_like(points[..., :1])], -1)
    of_parts = torch.cat([-0.5 * precision, weighted, (log_weights - 0.5 * logs).unsqueeze(-1)], -1)
    return of_points @ of_parts.mT


class LinearGroup(nn.Module):
    """Holds independent linear layers side by side, each begun as torch begins one: (group, row, in) →
    (group, row, out)."""

    def __init__(self, groups: int, inputs: int, outputs: int) -> None:
        super().__init__()
        bound = inputs**-0.5
        self.weight = nn.Parameter(torch.empty(groups, inputs, outputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(groups, 1, outputs).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        """Returns (group, row, out) for x (group, row, in)."""
        return torch.baddbmm(self.bias, x, self.weight)


class GaussianNets(nn.Module):
    """Computes means and log variances of all components, by a network for each: a layer with batch norm, then a
    hidden layer for each of the two. (row, in) → two of (component, row, out)."""

    def __init__(self, inputs: int, outputs: int, components: int) -> None:
        super().__init__()
        self.first, self.norm = nn.Linear(inputs, components * HIDDEN), nn.BatchNorm1d(components * HIDDEN)
        self.mean, self.log_variance = (
            nn.Sequential(LinearGroup(components, HIDDEN, HIDDEN), nn.ReLU(), LinearGroup(components, HIDDEN, outputs))
            for _ in range(2)
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Returns means and log variances, both (component, row, out), for x (row, in)."""
        hidden = self.norm(self.first(x)).relu().unflatten(1, (-1, HIDDEN)).transpose(0, 1)
        return self.mean(hidden), self.log_variance(hidden).clamp(LEAST_LOG, MOST_LOG)


class MixtureNet(nn.Module):
    """Maps x ↦ a mixture: `GaussianNets` give the components, and a linear layer the weights."""

    def __init__(self, inputs: int, outputs: int, components: int) -> None:
        super().__init__()
        self.parts = GaussianNets(inputs, outputs, components)
        self.weights = nn.Linear(inputs, components)

    def forward(self, x: Tensor) -> Mixture:
        """Returns a mixture for each row of x (row, inputs)."""
        means, variances = self.parts(x)
        return Mixture(self.weights(x).log_softmax(1), means.transpose(0, 1), variances.transpose(0, 1))
