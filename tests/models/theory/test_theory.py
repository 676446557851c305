"""Section 5 of the paper: dense forms against closed forms and SciPy, iterative forms against dense ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
import torch

from models.features.kernel_matrix import kernel_matrix, kernel_product
from models.features.kernels import Gaussian, LaplacianL1, Matern
from models.features.maps import random_features
from models.features.samplers import Hadamard, Iid, Orthogonal, draw_frequencies
from models.theory.bounds import count_for_theorem_2, rank_bound, theorem_1, theorem_2
from models.theory.dense import Approximation, KernelSpectrum, feature_risk
from models.theory.iterative import (
    ShiftedKernel,
    generalised_lanczos,
    iterative_approximation,
    iterative_risk,
    woodbury,
)
from oracles import spectral_approximation


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def points(rows: int, columns: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, columns, dtype=torch.float64, generator=generator(seed))


def features_of(x: torch.Tensor, *, count: int, sampler=None, kernel=None, seed: int = 1) -> torch.Tensor:
    frequencies = draw_frequencies(
        kernel=kernel or Gaussian(), sampler=sampler or Orthogonal(), count=count, dimension=x.shape[1],
        bandwidth=2.0, generator=generator(seed),
    )  # fmt: skip
    return random_features(x, frequencies)


@pytest.fixture
def problem():
    x = points(60, 4)
    return x, kernel_matrix(Gaussian(), x, bandwidth=2.0), torch.sin(x.sum(1))


def test_scaled_matrices_have_the_delta_that_algebra_says() -> None:
    rows, ridge = 12, 0.05
    shift = ridge * rows
    identity = torch.eye(rows, dtype=torch.float64)
    found = spectral_approximation(identity, 1.5 * identity, ridge=ridge)
    assert found.delta == pytest.approx(0.5 / (1 + shift), rel=1e-12)
    assert found.lowest == pytest.approx(found.highest, rel=1e-12)
    diagonal = torch.linspace(0, 3, rows, dtype=torch.float64).diag()
    below = spectral_approximation(diagonal, 0 * diagonal, ridge=ridge)
    assert below.delta == pytest.approx(3 / (3 + shift), rel=1e-12)
    assert below.highest == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("ridge", [1.0, 1e-2, 1e-5])
def test_delta_is_scipys_generalised_eigenvalue_and_no_smaller_one_serves(problem, ridge: float) -> None:
    x, exact, _ = problem
    features = features_of(x, count=16)
    approximate = features @ features.T
    shift = ridge * len(x) * np.eye(len(x))
    mu = scipy.linalg.eigh(approximate.numpy() + shift, exact.numpy() + shift, eigvals_only=True)
    by_cholesky = spectral_approximation(exact, approximate, ridge=ridge)
    by_spectrum = KernelSpectrum(exact).approximation(features, ridge=ridge)
    for found in (by_cholesky, by_spectrum):
        assert found.delta == pytest.approx(np.abs(mu - 1).max(), rel=1e-6)
        assert (1 + found.lowest, 1 + found.highest) == pytest.approx((mu[0], mu[-1]), rel=1e-6)
    a, b, delta = approximate.numpy() + shift, exact.numpy() + shift, by_cholesky.delta
    for slack, holds in ((1e-6, True), (-1e-3, False)):
        d = delta * (1 + slack)
        least = min(np.linalg.eigvalsh((1 + d) * b - a)[0], np.linalg.eigvalsh(a - (1 - d) * b)[0])
        assert (least >= -1e-12) == holds


def test_statistical_dimension_and_risk_against_the_formulae_written_out(problem) -> None:
    x, exact, signal = problem
    ridge, noise, rows = 0.01, 0.3, len(x)
    spectrum = KernelSpectrum(exact)
    inverse = torch.linalg.inv(exact + ridge * rows * torch.eye(rows, dtype=torch.float64))
    smoother = exact @ inverse
    risk = spectrum.risk(signal, ridge=ridge, noise=noise)
    assert spectrum.dimension(ridge) == pytest.approx(float(smoother.trace()), rel=1e-9)
    assert risk.dimension == pytest.approx(spectrum.dimension(ridge), rel=1e-12)
    assert risk.bias == pytest.approx(float((smoother @ signal - signal).square().mean()), rel=1e-9)
    assert risk.variance == pytest.approx(noise**2 * float(smoother.square().sum()) / rows, rel=1e-9)
    assert risk.bias_bound == pytest.approx(ridge * float(signal @ inverse @ signal), rel=1e-9)
    assert risk.total <= risk.bound


def test_risk_is_the_mean_over_drawn_noise(problem) -> None:
    x, exact, signal = problem
    ridge, noise, draws = 0.01, 0.5, 4000
    shifted = exact + ridge * len(x) * torch.eye(len(x), dtype=torch.float64)
    targets = signal[:, None] + noise * torch.randn(len(x), draws, dtype=torch.float64, generator=generator(5))
    errors = (exact @ torch.linalg.solve(shifted, targets) - signal[:, None]).square().mean(0)
    expected = KernelSpectrum(exact).risk(signal, ridge=ridge, noise=noise).total
    assert float(errors.mean()) == pytest.approx(expected, abs=5 * float(errors.std()) / math.sqrt(draws))


@pytest.mark.parametrize("count", [5, 50])
def test_the_risk_of_features_is_that_of_their_kernel_matrix(problem, count: int) -> None:
    x, _, signal = problem
    features = features_of(x, count=count)
    found = feature_risk(features, signal, ridge=0.01, noise=0.3)
    expected = KernelSpectrum(features @ features.T).risk(signal, ridge=0.01, noise=0.3)
    assert found == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("sampler", [Iid(), Orthogonal(), Hadamard()])
def test_theorem_1_holds_in_every_draw(problem, sampler) -> None:
    x, exact, signal = problem
    ridge, noise, count = 0.05, 0.3, 64
    spectrum = KernelSpectrum(exact)
    own = spectrum.risk(signal, ridge=ridge, noise=noise)
    below_one = 0
    for seed in range(20):
        features = features_of(x, count=count, sampler=sampler, seed=seed)
        delta = spectrum.approximation(features, ridge=ridge).delta
        bound = theorem_1(own, delta=delta, rank=rank_bound(rows=60, count=count), rows=60, noise=noise)
        below_one += delta < 1
        assert feature_risk(features, signal, ridge=ridge, noise=noise).total <= bound
    assert below_one >= 15


def test_theorem_1_needs_the_corrected_factors() -> None:
    """With λ where λN belongs (the paper's R̄) the bound is below the risk itself."""
    signal = torch.ones(50, dtype=torch.float64)
    spectrum = KernelSpectrum(torch.eye(50, dtype=torch.float64) * 1e-3)
    ridge = 1e-3
    risk = spectrum.risk(signal, ridge=ridge, noise=0.0)
    as_printed = ridge**2 / 50 * float((signal**2 / (1e-3 + ridge * 50)).sum())
    assert as_printed < risk.total <= theorem_1(risk, delta=0.0, rank=50, rows=50, noise=0.0)
    assert theorem_1(risk, delta=1.0, rank=50, rows=50, noise=0.0) == math.inf


def test_theorem_2_bounds_the_measured_failures_and_falls_to_what_is_asked() -> None:
    x = points(8, 3)
    spectrum = KernelSpectrum(kernel_matrix(Gaussian(), x, bandwidth=2.0))
    ridge, threshold = 1.0, 0.5
    bound = theorem_2(threshold, count=60, rows=8, ridge=ridge)
    assert 0 < bound < 0.1
    deltas = [
        spectrum.approximation(features_of(x, count=60, sampler=Iid(), seed=seed), ridge=ridge).delta
        for seed in range(50)
    ]
    assert np.mean(np.array(deltas) > threshold) <= bound
    enough = count_for_theorem_2(threshold, 0.01, rows=8, ridge=ridge)
    assert theorem_2(threshold, count=enough, rows=8, ridge=ridge) <= 0.01
    assert theorem_2(threshold, count=enough - 1, rows=8, ridge=ridge) > 0.01
    assert theorem_2(threshold, count=1, rows=8, ridge=ridge) == 1.0
    assert count_for_theorem_2(threshold, 0.01, rows=8, ridge=1e-300) == math.inf
    assert theorem_2(threshold, count=1, rows=8, ridge=1e-300) == 1.0
    assert count_for_theorem_2(threshold, 0.01, rows=8, ridge=1e300) == 1
    assert theorem_2(threshold, count=1, rows=8, ridge=1e300) == 0.0


def test_products_without_the_matrix_are_those_with_it(monkeypatch) -> None:
    monkeypatch.setattr("models.features.kernel_matrix.BLOCK_BYTES", 8 * 50 * 7)
    monkeypatch.setattr("models.features.kernel_matrix.KEPT_BYTES", 0)
    x, v = points(50, 3), points(50, 2, seed=9)
    for kernel in (Gaussian(), Matern(smoothness=1.5), LaplacianL1()):
        whole = kernel_matrix(kernel, x, bandwidth=1.5)
        assert torch.allclose(kernel_product(kernel, x, bandwidth=1.5)(v), whole @ v, atol=1e-12)
        assert torch.equal(whole, whole.T)
        assert torch.equal(whole.diagonal(), torch.ones(50, dtype=torch.float64))


def test_the_l1_kernel_holds_no_differences_of_all_coordinates(monkeypatch) -> None:
    x, value, held = points(50, 3), LaplacianL1.value, []

    def noted(kernel: LaplacianL1, difference: torch.Tensor) -> torch.Tensor:
        held.append(difference.numel())
        return value(kernel, difference)

    monkeypatch.setattr(LaplacianL1, "value", noted)
    found = kernel_matrix(LaplacianL1(), x, bandwidth=1.5)
    assert held == [50 * 50]
    torch.testing.assert_close(found, torch.exp(-(x[:, None] - x).abs().sum(2) / 1.5), rtol=1e-14, atol=0)


def test_woodbury_solves() -> None:
    features, right = points(40, 6), points(40, 3, seed=2)
    matrix = features @ features.T + 0.1 * torch.eye(40, dtype=torch.float64)
    assert torch.allclose(woodbury(features, 0.1)(right), torch.linalg.solve(matrix, right), atol=1e-10)


def test_lanczos_finds_known_eigenvalues() -> None:
    values = torch.linspace(-0.9, 2.0, 80, dtype=torch.float64)
    shifted = ShiftedKernel(lambda v: 0 * v, rows=80, ridge=1 / 80)
    found = generalised_lanczos(lambda v: values[:, None] * v, shifted, points(80, 1), tolerance=1e-8, most=80)
    assert (found.lowest, found.highest) == pytest.approx((-0.9, 2.0), abs=1e-7)


def test_a_small_residual_is_near_some_eigenvalue_and_not_the_extreme_one() -> None:
    """A start without a part along the highest eigenvector stops, by its residual, at an eigenvalue below it."""
    values = torch.linspace(-0.9, 2.0, 80, dtype=torch.float64)
    shifted, start = ShiftedKernel(lambda v: 0 * v, rows=80, ridge=1 / 80), points(80, 1)
    start[-1] = 0.0
    found = generalised_lanczos(lambda v: values[:, None] * v, shifted, start, tolerance=1e-8, most=80)
    assert found.residual < 1e-7
    assert found.highest == pytest.approx(float(values[-2]), abs=1e-7)


@pytest.mark.parametrize("sampler", [Iid(), Orthogonal(), Hadamard()])
@pytest.mark.parametrize("ridge", [1e-1, 1e-3])
def test_iterative_forms_agree_with_the_dense_oracle(sampler, ridge: float) -> None:
    x = points(400, 6)
    x[7] = x[3]  # a singular kernel matrix
    signal = torch.cos(x[:, 0])
    spectrum = KernelSpectrum(kernel_matrix(Gaussian(), x, bandwidth=2.0))
    features = features_of(x, count=40, sampler=sampler)
    product = kernel_product(Gaussian(), x, bandwidth=2.0)
    shifted = ShiftedKernel(product, rows=400, ridge=ridge, features=features_of(x, count=100, seed=8))
    found = iterative_approximation(shifted, features, generator=generator(3))
    expected = spectrum.approximation(features, ridge=ridge)
    assert (found.lowest, found.highest) == pytest.approx((expected.lowest, expected.highest), abs=1e-6)
    risk = iterative_risk(shifted, signal, noise=0.2)
    assert risk == pytest.approx(spectrum.risk(signal, ridge=ridge, noise=0.2), rel=1e-6)


def test_one_point_and_equal_points() -> None:
    x = torch.ones(1, 3, dtype=torch.float64)
    one = KernelSpectrum(kernel_matrix(Gaussian(), x, bandwidth=1.0))
    assert one.approximation(features_of(x, count=4), ridge=0.5).delta == pytest.approx(0.0, abs=1e-12)
    assert one.dimension(0.5) == pytest.approx(1 / 1.5)
    equal = torch.ones(5, 3, dtype=torch.float64)
    spectrum = KernelSpectrum(kernel_matrix(Gaussian(), equal, bandwidth=1.0))
    features = features_of(equal, count=4)
    assert spectrum.approximation(features, ridge=0.1).delta == pytest.approx(0.0, abs=1e-12)
    assert spectrum.dimension(0.1) == pytest.approx(5 / 5.5)
    shifted = ShiftedKernel(kernel_product(Gaussian(), equal, bandwidth=1.0), rows=5, ridge=0.1)
    assert iterative_approximation(shifted, features, generator=generator()).delta == pytest.approx(0, abs=1e-9)
    assert iterative_risk(shifted, equal[:, 0], noise=0.1).dimension == pytest.approx(5 / 5.5, rel=1e-8)


def test_delta_is_never_negative() -> None:
    assert Approximation(0.1, 0.2).delta == 0.2
    assert Approximation(1e-17, -1e-17).delta == 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda k: k[:, :-1], "must be square"),
        (lambda k: k[:0, :0], "at least one row"),
        (lambda k: k.clone().index_put_((torch.tensor(2), torch.tensor(4)), torch.tensor(0.5).double()), "symmetric"),
        (lambda k: k * float("nan"), "not finite at row 0, column 0"),
    ],
)
def test_a_bad_matrix_is_refused(problem, change, message: str) -> None:
    _, exact, _ = problem
    with pytest.raises(ValueError, match=message):
        KernelSpectrum(change(exact))


