"""The chunked, smoothed cross-entropy against torch's own, its gradient, and its memory."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from models.sequence.losses import smoothed_cross_entropy

TOKENS, WIDTH, VOCABULARY = 11, 5, 7


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def some() -> tuple[Tensor, Tensor, Tensor]:
    targets = torch.randint(VOCABULARY, (TOKENS,), generator=torch.Generator().manual_seed(2))
    return normal(TOKENS, WIDTH).requires_grad_(), normal(VOCABULARY, WIDTH, seed=1).requires_grad_(), targets


@pytest.mark.parametrize("rows", [1, 4, 256])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_chunked_form_is_that_of_torch(rows: int, smoothing: float) -> None:
    hidden, weight, targets = some()
    found = smoothed_cross_entropy(hidden, weight, targets, smoothing=smoothing, rows=rows)
    logits = hidden @ weight.T
    expected = nn.functional.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(found.loss.total, expected, rtol=1e-10, atol=1e-10)
    assert found.loss.weight == TOKENS
    nats = nn.functional.cross_entropy(logits, targets, reduction="none").detach()
    torch.testing.assert_close(found.nats, nats, rtol=1e-10, atol=1e-10)
    assert not found.nats.requires_grad
    slopes = torch.autograd.grad(found.loss.mean, [hidden, weight])
    for one, other in zip(slopes, torch.autograd.grad(expected / TOKENS, [hidden, weight]), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


def test_the_gradient_is_that_of_finite_differences() -> None:
    hidden, weight, targets = some()

    def total(own: Tensor, other: Tensor) -> Tensor:
        return smoothed_cross_entropy(own, other, targets, rows=4).loss.total

    assert torch.autograd.gradcheck(total, (hidden, weight))


def test_a_second_derivative_is_refused_and_not_wrong() -> None:
    hidden, weight, targets = some()
    found = smoothed_cross_entropy(hidden, weight, targets).loss.total
    with pytest.raises(RuntimeError, match="cannot be differentiated once more; use torch"):
        torch.autograd.grad(found, [weight], create_graph=True)


def test_a_weight_that_is_used_elsewhere_too_gets_both_gradients() -> None:
    hidden, weight, targets = some()
    total = smoothed_cross_entropy(hidden @ weight.T @ weight, weight, targets, smoothing=0.0).loss.total
    expected = nn.functional.cross_entropy(hidden @ weight.T @ weight @ weight.T, targets, reduction="sum")
    torch.testing.assert_close(*(torch.autograd.grad(each, weight)[0] for each in (total, expected)))


def test_large_logits_and_no_tokens_are_finite() -> None:
    hidden, weight, targets = some()
    found = smoothed_cross_entropy(1e4 * hidden.float(), weight.float(), targets)
    assert torch.isfinite(found.loss.total)
    none = smoothed_cross_entropy(hidden[:0], weight, targets[:0])
    slopes = torch.autograd.grad(none.loss.mean, [hidden, weight])
    assert none.loss.total == 0
    assert not any(slope.any() for slope in slopes)


def test_under_autocast_the_loss_has_the_precision_of_its_weight() -> None:
    hidden, weight, targets = some()
    own, table = hidden.detach().bfloat16().requires_grad_(), weight.detach().float().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        found = smoothed_cross_entropy(own, table, targets).loss.total
    expected = smoothed_cross_entropy(own.float(), table, targets).loss.total
    torch.testing.assert_close(found, expected)
    for one, other in zip(*(torch.autograd.grad(each, [own, table]) for each in (found, expected)), strict=True):
        torch.testing.assert_close(one, other)


def test_evaluation_makes_no_gradient() -> None:
    hidden, weight, targets = some()
    with torch.no_grad():
        found = smoothed_cross_entropy(hidden, weight, targets)
    assert not found.loss.total.requires_grad
    torch.testing.assert_close(found.loss.total, smoothed_cross_entropy(hidden, weight, targets).loss.total.detach())


def test_a_smoothing_of_one_is_refused() -> None:
    with pytest.raises(ValueError, match=r"smoothing must be at least 0 and below 1, got 1"):
        smoothed_cross_entropy(*some(), smoothing=1.0)
