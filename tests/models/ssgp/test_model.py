"""Sparse-spectrum Gaussian processes against dense ones with the kernel s² Φ Φᵀ, and on data that is bad."""

from __future__ import annotations

import math
import pickle

import pytest
import torch
from torch.distributions import MultivariateNormal

from models.features.maps import random_features
from models.ssgp import model as ssgp_model
from models.ssgp import moments
from models.ssgp.kernel_process import GaussianKernel, exact_process
from models.ssgp.model import SSGP, NearlyNoiseless, softplus_inverse
from models.ssgp.moments import feature_moments, in_blocks
from oracles import train


def problem(rows: int = 40, *, dimension: int = 3, count: int = 5, seed: int = 0):
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(rows, dimension, generator=generator, dtype=torch.float64)
    targets = inputs.sin().sum(1) + 0.1 * torch.randn(rows, generator=generator, dtype=torch.float64)
    model = SSGP(torch.randn(count, dimension, generator=generator, dtype=torch.float64), scale=1.5)
    with torch.no_grad():
        model.raw_scales += 0.3 * torch.randn(dimension, generator=generator, dtype=torch.float64)
        model.raw_signal += 0.4
        model.raw_noise -= 0.7
    return model, inputs, targets


def dense_features(model: SSGP, x):
    return random_features(x / model.length_scales, model.frequencies)