@pytest.mark.parametrize("ridge", [0.0, -1.0, math.nan, math.inf])
def test_a_bad_ridge_is_refused(problem, ridge: float) -> None:
    x, exact, signal = problem
    spectrum, features = KernelSpectrum(exact), features_of(x, count=4)
    for call in (
        lambda: spectrum.risk(signal, ridge=ridge, noise=0.1),
        lambda: spectrum.dimension(ridge),
        lambda: spectrum.approximation(features, ridge=ridge),
        lambda: feature_risk(features, signal, ridge=ridge, noise=0.1),
        lambda: ShiftedKernel(lambda v: v, rows=3, ridge=ridge),
        lambda: theorem_2(0.5, count=3, rows=4, ridge=ridge),
    ):
        with pytest.raises(ValueError, match="ridge must be a number above 0"):
            call()


def test_what_does_not_fit_is_refused(problem) -> None:
    x, exact, signal = problem
    spectrum, features = KernelSpectrum(exact), features_of(x, count=4)
    with pytest.raises(ValueError, match="60 finite numbers"):
        spectrum.risk(signal[1:], ridge=0.1, noise=0.1)
    with pytest.raises(ValueError, match="noise must be finite and not negative"):
        spectrum.risk(signal, ridge=0.1, noise=-0.1)
    with pytest.raises(ValueError, match="must have 60 rows"):
        spectrum.approximation(features[1:], ridge=0.1)
    with pytest.raises(ValueError, match="features are not finite"):
        feature_risk(features * math.nan, signal, ridge=0.1, noise=0.1)
    bad = x.clone()
    bad[4, 1] = math.nan
    with pytest.raises(ValueError, match="point 4 is not finite in column 1"):
        kernel_matrix(Gaussian(), bad, bandwidth=1.0)
    with pytest.raises(ValueError, match="at least one of each"):
        kernel_product(Gaussian(), x[:0], bandwidth=1.0)
    with pytest.raises(ValueError, match="bandwidth must be positive"):
        kernel_matrix(Gaussian(), x, bandwidth=0.0)


def test_iterations_that_cannot_succeed_say_why(problem) -> None:
    x, exact, _ = problem
    right = torch.ones(60, 1, dtype=torch.float64)
    with pytest.raises(ValueError, match="product is not finite; look at the inputs"):
        ShiftedKernel(lambda v: v * math.nan, rows=60, ridge=1.0).solve(right)
    with pytest.raises(ValueError, match="not positive definite; raise the ridge"):
        ShiftedKernel(lambda v: -v, rows=60, ridge=1e-3).solve(right)
    spread = torch.logspace(0, 16, 60, dtype=torch.float64)[:, None]
    with pytest.raises(ValueError, match="after 610 products, wanted 1e-09; raise the ridge, or precondition by more"):
        ShiftedKernel(lambda v: spread * v, rows=60, ridge=1e-3).solve(right)
    shifted = ShiftedKernel(lambda v: exact @ v, rows=60, ridge=1e-3)
    with pytest.raises(ValueError, match="after 2 steps"):
        iterative_approximation(shifted, features_of(x, count=4), generator=generator(), most=2)
