"""Random-feature maps."""

import math
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from models.features import maps
from models.features.kernels import Gaussian
from models.features.maps import RandomFeatureMap, random_features, write_features
from models.features.samplers import Orthogonal, draw_frequencies
from oracles import random_features_by_rows

DTYPES = [(torch.float32, 2e-6), (torch.float64, 1e-14)]


def draw(count: int, dimension: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return draw_frequencies(
        kernel=Gaussian(), sampler=Orthogonal(), count=count, dimension=dimension, bandwidth=1.0, generator=generator
    )


def points(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
def test_equals_the_formula_entry_by_entry(dtype: torch.dtype, tolerance: float) -> None:
    frequencies, x = draw(7, 3), points(2, 4, 3)
    features = RandomFeatureMap(frequencies).to(dtype)(x.to(dtype))
    assert features.shape == (2, 4, 14)
    assert features.dtype == dtype
    for i in range(7):
        for b in range(2):
            for t in range(4):
                phase = sum(float(frequencies[i, j]) * float(x[b, t, j]) for j in range(3))
                assert float(features[b, t, i]) == pytest.approx(math.cos(phase) / 7**0.5, abs=tolerance)
                assert float(features[b, t, 7 + i]) == pytest.approx(math.sin(phase) / 7**0.5, abs=tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
def test_features_have_unit_norm_and_approach_the_kernel(dtype: torch.dtype, tolerance: float) -> None:
    x = points(6, 4).to(dtype)
    features = random_features(x, draw(20_000, 4).to(dtype))
    torch.testing.assert_close(features.norm(dim=1), torch.ones(6, dtype=dtype), atol=10 * tolerance, rtol=0)
    exact = Gaussian().value(torch.cdist(x, x))
    torch.testing.assert_close(features @ features.T, exact, atol=0.02, rtol=0)


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@pytest.mark.parametrize("rows_of_a_block", [0, 1, 5, 12, 35])
def test_blocks_of_rows_equal_the_formula(
    rows_of_a_block: int, dtype: torch.dtype, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """36 rows that do not lie one after the other in memory; the blocks divide them evenly or not."""
    frequencies, x = draw(7, 3).to(dtype), points(3, 3, 12).to(dtype).mT
    monkeypatch.setattr(maps, "BLOCK_BYTES", rows_of_a_block * 7 * x.element_size())
    monkeypatch.setattr(torch, "cat", lambda *_, **__: pytest.fail("not in blocks"))
    features = random_features(x, frequencies)
    monkeypatch.undo()
    assert (features.shape, features.dtype) == ((3, 12, 14), dtype)
    expected = random_features_by_rows(x.flatten(0, 1).double(), frequencies.double())
    torch.testing.assert_close(features.flatten(0, 1).double(), expected, atol=tolerance, rtol=0)


@pytest.fixture
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    assert torch.get_num_threads() == request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("threads", [1, 2, 3], indirect=True)
@pytest.mark.parametrize(("dtype", "tolerance"), [*DTYPES, (torch.bfloat16, 2e-2)])
@pytest.mark.usefixtures("threads")
def test_threads_share_the_blocks(dtype: torch.dtype, tolerance: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into columns of a wider tensor, whose other column stays as it is; the last block is the smallest."""
    frequencies, x = draw(7, 3).to(dtype), points(37, 3).to(dtype)
    monkeypatch.setattr(maps, "BLOCK_BYTES", 4 * 7 * x.element_size())
    wide = torch.full((37, 15), -5.0, dtype=dtype)
    write_features(wide[:, :-1], x, frequencies)
    expected = random_features_by_rows(x.double(), frequencies.double())
    torch.testing.assert_close(wide[:, :-1].double(), expected, atol=tolerance, rtol=0)
    assert bool((wide[:, -1] == -5.0).all())


@pytest.mark.parametrize("threads", [1, 2, 3], indirect=True)
def test_every_thread_forms_its_products_alone(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every thread waits in its first product until all have come to one."""
    frequencies, x, product = draw(7, 3).float().requires_grad_(), points(40, 3).float(), torch.mm
    monkeypatch.setattr(maps, "BLOCK_BYTES", 4 * 7 * x.element_size())
    everybody, seen = threading.Barrier(threads, timeout=30), dict[int, int]()

    def watched(*arguments: Any, **named: Any) -> torch.Tensor:
        if threading.get_ident() not in seen:
            seen[threading.get_ident()] = torch.get_num_threads()
            everybody.wait()
        return product(*arguments, **named)

    monkeypatch.setattr(torch, "mm", watched)
    features = torch.empty(40, 14)
    write_features(features, x, frequencies)
    assert list(seen.values()) == [1] * threads
    expected = random_features_by_rows(x.double(), frequencies.detach().double())
    torch.testing.assert_close(features.double(), expected, atol=2e-6, rtol=0)


def test_no_rows_have_no_features() -> None:
    features = torch.empty(0, 14)
    write_features(features, torch.empty(0, 3), draw(7, 3).float())
    assert features.shape == (0, 14)


@pytest.mark.parametrize("threads", [2], indirect=True)
@pytest.mark.usefixtures("threads")
def test_an_error_in_a_thread_is_raised_and_leaves_the_threads_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "sin", lambda *_, **__: pytest.fail("no sines"))
    with pytest.raises(pytest.fail.Exception, match="no sines"):
        write_features(torch.empty(8, 14), points(8, 3).float(), draw(7, 3).float())


@pytest.mark.parametrize(
    ("dtype", "unused", "tolerance"),
    [(torch.float32, torch, 4e-7), (torch.float64, np, 1e-15)],
    ids=["single", "double"],
)
def test_numbers_do_not_depend_on_whose_functions_are_used(
    dtype: torch.dtype, unused: Any, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NumPy's in single precision, torch's in double; the other's differ by some units in the last place of 1 at most.

    Phases are single products, the same in any order of sums, and reach 10⁴ radians."""
    frequencies, x = (1e3 * draw(50, 1)).to(dtype), points(6000, 1).to(dtype)
    phases = x @ frequencies.T
    values = phases.numpy()
    pairs = {torch: (np.cos(values), np.sin(values)), np: (phases.cos(), phases.sin())}
    ours, others = pairs[unused], pairs[np if unused is torch else torch]
    for name in ("cos", "sin"):
        monkeypatch.setattr(unused, name, lambda *_, **__: pytest.fail("not the faster functions"))
    found = random_features(x, frequencies)
    for expected in (ours, others):
        joined = torch.cat([torch.as_tensor(part) for part in expected], 1) / 50**0.5
        torch.testing.assert_close(found, joined, atol=tolerance / 50**0.5, rtol=0)


@pytest.mark.parametrize("threads", [1, 2], indirect=True)
@pytest.mark.usefixtures("threads")
def test_an_infinite_input_has_features_that_are_no_number_and_warns_nowhere() -> None:
    x = points(8, 3).float()
    x[2, 1] = math.inf
    features = torch.empty(8, 14)
    write_features(features, x, draw(7, 3).float())  # warnings are errors here
    assert features.isnan().all(1).tolist() == [row == 2 for row in range(8)]


def test_with_a_gradient_there_are_no_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maps, "BLOCK_BYTES", 0)
    frequencies, x = draw(4, 2), points(3, 2)
    for given in ((x.clone().requires_grad_(), frequencies), (x, frequencies.clone().requires_grad_())):
        features = random_features(*given)
        assert features.requires_grad
        torch.testing.assert_close(features.detach(), random_features(x, frequencies), atol=1e-14, rtol=0)
        with torch.no_grad():
            assert torch.equal(random_features(*given), random_features(x, frequencies))


def test_frequencies_move_and_are_saved_and_are_trained_only_when_asked() -> None:
    frequencies = draw(5, 2)
    feature_map = RandomFeatureMap(frequencies)
    assert feature_map.size == 10
    assert [p.requires_grad for p in feature_map.parameters()] == [False]
    assert torch.equal(feature_map.state_dict()["frequencies"], frequencies)
    assert feature_map.to(torch.float32).frequencies.dtype == torch.float32
    assert frequencies.dtype == torch.float64
    moved = RandomFeatureMap(frequencies).to("meta")(torch.zeros(3, 2, dtype=torch.float64, device="meta"))
    assert moved.device.type == "meta"
    assert moved.shape == (3, 10)


def test_takes_one_vector_and_no_vectors() -> None:
    feature_map = RandomFeatureMap(draw(5, 2))
    assert feature_map(points(2)).shape == (10,)
    assert feature_map(torch.zeros(0, 2, dtype=torch.float64)).shape == (0, 10)


def test_gradients_reach_the_input() -> None:
    x = points(3, 2).requires_grad_()
    assert torch.autograd.gradcheck(RandomFeatureMap(draw(4, 2)), x)


@pytest.mark.parametrize("shape", [(4, 2), (4,), ()])
def test_inputs_of_another_width_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="takes inputs of 3 columns, got shape"):
        RandomFeatureMap(draw(5, 3))(torch.zeros(shape, dtype=torch.float64))


@pytest.mark.parametrize("shape", [(3,), (0, 3), (3, 0), (2, 2, 2)])
def test_frequencies_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"frequencies must have shape \(count, dimension\), got"):
        RandomFeatureMap(torch.zeros(shape))


def test_frequencies_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ValueError, match="frequencies must be finite"):
        RandomFeatureMap(torch.tensor([[1.0, math.nan]]))


def test_projection() -> None:
    frequencies = draw(5, 2)
    projection = points(10, 3)
    feature_map = RandomFeatureMap(frequencies, projection)
    assert feature_map.size == 3
    x = points(4, 2)
    torch.testing.assert_close(feature_map(x), random_features(x, frequencies) @ projection)
    with pytest.raises(ValueError, match="projection must have 10 rows"):
        RandomFeatureMap(frequencies, points(9, 3))
