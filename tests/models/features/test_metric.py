"""Half-whitened inputs and inputs beside their features, against the formulas written out."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oracles
from models.features.maps import RandomFeatureMap, joint_features, random_features
from models.features.metric import Metric, empty_metric, metric_of
from models.numerics.whitening import whitening


def correlated(rows: int = 60) -> torch.Tensor:
    """Four columns of very different variances, the third a sum of the others, (row, 4)."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(rows, 4, generator=generator, dtype=torch.float64) * torch.tensor([3.0, 1.0, 1.0, 0.05])
    x[:, 2] = x[:, 0] - x[:, 1]
    return x + torch.tensor([0.0, 2.0, -1.0, 0.5])


@pytest.mark.parametrize("whiten", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("linear", [0.0, 3.0])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_features_are_those_of_the_formula(whiten: float, linear: float, dtype: torch.dtype) -> None:
    points = correlated()
    frequencies = torch.randn(5, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    metric = metric_of(points.to(dtype), whiten=whiten, linear=linear)
    found = joint_features(points.to(dtype), frequencies.to(dtype), metric)
    assert found.dtype == dtype
    if metric is None:
        assert (whiten, linear) == (0, 0)
        assert torch.equal(found, random_features(points.to(dtype), frequencies.to(dtype)))
        return
    assert (metric.root is None, metric.linear is None) == (whiten == 0, linear == 0)
    written = oracles.metric_written_out(points.to(dtype), whiten, linear)
    expected = oracles.joint_features_written_out(points.to(dtype).double().numpy(), frequencies.numpy(), written)
    np.testing.assert_allclose(found.double(), expected, atol=1e-7 if dtype == torch.float64 else 0.02)


@pytest.mark.parametrize(("whiten", "expected"), [(0.5, 0.5), (1.0, 0.0)])
def test_half_whitened_inputs_have_the_square_root_of_the_covariance(whiten: float, expected: float) -> None:
    points = correlated()[:, [0, 1, 3]]
    metric = metric_of(points, whiten=whiten, linear=0)
    assert metric is not None
    before, after = (np.linalg.eigvalsh(np.cov(x.numpy().T)) for x in (points, metric.applied(points)))
    slope = np.log(after[-1] / after[0]) / np.log(before[-1] / before[0])
    assert slope == pytest.approx(expected, abs=0.01)


def test_the_inputs_beside_their_features_have_the_mean_square_of_their_weight() -> None:
    points = correlated()
    metric = metric_of(points, whiten=0.5, linear=3.0)
    frequencies = torch.zeros(1, 4, dtype=torch.float64)
    beside = joint_features(points, frequencies, metric)[:, 2:]
    assert float(beside.square().sum(1).mean()) == pytest.approx(9.0)
    torch.testing.assert_close(beside.mean(0), torch.zeros(4, dtype=torch.float64), atol=1e-9, rtol=0)


def test_a_map_keeps_its_metric_and_one_without_has_the_entries_of_before() -> None:
    points, frequencies = correlated(), torch.ones(2, 4, dtype=torch.float64)
    plain = RandomFeatureMap(frequencies)
    assert list(plain.state_dict()) == ["frequencies"]
    assert (plain.metric, plain.size) == (None, 4)
    metric = metric_of(points, whiten=0.5, linear=1.0)
    made = RandomFeatureMap(frequencies, torch.ones(8, 3, dtype=torch.float64), metric)
    empty = empty_metric(4, whitened=True, linear=True)
    loaded = RandomFeatureMap(torch.zeros(2, 4), torch.zeros(8, 3), empty).double()
    loaded.load_state_dict(made.state_dict())
    assert torch.equal(loaded(points), made(points))
    assert (made.size, made.unprojected) == (3, 8)
    torch.testing.assert_close(made(points), joint_features(points, frequencies, metric).sum(1, True).expand(-1, 3))
    assert empty_metric(4, whitened=False, linear=False) is None
    with pytest.raises(ValueError, match=r"projection must have 8 rows, got shape \(4, 3\)"):
        RandomFeatureMap(frequencies, torch.ones(4, 3), metric)


def test_a_constant_column_stays_finite() -> None:
    points = correlated()
    points[:, 1] = 7.0
    metric = metric_of(points, whiten=1.0, linear=1.0)
    assert isinstance(metric, Metric)
    moved = metric.applied(points)
    assert bool(moved.isfinite().all())
    assert float(moved[:, 1].abs().max()) < 1e-9


def test_what_cannot_be_a_metric_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^whiten must be 0 or more, got -1"):
        metric_of(correlated(), whiten=-1, linear=0)
    with pytest.raises(ValueError, match=r"^linear must be 0 or more, got -2"):
        metric_of(correlated(), whiten=0, linear=-2)
    with pytest.raises(ValueError, match="nothing varies"):
        metric_of(torch.ones(5, 2), whiten=0.5, linear=0)


def test_the_root_is_that_of_the_one_whitening() -> None:
    points = correlated()
    metric = metric_of(points, whiten=0.5, linear=0)
    assert metric is not None
    assert metric.root is not None
    assert torch.equal(metric.root, whitening(torch.cov(points.T, correction=0), power=0.5))


@pytest.mark.parametrize("value", [float("nan"), 1e200])
@pytest.mark.parametrize(("whiten", "linear"), [(0.0, 1.0), (0.5, 0.0)])
def test_points_that_cannot_be_squared_are_refused(value: float, whiten: float, linear: float) -> None:
    points = torch.tensor([[1.0, 2.0], [value, 1.0], [0.0, -1.0]], dtype=torch.float64)
    with pytest.raises(ValueError, match="whiten, linear: the points are not finite, or too large to square"):
        metric_of(points, whiten=whiten, linear=linear)