def test_loss_and_predictions_are_those_of_the_dense_process() -> None:
    model, inputs, targets = problem()
    new = torch.randn(7, 3, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    old_features, new_features = dense_features(model, inputs), dense_features(model, new)
    noise = model.noise * torch.eye(40, dtype=torch.float64)
    covariance = model.signal * old_features @ old_features.T + noise
    dense = MultivariateNormal(torch.zeros(40, dtype=torch.float64), covariance)
    stream = in_blocks(inputs, targets, block=7)
    torch.testing.assert_close(model.loss(stream), -dense.log_prob(targets) / 40)
    cross = model.signal * new_features @ old_features.T
    mean = cross @ torch.linalg.solve(covariance, targets)
    kept = model.signal * new_features @ new_features.T - cross @ torch.linalg.solve(covariance, cross.T)
    found = model.posterior(stream).predict(new)
    torch.testing.assert_close(found.mean, mean)
    torch.testing.assert_close(found.function_variance, kept.diagonal())
    torch.testing.assert_close(found.variance, kept.diagonal() + model.noise)


@pytest.mark.parametrize("rows", [0, 1, 6, 8])
def test_predictions_in_blocks_of_rows_are_those_of_all_rows_at_once(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, inputs, targets = problem()
    new = torch.randn(rows, 3, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    kernel = GaussianKernel(model.length_scales.detach(), model.signal.detach())
    sparse = model.posterior(in_blocks(inputs, targets))
    for process in (sparse, exact_process(kernel, model.noise.detach(), inputs, targets)):
        whole = process.predict(new)
        monkeypatch.setattr(ssgp_model, "BLOCK", 3)
        blocks = process.predict(new)
        monkeypatch.undo()
        assert [len(values) for values in blocks] == [rows] * 3
        for found, expected in zip(blocks, whole, strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kept_rows", [12, 7, 0])
def test_gradients_are_those_of_differences(kept_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the features of all, of some and of no blocks kept for the second pass."""
    monkeypatch.setattr(moments, "KEPT_BYTES", kept_rows * (2 * 3 + 1) * 8)
    model, inputs, targets = problem(rows=12, dimension=2, count=3)
    stream = in_blocks(inputs, targets, block=5)
    names = ("frequencies", "raw_scales", "raw_signal", "raw_noise")

    def loss(*values):
        return torch.func.functional_call(model, dict(zip(names, values, strict=True)), (stream,))

    model.forward = model.loss
    values = [getattr(model, name).detach().clone().requires_grad_() for name in names]
    assert torch.autograd.gradcheck(loss, values)


def test_a_second_derivative_is_refused_and_not_wrong() -> None:
    model, inputs, targets = problem(rows=12, dimension=2, count=3)
    with pytest.raises(RuntimeError, match="cannot be differentiated once more; form the features by"):
        torch.autograd.grad(model.loss(in_blocks(inputs, targets)), [model.raw_scales], create_graph=True)


def test_a_fit_in_a_stream_is_the_whole_one() -> None:
    model, inputs, targets = problem(rows=100)
    whole, streamed = (model.posterior(in_blocks(inputs, targets, block=size)) for size in (100, 9))
    for one, other in zip(whole, streamed, strict=True):
        torch.testing.assert_close(one, other)
    frequencies = model.scaled_frequencies
    small = feature_moments(frequencies, in_blocks(inputs.float(), targets.float(), block=9))
    torch.testing.assert_close(
        small.gram, dense_features(model, inputs).T @ dense_features(model, inputs), rtol=1e-5, atol=1e-4
    )
    assert (small.rows, small.gram.dtype) == (100, torch.float64)


def test_training_lowers_the_loss_finds_the_noise_and_leaves_frequencies_alone() -> None:
    model, inputs, targets = problem(rows=400, dimension=1, count=20)
    before = model.frequencies.detach().clone()
    stream = in_blocks(inputs, targets)
    begun = model.loss(stream).item()
    losses = train(model, stream, iterations=150, learning_rate=0.1)
    assert (len(losses), losses[0], losses[-1]) == (151, begun, model.loss(stream).item())
    assert losses[-1] < losses[0] - 0.5
    assert math.sqrt(model.noise.item()) == pytest.approx(0.1, rel=0.15)
    torch.testing.assert_close(model.frequencies, before, rtol=0, atol=0)


def test_frequencies_are_trained_when_asked_for() -> None:
    _, inputs, targets = problem(dimension=1)
    start = torch.ones(2, 1, dtype=torch.float64)
    model = SSGP(start + torch.tensor([[0.0], [0.5]], dtype=torch.float64), train_frequencies=True)
    train(model, in_blocks(inputs[:, :1], targets), iterations=3, learning_rate=0.1)
    assert not torch.equal(model.frequencies.detach()[0], start[0])


@pytest.mark.parametrize("rows", [1, 2, 50])
def test_one_row_duplicates_a_constant_column_and_more_features_than_rows_do_no_harm(rows: int) -> None:
    model, _, _ = problem(count=30)
    inputs = torch.tensor([[0.5, 0.0, -1.0]], dtype=torch.float64).expand(rows, 3).contiguous()
    targets = torch.full((rows,), 0.7, dtype=torch.float64)
    stream = in_blocks(inputs, targets)
    train(model, stream, iterations=20, learning_rate=0.1)
    found = model.posterior(stream).predict(inputs[:1])
    assert 0 < found.function_variance.item() < found.variance.item() < math.inf
    assert found.mean.item() == pytest.approx(0.7, abs=0.3)


def test_targets_without_noise_stop_at_the_floor() -> None:
    model, inputs, _ = problem(rows=60, dimension=1, count=4)
    with torch.no_grad():
        model.raw_noise.fill_(-60.0)
    targets = random_features(inputs, model.scaled_frequencies.detach()).sum(1)
    found = model.posterior(in_blocks(inputs, targets)).predict(inputs)
    torch.testing.assert_close(found.mean, targets, rtol=1e-4, atol=1e-4)
    assert bool((found.function_variance >= 0).all())


def test_values_that_cannot_be_used_are_refused() -> None:
    model, inputs, targets = problem()
    for place in (inputs, targets):
        kept = place[0].clone()
        place[0] = math.nan
        with pytest.raises(ValueError, match="of 40 rows one holds a value that is not finite"):
            model.loss(in_blocks(inputs, targets))
        place[0] = kept
    with pytest.raises(ValueError, match="got no row to learn from"):
        model.loss(in_blocks(inputs[:0], targets[:0]))
    with pytest.raises(ValueError, match="do not belong together"):
        in_blocks(inputs, targets[1:])
    with pytest.raises(ValueError, match="takes inputs of 3 columns"):
        model.loss(in_blocks(inputs[:, :2], targets))
    with pytest.raises(ValueError, match="frequencies must have shape"):
        SSGP(torch.zeros(0, 3))
    with pytest.raises(ValueError, match="the first length-scale must be positive"):
        SSGP(torch.ones(2, 3), scale=0.0)


def test_positive_parameters_begin_where_they_are_told_to() -> None:
    for value in (1e-6, 0.25, 1.0, 30.0, 1e4):
        raw = torch.tensor(softplus_inverse(value), dtype=torch.float64)
        assert torch.nn.functional.softplus(raw).item() == pytest.approx(value, rel=1e-9)
    model = SSGP(torch.ones(2, 3), scale=1.5)
    assert model.length_scales.tolist() == pytest.approx([1.5] * 3)
    assert (model.signal.item(), model.noise.item()) == pytest.approx((1.0, 0.25), rel=1e-5)
    with torch.no_grad():
        model.raw_scales.fill_(-1e4)
    with pytest.raises(
        ValueError, match="a frequency over its length-scale is not finite any more; lower the learning"
    ):
        _ = model.scaled_frequencies


def test_training_that_diverges_says_what_to_do() -> None:
    model, inputs, targets = problem()
    with torch.no_grad():
        model.raw_signal.fill_(math.inf)
    with pytest.raises(
        ValueError, match="the ratio of signal and noise variance is not finite any more; lower the learning rate"
    ):
        train(model, in_blocks(inputs, targets), iterations=1, learning_rate=0.1)


def test_the_error_of_a_nearly_noiseless_process_comes_whole_out_of_another_process() -> None:
    error = NearlyNoiseless(1e20, "fit all rows anew")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (str(again), again.ratio) == (str(error), 1e20)
