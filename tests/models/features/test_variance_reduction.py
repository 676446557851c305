"""Stratified radii, near-orthogonal directions and Sobol points: their laws, their evenness, and less kernel error."""

import math

import pytest
import torch
from scipy import stats
from torch import Tensor

from models.features.kernels import Gaussian, Kernel, Laplacian
from models.features.maps import random_features
from models.features.samplers import Iid, Orthogonal, Sampler, draw_frequencies
from models.features.variance_reduction import NearOrthogonal, Sobol, Stratified, stratified_radii

SAMPLERS = [Stratified(), NearOrthogonal(steps=5), NearOrthogonal(steps=5, stratified=False), Sobol()]
every_sampler = pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)


class Probability(Gaussian):
    """Its radius is the probability itself, so that a test sees which one the sampler asked for."""

    def radius_quantile(self, probability: Tensor, dimension: int) -> Tensor:  # noqa: ARG002
        return probability


def generator_of(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def draw(
    sampler: Sampler, count: int, dimension: int, generator: torch.Generator, kernel: Kernel | None = None
) -> Tensor:
    return draw_frequencies(
        kernel=kernel or Gaussian(),
        sampler=sampler,
        count=count,
        dimension=dimension,
        bandwidth=1.0,
        generator=generator,
    )


def power_sum(directions: Tensor, power: int) -> float:
    """Σ_{i<j} ⟨u_i, u_j⟩^power."""
    products = directions @ directions.T
    return float((products.triu(1) ** power).sum())


def mean_squared_error(sampler: Sampler, *, count: int, dimension: int, draws: int) -> float:
    """Of the Gaussian kernel at 50 standard-normal points, the bandwidth √(2d): near their median distance."""
    x = torch.randn(50, dimension, dtype=torch.float64, generator=generator_of(0)) / (2 * dimension) ** 0.5
    exact, generator = Gaussian().value(torch.cdist(x, x)), generator_of(1)
    features = (random_features(x, draw(sampler, count, dimension, generator)) for _ in range(draws))
    return sum(float((phi @ phi.T - exact).square().mean()) for phi in features) / draws


@every_sampler
@pytest.mark.parametrize(("count", "dimension"), [(4, 1), (3, 3), (7, 3)])
def test_directions_have_unit_length_and_are_uniform_in_every_row_and_column(
    sampler: Sampler, count: int, dimension: int
) -> None:
    """Entries have mean 0, variance 1/d and, for the sphere, fourth moment 3/(d(d + 2))."""
    repeats, generator = 400, generator_of(2)
    draws = torch.stack([sampler.directions(count, dimension, generator=generator) for _ in range(repeats)])
    torch.testing.assert_close(draws.norm(dim=2), torch.ones(repeats, count).double(), atol=1e-12, rtol=0)
    for power, expected in {1: 0.0, 2: 1 / dimension, 4: 3 / (dimension * (dimension + 2))}.items():
        error = (draws**power).std(0) / repeats**0.5 + 1e-12
        assert bool((((draws**power).mean(0) - expected).abs() < 4 * error).all())


@every_sampler
def test_every_single_radius_has_the_law_of_the_kernel(sampler: Sampler) -> None:
    """Kolmogorov–Smirnov, the first and the last of 5 radii over independent draws: places are not tied to strata."""
    generator = generator_of(3)
    radii = torch.stack([sampler.radii(Gaussian(), 5, 4, generator=generator) for _ in range(800)])
    for place in (0, 4):
        assert stats.kstest(radii[:, place].numpy(), stats.chi(4).cdf).pvalue > 0.01


@pytest.mark.parametrize("count", [1, 2, 7, 64])
@pytest.mark.parametrize("sampler", [Stratified(), NearOrthogonal()], ids=repr)
def test_stratified_radii_have_one_in_each_stratum(sampler: Sampler, count: int) -> None:
    radii = sampler.radii(Laplacian(), count, 3, generator=generator_of(4))
    edges = Laplacian().radius_quantile(torch.linspace(0, 1, count + 1, dtype=torch.float64), 3)
    assert torch.histogram(radii.clamp(max=1e300), edges.clamp(max=1e300)).hist.tolist() == [1] * count


def test_stratified_radii_come_in_random_order_and_spread_within_their_strata() -> None:
    generator = generator_of(5)
    draws = torch.stack([stratified_radii(Probability(), 6, 3, generator=generator) for _ in range(600)])
    assert len({tuple(order) for order in draws.argsort(dim=1).tolist()}) > 300
    assert stats.kstest(((6 * draws) % 1).flatten().numpy(), "uniform").pvalue > 0.01


def test_near_orthogonal_radii_are_independent_when_asked() -> None:
    radii = NearOrthogonal(stratified=False).radii(Probability(), 64, 3, generator=generator_of(6))
    expected = Iid().radii(Probability(), 64, 3, generator=generator_of(6))
    torch.testing.assert_close(radii, expected, atol=0, rtol=0)
    assert len((64 * radii).floor().unique()) < 60


@pytest.mark.parametrize(("count", "dimension"), [(1, 1), (1, 4), (3, 4), (4, 4), (44, 44)])
def test_near_orthogonal_is_an_orthogonal_set_where_one_exists(count: int, dimension: int) -> None:
    directions = NearOrthogonal().directions(count, dimension, generator=generator_of(7))
    torch.testing.assert_close(directions @ directions.T, torch.eye(count).double(), atol=1e-13, rtol=0)


@pytest.mark.parametrize("square_weight", [0.0, 1.0, 5.0])
@pytest.mark.parametrize(("count", "dimension"), [(3, 2), (4, 3), (7, 5), (10, 5), (40, 5), (25, 10), (66, 44)])
def test_near_orthogonal_descends_from_its_start(count: int, dimension: int, square_weight: float) -> None:
    """The same generator gives the same start and rotation for every number of steps; powers know no rotation."""
    sums = []
    for steps in (0, 1, 10, 100):
        sampler = NearOrthogonal(steps=steps, square_weight=square_weight)
        directions = sampler.directions(count, dimension, generator=generator_of(8))
        sums.append(power_sum(directions, 4) + square_weight * power_sum(directions, 2))
    assert sums[0] > sums[1] > sums[2] >= sums[3] * (1 - 1e-9)


@pytest.mark.parametrize("square_weight", [0.0, 1.0])
@pytest.mark.parametrize(("count", "dimension"), [(10, 5), (40, 5), (30, 10)])
def test_near_orthogonal_spreads_further_than_any_of_many_orthogonal_draws(
    count: int, dimension: int, square_weight: float
) -> None:
    near = NearOrthogonal(square_weight=square_weight).directions(count, dimension, generator=generator_of(9))
    blocks = (Orthogonal().directions(count, dimension, generator=generator_of(seed)) for seed in range(100))
    assert power_sum(near, 4) < min(power_sum(directions, 4) for directions in blocks)


def test_near_orthogonal_reaches_the_lower_bound_of_the_fourth_powers() -> None:
    """Σ_{i,j} ⟨u_i, u_j⟩⁴ ≥ 3m²/(d(d + 2)), with equality for spherical designs (Welch 1974)."""
    directions = NearOrthogonal(square_weight=0.0).directions(60, 3, generator=generator_of(10))
    assert 2 * power_sum(directions, 4) + 60 == pytest.approx(3 * 60**2 / 15, rel=1e-6)


def test_the_weight_of_the_squares_keeps_the_descent_from_losing_them() -> None:
    """Whole blocks have the least Σ_{i<j} ⟨u_i, u_j⟩² there is, m(m/d − 1)/2 = 20 here."""
    start, kept, lost = (
        power_sum(sampler.directions(40, 20, generator=generator_of(11)), 2)
        for sampler in (NearOrthogonal(steps=0), NearOrthogonal(), NearOrthogonal(square_weight=0.0))
    )
    assert start == pytest.approx(20)
    assert kept < 20.2
    assert lost > 20.4


def test_no_steps_leave_rotated_orthogonal_blocks() -> None:
    generator = generator_of(12)
    blocks = Orthogonal().directions(6, 3, generator=generator)
    rotation = Orthogonal().directions(3, 3, generator=generator)
    directions = NearOrthogonal(steps=0).directions(6, 3, generator=generator_of(12))
    torch.testing.assert_close(directions, blocks @ rotation, atol=1e-14, rtol=0)


def test_sobol_directions_and_radii_are_one_set_of_points() -> None:
    """16 points of two Sobol coordinates: one in each of 8 strata of the radius times 2 of the direction, its sign."""
    for seed in range(20):
        generator = generator_of(seed)
        signs = Sobol().directions(16, 1, generator=generator)[:, 0] > 0
        strata = (8 * Sobol().radii(Probability(), 16, 1, generator=generator)).floor()
        assert len(set(zip(strata.tolist(), signs.tolist(), strict=True))) == 16


def test_sobol_points_are_midpoints_of_a_fine_grid_the_first_one_too() -> None:
    generator = generator_of(13)
    cells = torch.stack([Sobol().radii(Probability(), 3, 2, generator=generator) for _ in range(200)]) * 2**30
    torch.testing.assert_close(cells % 1, torch.full_like(cells, 0.5), atol=0, rtol=0)
    assert bool(((cells.floor() % 2).mean(0) - 0.5).abs().max() < 0.15)


@every_sampler
@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian()], ids=repr)
@pytest.mark.parametrize(("count", "dimension"), [(3, 1), (8, 3)])
def test_kernel_estimates_are_unbiased(sampler: Sampler, kernel: Kernel, count: int, dimension: int) -> None:
    along = torch.arange(1.0, dimension + 1, dtype=torch.float64)
    difference = 0.9 * along / along.norm()
    generator, repeats = generator_of(14), 300
    estimates = torch.stack(
        [(draw(sampler, count, dimension, generator, kernel) @ difference).cos().mean() for _ in range(repeats)]
    )
    expected = kernel.value(torch.tensor(0.9, dtype=torch.float64)).item()
    assert abs(float(estimates.mean()) - expected) < 4 * float(estimates.std()) / repeats**0.5


