"""Position-sensitive pooling beside a loop over boxes and bins."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from models.forms.detect.position_sensitive import position_sensitive_pool

ROWS, COLUMNS = 7, 9
BOXES = [
    [0.0, 0.0, 9.0, 7.0],  # the whole map
    [1.3, 0.7, 7.9, 5.2], [2.0, 3.0, 5.0, 6.0],
    [4.2, 3.1, 4.6, 3.4],  # within a cell
    [3.9, 2.9, 4.1, 3.1],  # below a cell, over an edge
    [8.7, 6.5, 9.0, 7.0], [0.0, 0.0, 0.2, 7.0], [9.0, 7.0, 9.0, 7.0],  # at edges
    [1 / 3, 2 / 3, 1 / 3 + 4.1, 2 / 3 + 5.9],
]  # fmt: skip


def pooled_by_loop(maps: Tensor, boxes: list[list[float]], forms: list[int], bins: int) -> Tensor:
    channels, out = maps.shape[1] // bins**2, []
    for (x0, y0, x1, y1), form in zip(boxes, forms, strict=True):
        for i in range(bins):
            top = min(math.floor(y0 + i * (y1 - y0) / bins), ROWS - 1)
            bottom = max(min(math.ceil(y0 + (i + 1) * (y1 - y0) / bins), ROWS), top + 1)
            for j in range(bins):
                left = min(math.floor(x0 + j * (x1 - x0) / bins), COLUMNS - 1)
                right = max(min(math.ceil(x0 + (j + 1) * (x1 - x0) / bins), COLUMNS), left + 1)
                first = (i * bins + j) * channels
                out.append(maps[form, first : first + channels, top:bottom, left:right].mean((1, 2)))
    return torch.stack(out).view(len(boxes), bins, bins, channels)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 2e-6)])
@pytest.mark.parametrize("bins", [1, 2, 3])
def test_values_and_gradients_are_those_of_the_loop(bins: int, dtype: torch.dtype, tolerance: float) -> None:
    chance = torch.Generator().manual_seed(bins)
    maps = torch.randn(2, bins**2 * 4, ROWS, COLUMNS, generator=chance, dtype=dtype) + 100 * (dtype == torch.float64)
    forms = [place % 2 for place in range(len(BOXES))]
    weights = torch.randn(len(BOXES), bins, bins, 4, generator=chance, dtype=dtype)
    answers = []
    for pool in (
        lambda own: position_sensitive_pool(own, torch.tensor(BOXES, dtype=torch.float64), torch.tensor(forms), bins),
        lambda own: pooled_by_loop(own, BOXES, forms, bins),
    ):
        own = maps.clone().requires_grad_()
        values = pool(own)
        (values * weights).sum().backward()
        answers.append((values.detach(), own.grad))
    for ours, expected in zip(*answers, strict=True):
        assert ours is not None
        torch.testing.assert_close(ours, expected, rtol=tolerance, atol=tolerance)


def test_edges_in_float32_do_not_hang_on_rounding() -> None:
    """An edge that is off by a rounding of float32 is where it would be without."""
    maps = torch.arange(63.0).view(1, 1, ROWS, COLUMNS)
    exact = position_sensitive_pool(maps, torch.tensor([[0.0, 0.0, 3.0, 3.0]]), torch.tensor([0]), 1)
    for off in (-2e-7, 2e-7):
        near = torch.tensor([[0.0, 0.0, 3.0 + off, 3.0 + off]], dtype=torch.float64)
        assert torch.equal(position_sensitive_pool(maps, near, torch.tensor([0]), 1), exact)


def test_large_maps_in_float32_lose_no_digits() -> None:
    maps = torch.full((1, 1, 200, 200), 1000.0) + torch.rand(1, 1, 200, 200, generator=torch.Generator().manual_seed(0))
    value = position_sensitive_pool(maps, torch.tensor([[197.0, 197.0, 200.0, 200.0]]), torch.tensor([0]), 1)
    expected = maps[..., 197:, 197:].double().mean().float()
    assert float(value) == float(expected)


def test_no_box_gives_no_row() -> None:
    empty = position_sensitive_pool(torch.zeros(1, 18, 4, 4), torch.zeros(0, 4), torch.zeros(0, dtype=torch.int64), 3)
    assert empty.shape == (0, 3, 3, 2)
