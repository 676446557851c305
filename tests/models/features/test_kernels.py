"""Exact kernel values, and the radial law that belongs to each kernel."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from models.features import kernels
from models.features.kernels import Gaussian, IsotropicKernel, Laplacian, LaplacianL1, Matern, RationalQuadratic
from oracles import kernel_by_radial_law, matern_half_integer, rational_quadratic_radius_probability

ISOTROPIC = [
    Gaussian(),
    Matern(smoothness=0.8),
    Matern(smoothness=1.5),
    Matern(smoothness=70.0),
    Laplacian(),
    RationalQuadratic(shape=0.6),
    RationalQuadratic(shape=4.0),
]
DISTANCES = torch.tensor([0.0, 1e-9, 0.3, 1.0, 2.5, 40.0], dtype=torch.float64)


@pytest.mark.parametrize("smoothness", [0.5, 1.5, 2.5])
def test_matern_values_equal_the_closed_forms(smoothness: float) -> None:
    result = Matern(smoothness=smoothness).value(DISTANCES)
    torch.testing.assert_close(result, matern_half_integer(DISTANCES, smoothness), atol=1e-14, rtol=1e-12)


def test_gaussian_laplacian_and_rational_quadratic_values() -> None:
    assert Gaussian().value(torch.tensor(2.0, dtype=torch.float64)).item() == pytest.approx(math.exp(-2), rel=1e-14)
    assert Laplacian().value(torch.tensor(2.0, dtype=torch.float64)).item() == pytest.approx(math.exp(-2), rel=1e-14)
    three = torch.tensor(3.0, dtype=torch.float64)
    assert RationalQuadratic(shape=0.5).value(three).item() == pytest.approx(10**-0.5, rel=1e-14)
    torch.testing.assert_close(
        Matern(smoothness=0.5).value(DISTANCES), Laplacian().value(DISTANCES), atol=0, rtol=1e-12
    )


def test_matern_values_are_continuous_where_the_formula_changes_and_end_in_the_gaussian() -> None:
    below, above = Matern(smoothness=50.0), Matern(smoothness=50.0 + 1e-9)
    torch.testing.assert_close(above.value(DISTANCES), below.value(DISTANCES), atol=1e-11, rtol=0)
    limit = Matern(smoothness=1e7).value(DISTANCES)
    torch.testing.assert_close(limit, Gaussian().value(DISTANCES), atol=1e-6, rtol=0)


@pytest.mark.parametrize("kernel", ISOTROPIC, ids=repr)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values_keep_shape_and_dtype_start_at_one_and_fall(kernel: IsotropicKernel, dtype: torch.dtype) -> None:
    values = kernel.value(DISTANCES.to(dtype).reshape(2, 3))
    assert values.shape == (2, 3)
    assert values.dtype == dtype
    assert float(values[0, 0]) == pytest.approx(1, abs=1e-14)
    assert bool((values.flatten()[1:].diff() < 0).all())
    torch.testing.assert_close(values.double().flatten(), kernel.value(DISTANCES), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("kernel", ISOTROPIC, ids=repr)
@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_the_radial_law_gives_back_the_kernel(kernel: IsotropicKernel, dimension: int) -> None:
    """Schoenberg's integral over the quantiles of a fine, even grid of probabilities, without any chance."""
    size = 500 if isinstance(kernel, RationalQuadratic) else 4000  # heavier tails need the finer grid
    grid = (torch.arange(size, dtype=torch.float64) + 0.5) / size
    radii = kernel.radius_quantile(grid, dimension)
    for distance in (0.3, 1.0, 2.5):
        expected = kernel.value(torch.tensor(distance, dtype=torch.float64)).item()
        assert kernel_by_radial_law(radii, distance, dimension) == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("dimension", [1, 3, 44])
def test_gaussian_and_matern_radii_follow_their_laws(dimension: int) -> None:
    generator = torch.Generator().manual_seed(dimension)
    gaussian = Gaussian().radii(5000, dimension, generator=generator).numpy()
    assert stats.kstest(gaussian, stats.chi(dimension).cdf).pvalue > 0.01
    matern = Matern(smoothness=1.5).radii(5000, dimension, generator=generator).numpy()
    assert stats.kstest(matern**2 / dimension, stats.f(dimension, 3.0).cdf).pvalue > 0.01
    laplacian = Laplacian().radii(5000, dimension, generator=generator).numpy()
    assert stats.kstest(laplacian**2 / dimension, stats.f(dimension, 1.0).cdf).pvalue > 0.01


def test_a_wrong_law_fails_the_same_comparison() -> None:
    radii = Gaussian().radii(5000, 3, generator=torch.Generator().manual_seed(3)).numpy()
    assert stats.kstest(radii, stats.chi(4).cdf).pvalue < 1e-6


def test_matern_radii_are_the_stated_ratio_of_chi_variables() -> None:
    rng = np.random.default_rng(0)
    ratio = np.sqrt(rng.chisquare(4, 5000)) * np.sqrt(5.0 / rng.chisquare(5.0, 5000))
    radii = Matern(smoothness=2.5).radii(5000, 4, generator=torch.Generator().manual_seed(0)).numpy()
    assert stats.ks_2samp(ratio, radii).pvalue > 0.01


