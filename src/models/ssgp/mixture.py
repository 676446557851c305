"""Mixtures of Gaussians whose parts are networks: the building block of the autoencoder (thesis, section 3.1.4)."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

HIDDEN = 10  # neurons of each layer
LEAST_LOG, MOST_LOG = -8.0, 6.0  # of a variance, so that a density stays finite


class Mixture(NamedTuple):
    """Σ_j exp(log_weights_j) N(means_j, diag exp(log_variances_j)): log_weights (row, k), the others (row, k, d)."""

    log_weights: Tensor
    means: Tensor
    log_variances: Tensor

    def mean(self) -> Tensor:
        """(row, d)."""
        return (self.log_weights.exp().unsqueeze(2) * self.means).sum(1)

    def draw(self, generator: torch.Generator) -> Tensor:
        """One point of every component, differentiable: (row, k, d)."""
        noise = torch.randn(self.means.shape, generator=generator, dtype=self.means.dtype).to(self.means.device)
        return self.means + (0.5 * self.log_variances).exp() * noise

    def log_density(self, points: Tensor) -> Tensor:
        """Row by row, points (row, n, d) → (row, n)."""
        return torch.logsumexp(
            _log_normals(points, self.means, self.log_variances) + self.log_weights.unsqueeze(1), dim=2
        )

    def pooled_log_density(self, points: Tensor) -> Tensor:
        """Under the mean of all rows' mixtures, points (n, d) → (n,)."""
        rows, _, size = self.means.shape
        means, variances = self.means.reshape(1, -1, size), self.log_variances.reshape(1, -1, size)
        logs = _log_normals(points.unsqueeze(0), means, variances).squeeze(0) + self.log_weights.reshape(1, -1)
        return torch.logsumexp(logs, dim=1) - math.log(rows)


def _log_normals(points: Tensor, means: Tensor, log_variances: Tensor) -> Tensor:
    """(…, n, d) under (…, k, d) → (…, n, k), by products of matrices: Σ (x − μ)²/v = x²·(1/v) − 2x·(μ/v) + Σ μ²/v."""
    precision = (-log_variances).exp()
    weighted = means * precision
    squares = points.square() @ precision.mT - 2 * points @ weighted.mT + (means * weighted).sum(-1).unsqueeze(-2)
    return -0.5 * (squares + (log_variances + math.log(2 * math.pi)).sum(-1).unsqueeze(-2))


class GaussianNet(nn.Module):
    """Mean and log variance of one component: a layer with batch norm, then a hidden layer for each of the two."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Linear(inputs, HIDDEN), nn.BatchNorm1d(HIDDEN), nn.ReLU())
        self.mean, self.log_variance = (
            nn.Sequential(nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, outputs)) for _ in range(2)
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.first(x)
        return self.mean(hidden), self.log_variance(hidden).clamp(LEAST_LOG, MOST_LOG)


class MixtureNet(nn.Module):
    """x ↦ a mixture: one `GaussianNet` per component, weights by a linear layer."""

    def __init__(self, inputs: int, outputs: int, components: int) -> None:
        super().__init__()
        self.parts = nn.ModuleList(GaussianNet(inputs, outputs) for _ in range(components))
        self.weights = nn.Linear(inputs, components)

    def forward(self, x: Tensor) -> Mixture:
        """(row, inputs) → a mixture for each row."""
        means, variances = zip(*(part(x) for part in self.parts), strict=True)
        return Mixture(self.weights(x).log_softmax(1), torch.stack(means, 1), torch.stack(variances, 1))
