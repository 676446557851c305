"""Group norm over an image's own pixels beside the formula written out, its gradient beside differences."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from models.forms.recognise.convolutions import inside
from models.forms.recognise.own_group_norm import EPSILON, OwnGroupNorm


def written_out(norm: OwnGroupNorm, maps: Tensor, widths: list[int]) -> Tensor:
    """Returns the norm of each image alone, cut to its width, with 0 past it."""
    found = torch.zeros_like(maps)
    for place, width in enumerate(widths):
        for first in range(0, maps.shape[1], norm.group):
            own = maps[place, first : first + norm.group, :, :width]
            weight, bias = (each[first : first + norm.group, None, None] for each in (norm.weight, norm.bias))
            normal = (own - own.mean()) / (own.var(correction=0) + EPSILON).sqrt()
            found[place, first : first + norm.group, :, :width] = normal * weight + bias
    return found


def drawn(dtype: torch.dtype) -> tuple[OwnGroupNorm, Tensor, list[int]]:
    generator = torch.Generator().manual_seed(0)
    norm = OwnGroupNorm(32).to(dtype)
    for own in norm.parameters():
        own.data = torch.randn(own.shape, generator=generator, dtype=dtype)
    return norm, torch.randn(3, 32, 4, 9, generator=generator, dtype=dtype), [9, 1, 6]


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 3e-5)])
@pytest.mark.parametrize("offset", [0.0, 5.0])
def test_values_and_gradients_are_those_of_the_formula(dtype: torch.dtype, tolerance: float, offset: float) -> None:
    norm, maps, widths = drawn(dtype)
    maps = (maps + offset).requires_grad_()
    own = inside(torch.tensor(widths), maps.shape[3])
    given = torch.randn(maps.shape, generator=torch.Generator().manual_seed(1), dtype=dtype)
    sides = []
    for found in (norm(maps, own), written_out(norm, maps, widths)):
        sides.append((found, *torch.autograd.grad(found, [maps, norm.weight, norm.bias], given)))
    for one, other in zip(*sides, strict=True):
        torch.testing.assert_close(one, other, rtol=20 * tolerance, atol=20 * tolerance)
    assert not sides[0][0][1, :, :, 1:].any()


def test_a_second_derivative_is_refused_and_not_wrong() -> None:
    norm, maps, widths = drawn(torch.float64)
    found = norm(maps, inside(torch.tensor(widths), maps.shape[3])).square().sum()
    with pytest.raises(RuntimeError, match="cannot be differentiated once more; normalise by operations of torch"):
        torch.autograd.grad(found, [norm.weight], create_graph=True)


def test_the_gradient_is_that_of_differences() -> None:
    norm, maps, widths = drawn(torch.float64)
    own = inside(torch.tensor(widths[:2]), 4)
    small = maps[:2, :, :2, :4].clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda given: norm(given, own), (small,))


def test_an_image_of_one_grey_has_the_bias() -> None:
    norm, maps, widths = drawn(torch.float32)
    found = norm(torch.full_like(maps, 3.0), inside(torch.tensor(widths), 9))
    torch.testing.assert_close(found[0], norm.bias[:, None, None].expand_as(found[0]), rtol=0, atol=1e-2)
