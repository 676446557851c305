"""Two-stage regression against the equations written out."""

from __future__ import annotations

import pytest
import torch

import oracles
from models.psrnn.two_stage import FeatureBatch, two_stage_regression, whiten_observations

TOLERANCE = {torch.float64: 1e-8, torch.float32: 2e-3}


def draw(steps: int, dtype: torch.dtype) -> FeatureBatch:
    generator = torch.Generator().manual_seed(0)
    return FeatureBatch(
        *(torch.randn(steps, n, generator=generator, dtype=torch.float64).to(dtype) for n in (6, 5, 5, 4))
    )


def stream(batch: FeatureBatch, chunk: int):
    return lambda: (FeatureBatch(*(p[i : i + chunk] for p in batch)) for i in range(0, len(batch.history), chunk))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("scale", ["samples", "none"])
def test_shortcut_equals_the_written_out_equations(dtype: torch.dtype, scale: str) -> None:
    batch = draw(200, dtype)
    found = two_stage_regression(stream(batch, 200), ridge=0.1, scale=scale)
    ridge = 0.1 * (200 if scale == "samples" else 1)
    w, initial = oracles.two_stage_written_out(*(part.double() for part in batch), ridge)
    tolerance = TOLERANCE[dtype]
    torch.testing.assert_close(found.update, w, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(found.initial, initial, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_chunks_do_not_matter(chunk: int) -> None:
    batch = draw(150, torch.float64)
    whole = two_stage_regression(stream(batch, 150), ridge=0.01, scale="samples")
    for a, b in zip(whole, two_stage_regression(stream(batch, chunk), ridge=0.01, scale="samples"), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-11)


def test_initial_state_has_unit_norm() -> None:
    found = two_stage_regression(stream(draw(50, torch.float64), 50), ridge=0.1, scale="samples")
    assert float(found.initial.norm()) == pytest.approx(1.0, abs=1e-12)


def test_whitening_is_the_product_with_the_inverse() -> None:
    generator = torch.Generator().manual_seed(1)
    w = torch.randn(5, 5, 4, generator=generator, dtype=torch.float64)
    root = torch.randn(4, 4, generator=generator, dtype=torch.float64)
    moment = root @ root.T
    inverse = torch.linalg.inv(moment + 0.1 * torch.eye(4, dtype=torch.float64))
    torch.testing.assert_close(whiten_observations(w, moment, 0.1), torch.einsum("abc,cd->abd", w, inverse))


def test_a_whitening_that_is_too_small_is_named() -> None:
    indefinite = torch.tensor([[1.0, 1.0], [1.0, 1.0 - 1e-6]], dtype=torch.float64)
    with pytest.raises(ValueError, match=r"^whitening 1e-09 leaves a 2 × 2 system that is not positive definite"):
        whiten_observations(torch.ones(3, 3, 2, dtype=torch.float64), indefinite, 1e-9)


def test_errors() -> None:
    batch = draw(20, torch.float64)
    with pytest.raises(ValueError, match="no time step"):
        two_stage_regression(list, ridge=0.1, scale="samples")
    with pytest.raises(ValueError, match="ridge must be positive, got 0"):
        two_stage_regression(stream(batch, 20), ridge=0, scale="samples")
    with pytest.raises(ValueError, match="choose one of samples, none"):
        two_stage_regression(stream(batch, 20), ridge=0.1, scale="variance")