@pytest.mark.parametrize(("shape", "dimension"), [(0.5, 1), (1.0, 3), (6.0, 22)])
def test_rational_quadratic_radii_follow_their_law(shape: float, dimension: int) -> None:
    radii = RationalQuadratic(shape=shape).radii(200, dimension, generator=torch.Generator().manual_seed(5))
    probabilities = [rational_quadratic_radius_probability(r, shape, dimension) for r in radii.tolist()]
    assert stats.kstest(probabilities, stats.uniform.cdf).pvalue > 0.01


@pytest.mark.parametrize("shape", [0.2, 1.0, 30.0])
@pytest.mark.parametrize("dimension", [1, 3, 200])
def test_rational_quadratic_quantiles_invert_their_law(shape: float, dimension: int) -> None:
    probability = torch.tensor([[1e-6, 0.01, 0.4], [0.5, 0.9, 0.999]], dtype=torch.float64)
    radii = RationalQuadratic(shape=shape).radius_quantile(probability, dimension)
    assert radii.shape == probability.shape
    again = [rational_quadratic_radius_probability(r, shape, dimension) for r in radii.flatten().tolist()]
    np.testing.assert_allclose(again, probability.flatten().numpy(), rtol=1e-8)


@pytest.mark.parametrize("shape", [0.001, 0.01, 1e7])
def test_rational_quadratic_quantiles_stay_finite_and_ordered_at_extreme_shapes(shape: float) -> None:
    """Tails far below the smallest float64; beyond them, the Gaussian."""
    probability = torch.linspace(0.01, 0.99, 40, dtype=torch.float64)
    radii = RationalQuadratic(shape=shape).radius_quantile(probability, 3)
    assert bool(radii.isfinite().all())
    assert bool((radii.diff() >= 0).all())
    if shape > 1:
        torch.testing.assert_close(radii, Gaussian().radius_quantile(probability, 3), atol=0, rtol=1e-6)


def test_rational_quadratic_quantiles_that_do_not_settle_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    probability = torch.tensor([0.01, 0.4, 0.999], dtype=torch.float64)
    monkeypatch.setattr(kernels, "NEWTON_STEPS", 3)
    with pytest.raises(
        ValueError, match=r"did not settle in 3 steps .* \(shapes 1\.5 and 2\); take a shape nearer to 1"
    ):
        RationalQuadratic(shape=2.0).radius_quantile(probability, 3)


@pytest.mark.parametrize("kernel", ISOTROPIC, ids=repr)
def test_quantiles_end_at_zero_and_infinity_and_rise_between(kernel: IsotropicKernel) -> None:
    probability = torch.tensor([0.0, 1e-12, 0.2, 0.5, 0.8, 1 - 1e-12, 1.0], dtype=torch.float64)
    radii = kernel.radius_quantile(probability, 6)
    assert radii[0] == 0
    assert radii[-1] == math.inf
    assert bool((radii.diff() > 0).all())


@pytest.mark.parametrize("kernel", ISOTROPIC, ids=repr)
def test_quantiles_of_nothing_are_nothing(kernel: IsotropicKernel) -> None:
    assert kernel.radius_quantile(torch.zeros(0, dtype=torch.float64), 2).shape == (0,)


def test_laplacian_l1_has_cauchy_coordinates_and_takes_differences() -> None:
    kernel = LaplacianL1()
    frequencies = kernel.frequencies(2000, 3, generator=torch.Generator().manual_seed(1))
    assert frequencies.shape == (2000, 3)
    assert frequencies.dtype == torch.float64
    for column in frequencies.T:
        assert stats.kstest(column.numpy(), stats.cauchy.cdf).pvalue > 0.01
    difference = torch.tensor([[1.0, -2.0], [0.0, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(kernel.value(difference), torch.tensor([math.exp(-3), 1.0], dtype=torch.float64))


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_bad_parameters_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"^smoothness must be a number above 0"):
        Matern(smoothness=value)
    with pytest.raises(ValueError, match=r"^shape must be a number above 0"):
        RationalQuadratic(shape=value)


@pytest.mark.parametrize("value", [torch.tensor(1.5), torch.tensor([1.5, 2.5]), np.array(1.5), np.array([1.5])])
def test_a_parameter_in_an_array_or_a_tensor_is_refused_with_what_to_give(value: Any) -> None:
    wanted = r" must be a number above 0, got .*; give a plain number in place of an array or a tensor$"
    with pytest.raises(TypeError, match=f"^smoothness{wanted}"):
        Matern(smoothness=value)
    with pytest.raises(TypeError, match=f"^shape{wanted}"):
        RationalQuadratic(shape=value)


def test_isotropy_is_declared() -> None:
    assert all(kernel.isotropic for kernel in ISOTROPIC)
    assert not LaplacianL1().isotropic
