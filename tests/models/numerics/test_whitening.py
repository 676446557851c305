"""Powers of a covariance."""

from __future__ import annotations

import pytest
import torch

from models.numerics.whitening import FLOOR, whitening


def rows() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    mixed = torch.randn(500, 4, generator=generator, dtype=torch.float64)
    return mixed @ torch.randn(4, 4, generator=generator, dtype=torch.float64)


def test_whole_whitening_gives_the_identity():
    covariance = torch.cov(rows().T)
    root = whitening(covariance, power=1)
    torch.testing.assert_close(root @ covariance @ root, torch.eye(4, dtype=torch.float64), rtol=0, atol=1e-2)
    torch.testing.assert_close(root, root.T)


def test_half_whitening_twice_is_whole_whitening():
    covariance = torch.cov(rows().T)
    half = whitening(covariance, power=0.5)
    torch.testing.assert_close(half @ half, whitening(covariance, power=1))


def test_a_direction_without_variance_is_floored():
    values = torch.linalg.eigvalsh(whitening(torch.diag(torch.tensor([4.0, 0.0])), power=1))
    assert float(values[-1]) == pytest.approx((FLOOR * 4) ** -0.5)


@pytest.mark.parametrize("bad", [0.0, float("nan")])
def test_what_does_not_vary_is_refused(bad):
    with pytest.raises(ValueError, match="cannot be whitened"):
        whitening(torch.full((2, 2), bad), power=1)
