"""Position-sensitive scores beside maps that are made and pooled by a loop over boxes and bins."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from models.forms.detect.position_sensitive import (
    LEAST_SIDE,
    POOLINGS,
    position_sensitive_scores,
    precise_bin_means,
    rounded_bin_means,
)

Pooling = Callable[[Tensor, Tensor, Tensor, int], Tensor]

ROWS, COLUMNS = 7, 9
BOXES = [
    [0.0, 0.0, 9.0, 7.0],  # the whole map
    [1.3, 0.7, 7.9, 5.2], [2.0, 3.0, 5.0, 6.0],
    [4.2, 3.1, 4.6, 3.4],  # within a cell
    [3.9, 2.9, 4.1, 3.1],  # below a cell, over an edge
    [8.7, 6.5, 9.0, 7.0], [0.0, 0.0, 0.2, 7.0], [9.0, 7.0, 9.0, 7.0],  # at edges
    [1 / 3, 2 / 3, 1 / 3 + 4.1, 2 / 3 + 5.9],
]  # fmt: skip


def cells_that_are_touched(start: float, end: float, cells: int) -> list[float]:
    """Returns how much of each cell counts between two places, of bins of whole cells."""
    first = min(math.floor(start), cells - 1)
    return [float(first <= cell < max(min(math.ceil(end), cells), first + 1)) for cell in range(cells)]


def parts_of_cells(start: float, end: float, cells: int) -> list[float]:
    """Returns how much of each cell lies between two places."""
    return [max(0.0, min(end, cell + 1) - max(start, cell)) for cell in range(cells)]


def widened(start: float, end: float, cells: int) -> tuple[float, float]:
    """Returns a side that is at least as long as precise pooling reads it."""
    first = min(start, cells - LEAST_SIDE)
    return first, max(end, first + LEAST_SIDE)


SHARES = {"rounded": cells_that_are_touched, "precise": parts_of_cells}


def means_of_maps_by_loop(maps: Tensor, boxes: list[list[float]], forms: list[int], bins: int, pooling: str) -> Tensor:
    channels, out, share = maps.shape[1] // bins**2, [], SHARES[pooling]
    for (x0, y0, x1, y1), form in zip(boxes, forms, strict=True):
        if pooling == "precise":
            (x0, x1), (y0, y1) = widened(x0, x1, COLUMNS), widened(y0, y1, ROWS)
        for i in range(bins):
            rows = share(y0 + i * (y1 - y0) / bins, y0 + (i + 1) * (y1 - y0) / bins, ROWS)
            for j in range(bins):
                columns = share(x0 + j * (x1 - x0) / bins, x0 + (j + 1) * (x1 - x0) / bins, COLUMNS)
                weights = torch.outer(maps.new_tensor(rows), maps.new_tensor(columns))
                first = (i * bins + j) * channels
                out.append((maps[form, first : first + channels] * weights).sum((1, 2)) / weights.sum())
    return torch.stack(out).view(len(boxes), bins, bins, channels)


def scoring(bins: int, dtype: torch.dtype, *, bias: bool = True) -> nn.Conv2d:
    chance = torch.Generator().manual_seed(bins)
    made = nn.Conv2d(5, bins**2 * 4, 1, bias=bias, dtype=dtype)
    with torch.no_grad():
        for own in made.parameters():
            own.copy_(torch.randn(own.shape, generator=chance, dtype=dtype))
    return made


@pytest.mark.parametrize(
    ("pooling", "dtype", "tolerance"),
    [
        ("rounded", torch.float64, 1e-12),
        ("precise", torch.float64, 1e-8),  # of bins that are small parts of a cell
        *[(pooling, torch.float32, 2e-6) for pooling in POOLINGS],
    ],
)
@pytest.mark.parametrize("bins", [1, 2, 3, 7])
def test_values_and_gradients_are_those_of_maps_that_are_pooled_by_a_loop(
    bins: int, pooling: str, dtype: torch.dtype, tolerance: float
) -> None:
    chance = torch.Generator().manual_seed(bins)
    maps = torch.randn(2, 5, ROWS, COLUMNS, generator=chance, dtype=dtype) + 100 * (dtype == torch.float64)
    forms = [place % 2 for place in range(len(BOXES))]
    weights = torch.randn(len(BOXES), 4, generator=chance, dtype=dtype)
    cells, answers = torch.tensor(BOXES, dtype=torch.float64), []
    for score in (
        lambda own, made: position_sensitive_scores(own, made, cells, torch.tensor(forms), bins, pooling=pooling),
        lambda own, made: means_of_maps_by_loop(made(own), BOXES, forms, bins, pooling).mean((1, 2)),
    ):
        own, made = maps.clone().requires_grad_(), scoring(bins, dtype)
        values = score(own, made)
        (values * weights).sum().backward()
        answers.append([values.detach(), own.grad, *(value.grad for value in made.parameters())])
    for ours, expected in zip(*answers, strict=True):
        assert ours is not None
        torch.testing.assert_close(ours, expected, rtol=tolerance, atol=tolerance)


def test_edges_in_float32_do_not_hang_on_rounding() -> None:
    """An edge that is off by a rounding of float32 is where it would be without."""
    maps = torch.arange(63.0).view(1, 1, ROWS, COLUMNS)
    exact = rounded_bin_means(maps, torch.tensor([[0.0, 0.0, 3.0, 3.0]]), torch.tensor([0]), 1)
    for off in (-2e-7, 2e-7):
        near = torch.tensor([[0.0, 0.0, 3.0 + off, 3.0 + off]], dtype=torch.float64)
        assert torch.equal(rounded_bin_means(maps, near, torch.tensor([0]), 1), exact)


def test_precise_means_are_those_of_whole_cells_where_edges_are_and_follow_a_box_between_them() -> None:
    maps, form = torch.arange(63.0).view(1, 1, ROWS, COLUMNS), torch.tensor([0])
    places = torch.tensor([0.0, 0.25, 0.5, 1.0], dtype=torch.float64)
    boxes = torch.tensor([2.0, 1.0, 5.0, 4.0], dtype=torch.float64) + places[:, None] * torch.tensor([1.0, 0, 1.0, 0])
    whole, *moved = precise_bin_means(maps, boxes, form.expand(4), 3)[..., 0]
    assert torch.equal(whole, rounded_bin_means(maps, boxes[:1], form, 3)[0, :, 0])
    for place, means in zip(places[1:], moved, strict=True):  # a map that rises by 1 from column to column
        torch.testing.assert_close(means, whole + float(place))


@pytest.mark.parametrize("means_of", POOLINGS.values(), ids=list(POOLINGS))
def test_large_maps_in_float32_lose_no_digits(means_of: Pooling) -> None:
    maps = torch.full((1, 1, 200, 200), 1000.0) + torch.rand(1, 1, 200, 200, generator=torch.Generator().manual_seed(0))
    value = means_of(maps, torch.tensor([[197.0, 197.0, 200.0, 200.0]]), torch.tensor([0]), 1)
    expected = maps[..., 197:, 197:].double().mean().float()
    assert float(value) == float(expected)


@pytest.mark.parametrize("pooling", list(POOLINGS))
def test_no_box_gives_no_row(pooling: str) -> None:
    maps, none = torch.zeros(1, 5, 4, 4), torch.zeros(0, dtype=torch.int64)
    assert POOLINGS[pooling](maps, torch.zeros(0, 4), none, 3).shape == (0, 9, 5)
    scores = position_sensitive_scores(maps, scoring(3, torch.float32), torch.zeros(0, 4), none, 3, pooling=pooling)
    assert scores.shape == (0, 4)


def test_a_convolution_without_a_bias_is_refused() -> None:
    maps, forms = torch.zeros(1, 5, 4, 4), torch.zeros(1, dtype=torch.int64)
    with pytest.raises(ValueError, match="must have a bias"):
        position_sensitive_scores(maps, scoring(2, torch.float32, bias=False), torch.ones(1, 4), forms, 2)
