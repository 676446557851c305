"""The mixture autoencoder: densities against torch's own, the prior of the thesis, and what training does."""

from __future__ import annotations

import math
from itertools import combinations, permutations

import pytest
import torch
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal, kl_divergence

import oracles
from models.ssgp import autoencoder_fit
from models.ssgp.autoencoder import MixtureAutoencoder, cluster_variances
from models.ssgp.autoencoder_fit import Training
from models.ssgp.mixture import Mixture
from oracles import train_autoencoder

SHORT = Training(steps=60, batch_size=64, learning_rate=0.01, alpha=8.0, beta=0.0)


def random_mixture(rows: int = 5, components: int = 3, size: int = 2) -> Mixture:
    torch.manual_seed(0)
    shape = rows, components, size
    return Mixture(torch.randn(rows, components).log_softmax(1), torch.randn(shape), 0.3 * torch.randn(shape))


def of_torch(mixture: Mixture, row: int) -> MixtureSameFamily:
    parts = Independent(Normal(mixture.means[row], (0.5 * mixture.log_variances[row]).exp()), 1)
    return MixtureSameFamily(Categorical(logits=mixture.log_weights[row]), parts)


def clusters(rows: int = 300) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    centres = torch.tensor([[2.0, 0, 0], [-1.0, 1, 0], [-1.0, -1, 1]])
    which = torch.randint(3, (rows,), generator=generator)
    return centres[which] + 0.1 * torch.randn(rows, 3, generator=generator)


def test_densities_are_those_of_torch() -> None:
    mixture = random_mixture()
    points = torch.randn(5, 4, 2)
    expected = torch.stack([of_torch(mixture, row).log_prob(points[row]) for row in range(5)])
    torch.testing.assert_close(mixture.log_density(points), expected, rtol=1e-4, atol=1e-4)
    everywhere = torch.stack([of_torch(mixture, row).log_prob(points[0]) for row in range(5)])
    pooled = everywhere.logsumexp(0) - math.log(5)
    torch.testing.assert_close(mixture.pooled_log_density(points[0]), pooled, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(mixture.mean(), torch.stack([of_torch(mixture, row).mean for row in range(5)]))


def test_the_prior_is_that_of_the_thesis() -> None:
    model = MixtureAutoencoder(inputs=3, rows=2633)
    prior = model.prior()
    weights = prior.log_weights.exp()[0]
    assert weights.sum().item() == pytest.approx(1)
    torch.testing.assert_close(weights[1:] / weights[:-1], torch.full((7,), math.sqrt(2)))
    torch.testing.assert_close(prior.means[0].norm(dim=1), model.radius.expand(8))
    nearest = (torch.cdist(prior.means[0], prior.means[0]) + 9 * torch.eye(8)).min(1).values
    torch.testing.assert_close(nearest, math.sqrt(2) * model.radius.expand(8))
    variances = prior.log_variances[0, :, 0].exp()
    written_out = [4 * math.log(2633) + math.log(2), math.log(2) + math.log(4 / 3), math.log(128 / 127 * 256 / 255)]
    assert (16 * variances[[0, 1, 7]]).tolist() == pytest.approx(written_out, rel=1e-5)
    parts = [
        Independent(Normal(m, (0.5 * v).exp()), 1) for m, v in zip(prior.means[0], prior.log_variances[0], strict=True)
    ]
    expected = sum(kl_divergence(one, other) for one, other in permutations(parts, 2))
    torch.testing.assert_close(model.separation(), expected, rtol=1e-4, atol=1e-3)
    with pytest.raises(ValueError, match="9 components in 4 latent dimensions: the cross-polytope has 8 vertices"):
        MixtureAutoencoder(inputs=3, rows=9, components=9)


@pytest.mark.parametrize("rows", [2, 50])
def test_variances_put_the_kernel_of_two_points_of_a_cluster_into_its_band(rows: int) -> None:
    """Lemma 3.1.6: where |u − v|² is (U + L)/4 = dimension·γ², the kernel is between the two sides of 3.7."""
    found = cluster_variances(5, dimension=7, rows=rows, closeness=0.9)
    a = math.log2(rows**4 / (rows**4 - 0.9**4))
    order = torch.arange(1, 6, dtype=torch.float64)
    low, high = ((1 - 0.5 ** (a + order - shift)) ** 0.25 for shift in (1, 0))
    kernel = (-7 * found / 2).exp()
    assert bool(((low <= kernel) & (kernel < high)).all())
    with pytest.raises(ValueError, match=r"need 0 < closeness < rows, got 1\.0 and 1"):
        cluster_variances(5, dimension=7, rows=1)


def test_training_raises_the_objective_and_keeps_what_tells_clusters_apart() -> None:
    x = clusters()
    none, short = (
        train_autoencoder(x, latent=2, components=3, training=SHORT._replace(steps=n), seed=3) for n in (0, 100)
    )

    def objective(model: MixtureAutoencoder) -> float:
        with torch.no_grad():
            noise = model.noise(len(x), torch.Generator().manual_seed(0))
            return model.objective(x, noise, alpha=8.0, beta=0.0).item()

    assert objective(short) > objective(none) + 1
    found = short.reconfigure(x)
    assert found.shape == x.shape
    assert (found - x).square().mean() < 0.9 * x.var(0).mean()


def test_the_separation_widens_the_sphere() -> None:
    x, radius = clusters(), []
    for beta in (0.0, 1.2):
        trained = train_autoencoder(x, latent=4, components=8, training=SHORT._replace(beta=beta, steps=20), seed=0)
        radius.append(trained.radius.item())
    assert radius[1] > radius[0]


def test_weights_are_drawn_from_another_generator_than_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of equal states the first batch would be drawn from the very numbers that the weights were."""
    states = list[torch.Tensor]()

    class Seen(autoencoder_fit.MixtureAutoencoder):
        def __init__(self, **shape: int) -> None:
            states.append(torch.get_rng_state())
            super().__init__(**shape)

    monkeypatch.setattr(autoencoder_fit, "MixtureAutoencoder", Seen)
    monkeypatch.setattr(oracles, "descend", lambda *_, generator: states.append(generator.get_state()))
    for seed in (3, 4):
        train_autoencoder(torch.ones(4, 2), latent=2, components=2, training=SHORT, seed=seed)
    assert all(not torch.equal(one, other) for one, other in combinations(states, 2))
    assert len(states) == 4


def test_the_seed_alone_decides_and_the_global_generator_is_left_alone() -> None:
    x = clusters(40)
    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)
    short = SHORT._replace(steps=3)
    same, again, other = (train_autoencoder(x, latent=2, components=2, training=short, seed=s) for s in (1, 1, 2))
    torch.testing.assert_close(torch.rand(2), expected, rtol=0, atol=0)
    torch.testing.assert_close(same.reconfigure(x), again.reconfigure(x), rtol=0, atol=0)
    assert not torch.equal(same.reconfigure(x), other.reconfigure(x))


def test_constant_columns_and_duplicates_are_taken_one_row_and_nan_are_not() -> None:
    x = torch.zeros(10, 3)
    assert bool(train_autoencoder(x, latent=2, components=3, training=SHORT, seed=0).reconfigure(x).isfinite().all())
    with pytest.raises(ValueError, match="needs at least two training rows"):
        train_autoencoder(x[:1], latent=2, components=3, training=SHORT, seed=0)
    with pytest.raises(ValueError, match="objective is not finite at step 0"):
        train_autoencoder(x + math.nan, latent=2, components=3, training=SHORT, seed=0)