@pytest.mark.parametrize(
    ("sampler", "most"),
    [
        (Stratified(), 0.75),
        (NearOrthogonal(), 0.55),
        (NearOrthogonal(square_weight=0.0), 0.55),
        (NearOrthogonal(stratified=False), 0.9),
        (Sobol(), 0.65),
    ],
    ids=repr,
)
def test_kernel_error_is_below_that_of_orthogonal_features(sampler: Sampler, most: float) -> None:
    errors = [mean_squared_error(s, count=128, dimension=5, draws=50) for s in (sampler, Orthogonal())]
    assert errors[0] < most * errors[1]


def test_the_weight_of_the_squares_lowers_the_kernel_error_in_high_dimensions() -> None:
    with_squares, without, blocks = (
        mean_squared_error(sampler, count=88, dimension=44, draws=25)
        for sampler in (NearOrthogonal(), NearOrthogonal(square_weight=0.0), Orthogonal())
    )
    assert with_squares < 0.95 * blocks
    assert with_squares < 0.8 * without


@every_sampler
def test_the_generator_alone_decides(sampler: Sampler) -> None:
    first, again, other = (draw(sampler, 7, 3, generator_of(seed)) for seed in (15, 15, 16))
    assert torch.equal(first, again)
    assert not torch.allclose(first, other, atol=0.01)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": -1}, r"^steps must be at least 0, got -1"),
        ({"square_weight": -0.5}, r"^square_weight must be at least 0 and finite, got -0\.5"),
        ({"square_weight": math.inf}, r"^square_weight must be at least 0 and finite, got inf"),
        ({"square_weight": math.nan}, r"^square_weight must be at least 0 and finite, got nan"),
    ],
)
def test_near_orthogonal_refuses_options_out_of_range(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NearOrthogonal(**options)


def test_sobol_refuses_more_columns_than_it_has_coordinates() -> None:
    with pytest.raises(
        ValueError, match=r"Sobol takes inputs of at most 21200 columns, got 21201; use the sampler orthogonal or"
    ):
        Sobol().directions(2, 21201, generator=generator_of(0))
