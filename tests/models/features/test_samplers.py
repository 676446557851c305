"""Directions, and the frequencies drawn with them: orthogonality, uniformity, unbiased kernel estimates."""

import math

import pytest
import torch
from torch import Tensor

from models.features.kernels import Gaussian, Kernel, Laplacian, LaplacianL1, Matern, RationalQuadratic
from models.features.samplers import Hadamard, Iid, Orthogonal, Sampler, draw_frequencies
from models.numerics.hadamard import next_power_of_two
from oracles import hadamard_matrix

KERNELS = [Gaussian(), Matern(smoothness=1.5), Laplacian(), RationalQuadratic(shape=1.0)]


def generator_of(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def block_estimates(
    kernel: Kernel,
    sampler: Sampler,
    difference: Tensor,
    *,
    block: int,
    repeats: int,
    bandwidth: float = 1.0,
    seed: int = 0,
) -> Tensor:
    """Kernel estimates from `repeats` independent blocks of `block` frequencies: mean of cos(wᵀ(x − y)) in each."""
    frequencies = draw_frequencies(
        kernel=kernel,
        sampler=sampler,
        count=block * repeats,
        dimension=len(difference),
        bandwidth=bandwidth,
        generator=generator_of(seed),
    )
    return (frequencies @ difference).cos().reshape(repeats, block).mean(1)


def deviation_in_standard_errors(estimates: Tensor, expected: float) -> float:
    return abs(float(estimates.mean()) - expected) / float(estimates.std() / len(estimates) ** 0.5)


def with_length(length: float, dimension: int) -> Tensor:
    direction = torch.arange(1.0, dimension + 1, dtype=torch.float64)
    return length * direction / direction.norm()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("sampler", [Iid(), Orthogonal()], ids=repr)
@pytest.mark.parametrize(("dimension", "length"), [(1, 1.5), (3, 0.7), (6, 2.0)])
def test_kernel_estimates_are_unbiased(kernel: Kernel, sampler: Sampler, dimension: int, length: float) -> None:
    estimates = block_estimates(
        kernel, sampler, with_length(length, dimension), block=dimension, repeats=2000, bandwidth=1.3
    )
    expected = kernel.value(torch.tensor(length / 1.3, dtype=torch.float64)).item()
    assert deviation_in_standard_errors(estimates, expected) < 4


def test_laplacian_l1_estimates_are_unbiased() -> None:
    difference = torch.tensor([0.5, -0.3, 0.4], dtype=torch.float64)
    estimates = block_estimates(LaplacianL1(), Iid(), difference, block=4, repeats=4000, bandwidth=2.0)
    assert deviation_in_standard_errors(estimates, math.exp(-0.6)) < 4


def test_the_test_of_bias_sees_a_bandwidth_that_is_ten_per_cent_off() -> None:
    estimates = block_estimates(Gaussian(), Orthogonal(), with_length(1.0, 3), block=3, repeats=2000, bandwidth=1.1)
    assert deviation_in_standard_errors(estimates, math.exp(-0.5)) > 10


def test_orthogonal_estimates_vary_less_than_iid_ones() -> None:
    """As many frequencies as dimensions, at the distance of one bandwidth: the reason for orthogonal features."""
    difference = with_length(1.0, 16)
    errors = {
        name: float(
            (block_estimates(Gaussian(), sampler, difference, block=16, repeats=800) - math.exp(-0.5)).square().mean()
        )
        for name, sampler in {"iid": Iid(), "orthogonal": Orthogonal(), "hadamard": Hadamard()}.items()
    }
    assert errors["orthogonal"] < 0.5 * errors["iid"]
    assert errors["hadamard"] < 0.5 * errors["iid"]


def test_hadamard_estimates_have_a_bias_that_falls_with_the_dimension() -> None:
    biases = []
    for dimension in (2, 16):
        difference = torch.zeros(dimension, dtype=torch.float64)
        difference[0] = 2.0
        estimates = block_estimates(Gaussian(), Hadamard(), difference, block=dimension, repeats=1000)
        biases.append(abs(float(estimates.mean()) - math.exp(-2.0)))
    assert biases[0] > 0.02
    assert biases[1] < 0.01


@pytest.mark.parametrize("dimension", [1, 2, 5, 8])
def test_blocks_of_orthogonal_directions_are_orthonormal_and_differ(dimension: int) -> None:
    directions = Orthogonal().directions(3 * dimension, dimension, generator=generator_of(1))
    blocks = directions.reshape(3, dimension, dimension)
    identity = torch.eye(dimension, dtype=torch.float64).expand(3, -1, -1)
    torch.testing.assert_close(blocks @ blocks.mT, identity, atol=1e-12, rtol=0)
    if dimension > 1:
        assert not torch.allclose(blocks[0], blocks[1], atol=0.01)


@pytest.mark.parametrize("dimension", [4, 8])
def test_blocks_of_hadamard_directions_are_orthonormal_at_powers_of_two(dimension: int) -> None:
    directions = Hadamard().directions(3 * dimension, dimension, generator=generator_of(1))
    blocks = directions.reshape(3, dimension, dimension)
    identity = torch.eye(dimension, dtype=torch.float64).expand(3, -1, -1)
    torch.testing.assert_close(blocks @ blocks.mT, identity, atol=1e-12, rtol=0)


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_hadamard_directions_are_rows_of_the_written_out_product(blocks: int) -> None:
    """The same signs, drawn again, in H D_1 … H D_k with dense matrices."""
    directions = Hadamard(blocks=blocks).directions(5, 8, generator=generator_of(4))
    generator, product = generator_of(4), torch.eye(8, dtype=torch.float64)
    for _ in range(blocks):
        signs = 2.0 * torch.randint(2, (8,), generator=generator).double() - 1.0
        product = product @ hadamard_matrix(8) @ torch.diag(signs)
    torch.testing.assert_close(directions, product[:5], atol=1e-13, rtol=0)


@pytest.mark.parametrize("dimension", [3, 5, 6])
@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_padded_hadamard_directions_always_have_unit_length(dimension: int, blocks: int) -> None:
    """At small sizes whole rows often fall into the padding; such a block must be drawn again, not divided by 0."""
    count = 50 * next_power_of_two(dimension)
    directions = Hadamard(blocks=blocks).directions(count, dimension, generator=generator_of(0))
    assert directions.shape == (count, dimension)
    torch.testing.assert_close(directions.norm(dim=1), torch.ones(count, dtype=torch.float64), atol=1e-12, rtol=0)


@pytest.mark.parametrize("sampler", [Iid(), Orthogonal()], ids=repr)
@pytest.mark.parametrize(("block", "dimension"), [(1, 1), (4, 4), (2, 4)])
def test_directions_are_uniform_in_every_row_and_column(sampler: Sampler, block: int, dimension: int) -> None:
    """Entries have mean 0 (the sign of diag R), variance 1/d and, for the sphere, fourth moment 3/(d(d + 2))."""
    repeats, generator = 2000, generator_of(2)
    draws = torch.stack([sampler.directions(block, dimension, generator=generator) for _ in range(repeats)])
    moments = {1: 0.0, 2: 1 / dimension, 4: 3 / (dimension * (dimension + 2))}
    for power, expected in moments.items():
        error = (draws**power).std(0) / repeats**0.5 + 1e-12
        assert bool((((draws**power).mean(0) - expected).abs() < 4 * error).all())


def test_qr_without_the_sign_fix_fails_the_test_of_the_mean() -> None:
    generator = generator_of(2)
    draws = torch.stack(
        [torch.linalg.qr(torch.randn(4, 4, dtype=torch.float64, generator=generator)).Q.T for _ in range(1000)]
    )
    assert bool((draws.mean(0).abs() > 6 * draws.std(0) / 1000**0.5).any())


def test_directions_and_radii_are_independent_draws_of_a_frequency() -> None:
    frequencies = draw_frequencies(
        kernel=Gaussian(), sampler=Orthogonal(), count=4000, dimension=5, bandwidth=0.5, generator=generator_of(7)
    )
    covariance = frequencies.T @ frequencies / 4000
    torch.testing.assert_close(covariance, 4 * torch.eye(5, dtype=torch.float64), atol=0.4, rtol=0)
    lengths = frequencies[:5].norm(dim=1)
    assert len(set(lengths.tolist())) == 5


def test_a_sampler_may_choose_the_radii_jointly() -> None:
    class EqualRadii(Iid):
        def radii(self, kernel, count, dimension, *, generator):  # noqa: ARG002
            return kernel.radius_quantile(torch.full((count,), 0.5, dtype=torch.float64), dimension)

    frequencies = draw_frequencies(
        kernel=Gaussian(), sampler=EqualRadii(), count=6, dimension=3, bandwidth=2.0, generator=generator_of(0)
    )
    median = Gaussian().radius_quantile(torch.tensor(0.5, dtype=torch.float64), 3)
    torch.testing.assert_close(frequencies.norm(dim=1), (median / 2).expand(6))


@pytest.mark.parametrize("sampler", [Orthogonal(), Hadamard()], ids=repr)
def test_laplacian_l1_takes_independent_sampling_only(sampler: Sampler) -> None:
    with pytest.raises(
        ValueError, match=f"{type(sampler).__name__} cannot draw for it; use the sampler iid or the kernel laplacian"
    ):
        draw_frequencies(
            kernel=LaplacianL1(), sampler=sampler, count=2, dimension=2, bandwidth=1.0, generator=generator_of(0)
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": 0}, r"^count must be at least 1, got 0"),
        ({"dimension": 0}, r"inputs of at least 1 column, got 0"),
        ({"bandwidth": 0.0}, r"bandwidth must be positive and finite, got 0\.0"),
        ({"bandwidth": -1.0}, r"bandwidth must be positive and finite, got -1\.0"),
        ({"bandwidth": math.nan}, r"bandwidth must be positive and finite, got nan"),
        ({"bandwidth": math.inf}, r"bandwidth must be positive and finite, got inf"),
        ({"bandwidth": 1e-320}, r"Gaussian\(\) at bandwidth .* draws infinite frequencies; use a smoother kernel"),
        ({"kernel": Matern(smoothness=1e-4)}, r"smoothness=0\.0001\) at bandwidth 1 draws infinite frequencies"),
    ],
)
def test_requests_that_make_no_sense_are_refused(change: dict, message: str) -> None:
    request = {"kernel": Gaussian(), "sampler": Iid(), "count": 3, "dimension": 2, "bandwidth": 1.0} | change
    with pytest.raises(ValueError, match=message):
        draw_frequencies(**request, generator=generator_of(0))


def test_hadamard_needs_a_block() -> None:
    with pytest.raises(ValueError, match=r"^blocks must be at least 1, got 0"):
        Hadamard(blocks=0)
