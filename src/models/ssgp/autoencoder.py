"""The mixture autoencoder that reconfigures inputs into separated clusters (thesis, sections 3.1.3.3 and 3.1.4).

With prior p(z) = Σ_i π_i N(c_i, γ_i² I), π_i ∝ 2^{i/2}, it maximises (equation 3.50)

    E_q log p(x|z) − KL(q(z|x) ‖ p(z)) − α KL(q(z) ‖ p(z)) + β Σ_{i≠j} KL(N_i ‖ N_j)

over the posterior q(z|x), the likelihood p(x|z), both `mixture.MixtureNet`, and the prior's radius R. q(z) is the mean
of q(z|x) over a batch. Divergences of mixtures have no closed form: they are means over one draw of each component of
the posterior, weighted by its weights.

The variances are those of lemma 3.1.6, equation 3.10 (`cluster_variances`), at its λ = 1. Eight equidistant points do
not exist in four dimensions, where at most five do; taken here are R times the vertices ±e_j of the cross-polytope,
each √2 R from all others but its opposite, which is at 2 R. The last term has no maximum in R: how far R grows is set
by the number of steps of Adam and their size, and is reported.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from models.ssgp.mixture import Mixture, MixtureNet


def cluster_variances(components: int, *, dimension: int, rows: int, closeness: float = 1.0) -> Tensor:
    """Returns γ_i² = (U(i) + L(i))/(4·dimension), i = 1 … components (thesis, equations 3.7, 3.9 and 3.10):
    (components,).

    U(i) = −log(1 − 2^{−(a+i−1)}), L(i) = U(i + 1), 2^{−a} = 1 − (closeness/rows)⁴: for large i γ_i² falls as 2^{−i}.

    closeness: λ of the spectral approximation that the clusters are to allow. The result is float64. Raises ValueError
    unless 0 < closeness < rows.
    """
    if not 0 < closeness < rows:
        raise ValueError(f"the variances of clusters need 0 < closeness < rows, got {closeness} and {rows}")
    order = torch.arange(components + 1, dtype=torch.float64)
    small = (closeness / rows) ** 4
    upper = -torch.log1p(-(1 - small) * 2.0**-order)
    upper[0] = -math.log(small)
    return (upper[:-1] + upper[1:]) / (4 * dimension)


class Terms(NamedTuple):
    """Holds the four terms of the objective, without α and β, each a scalar in nats: means over the rows of a batch."""

    likelihood: Tensor
    divergence: Tensor
    pooled_divergence: Tensor
    separation: Tensor


class MixtureAutoencoder(nn.Module):
    """Is the mixture autoencoder of the thesis (sections 3.1.3.3 and 3.1.4), untrained.

    inputs: columns of x; rows: of the training part; latent: dimensions of z; components: of prior, posterior and
    likelihood.
    Raises ValueError for more components than the cross-polytope has vertices, 2·latent, and for a single row.
    """

    centres: Tensor
    log_weights: Tensor
    log_variances: Tensor

    def __init__(self, *, inputs: int, rows: int, latent: int = 4, components: int = 8) -> None:
        super().__init__()
        if not 1 <= components <= 2 * latent:
            raise ValueError(
                f"{components} components in {latent} latent dimensions: the cross-polytope has {2 * latent} vertices "
                "for their centres; raise latent or lower components"
            )
        self.encoder, self.decoder = MixtureNet(inputs, latent, components), MixtureNet(latent, inputs, components)
        self.raw_radius = nn.Parameter(torch.tensor(math.log(math.expm1(1.0))))
        corners = torch.cat([torch.eye(latent), -torch.eye(latent)])
        order = torch.arange(components, dtype=torch.float32)
        self.register_buffer("centres", corners[:components])
        self.register_buffer("log_weights", (order * math.log(2) / 2).log_softmax(0))
        variances = cluster_variances(components, dimension=latent, rows=rows)
        self.register_buffer("log_variances", variances.log().float())

    @property
    def radius(self) -> Tensor:
        """Returns R, a positive scalar."""
        return nn.functional.softplus(self.raw_radius)

    def prior(self) -> Mixture:
        """Returns p(z) as a mixture of one row: log_weights (1, component), means and log_variances
        (1, component, latent)."""
        means = (self.radius * self.centres).unsqueeze(0)
        return Mixture(
            self.log_weights.unsqueeze(0), means, self.log_variances.view(1, -1, 1).expand_as(means).contiguous()
        )

    def separation(self) -> Tensor:
        """Returns Σ_{i≠j} KL(N_i ‖ N_j) = Σ ½ [d γ_i²/γ_j² + |c_i − c_j|²/γ_j² − d + d log(γ_j²/γ_i²)], a scalar."""
        variances, size = self.log_variances.exp(), self.centres.shape[1]
        ratio = variances.unsqueeze(1) / variances
        distances = (self.radius * (self.centres.unsqueeze(1) - self.centres)).square().sum(2)
        return 0.5 * (size * (ratio - 1 - ratio.log()) + distances / variances).sum()  # i = j gives 0

    def noise(self, rows: int, generator: torch.Generator) -> Tensor:
        """Returns standard normal numbers for one draw of each component of the posterior: (row, component, latent)."""
        shape = rows, *self.centres.shape
        return torch.randn(shape, generator=generator, dtype=self.centres.dtype).to(self.centres.device)

    def terms(self, x: Tensor, noise: Tensor) -> Terms:
        """Returns the terms of the objective on rows x (row, input), standardised, with the noise that `noise` draws
        for them."""
        posterior, prior = self.encoder(x), self.prior()
        drawn = posterior.draw(noise)
        rows, components, size = drawn.shape
        flat, weights = drawn.reshape(-1, size), posterior.log_weights.exp()
        of_prior = prior.log_density(flat.unsqueeze(0)).view(rows, components)
        decoded = self.decoder(flat).log_density(x.repeat_interleave(components, 0).unsqueeze(1)).view(rows, components)
        pooled = posterior.pooled_log_density(flat).view(rows, components)

        def expected(values: Tensor) -> Tensor:
            return (weights * values).sum(1).mean()

        divergence = expected(posterior.log_density(drawn) - of_prior)
        return Terms(expected(decoded), divergence, expected(pooled - of_prior), self.separation())

    def objective(self, x: Tensor, noise: Tensor, *, alpha: float, beta: float) -> Tensor:
        """Returns the objective of equation 3.50, to be maximised: a scalar. x (row, input) and noise: as for
        `terms`."""
        terms = self.terms(x, noise)
        return terms.likelihood - terms.divergence - alpha * terms.pooled_divergence + beta * terms.separation

    @torch.no_grad()
    def encode(self, x: Tensor) -> Tensor:
        """Returns the posterior's mean (row, latent) for x (row, input)."""
        return self.encoder(x).mean()

    @torch.no_grad()
    def reconfigure(self, x: Tensor) -> Tensor:
        """Returns the mean of the likelihood at `encode`, which the revisited SSGP takes in place of x: both
        (row, input)."""
        return self.decoder(self.encode(x)).mean()
