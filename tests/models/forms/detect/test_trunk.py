"""Cells of a map lie over the middle of what they see."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from models.forms.detect.trunk import Trunk, UTrunk


@pytest.mark.parametrize("stride", [2, 4, 8])
def test_a_cell_sees_as_far_to_each_side(stride: int) -> None:
    """With equal weights the gradient of a cell is symmetric about its middle."""
    trunk = Trunk(stride=stride, width=16, depth=1).stem.double()
    layers = [part[0] for part in trunk if isinstance(part, nn.Sequential)]
    image = torch.zeros(1, 1, 64, 64, dtype=torch.float64, requires_grad=True)
    maps = image
    for layer in layers:
        assert isinstance(layer, nn.Conv2d)
        nn.init.ones_(layer.weight)
        maps = layer(maps)
    cell = 32 // stride
    (seen,) = torch.autograd.grad(maps[0, 0, cell, cell], image)
    first = 2 * cell * stride + stride - 64  # a whole number of pixels from the middle of the form to that of the cell
    window = seen[0, 0, max(0, first) :, max(0, first) :]
    torch.testing.assert_close(window, window.flip(0, 1))
    assert window.sum() == seen.sum() > 0


@pytest.mark.parametrize("size", [(1, 1), (17, 33), (64, 96)])
def test_maps_have_a_cell_for_each_begun_one(size: tuple[int, int]) -> None:
    image = torch.zeros(1, 1, *size)
    shape = (1, 16, -(-size[0] // 4), -(-size[1] // 4))
    assert Trunk(stride=4, width=16, depth=1)(image).shape == shape
    assert UTrunk(stride=4, width=16, depth=2)(image).shape == shape
