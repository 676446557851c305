"""Position-sensitive pooling: each bin of a box is read from the maps of that bin alone (Dai et al. 2016)."""

from __future__ import annotations

import torch
from torch import Tensor

SNAP = 1e-6  # cells: an edge this near to a whole number is that number, so that no bin hangs on rounding


def bin_edges(starts: Tensor, sides: Tensor, bins: int, cells: int) -> tuple[Tensor, Tensor]:
    """Returns the first cell of each bin and the one after its last, int64 (box, bin): ⌊start + i side / k⌋ and
    ⌈start + (i + 1) side / k⌉, on a map of so many cells, at least one cell each.

    starts, sides: in cells, (box,).
    """
    numbers = torch.arange(bins + 1, device=starts.device, dtype=torch.float64) / bins
    edges = starts.double()[:, None] + sides.double()[:, None] * numbers
    first = (edges[:, :-1] + SNAP).floor().long().clamp(0, cells - 1)
    end = (edges[:, 1:] - SNAP).ceil().long().clamp(max=cells)
    return first, torch.maximum(end, first + 1)


def position_sensitive_pool(maps: Tensor, boxes: Tensor, forms: Tensor, bins: int) -> Tensor:
    """Returns the mean over bin (i, j) of each box of the maps of that bin, (box, bins, bins, channel).

    maps (form, bins² · channel, rows, columns), those of bin (0, 0) first, then (0, 1). boxes (box, 4), in cells, and
    the number of the form on which each lies, (box,). Sums are differences of an integral image in float64, where maps
    of float32 lose no digit that they have. There is a gradient for the maps and none for the boxes.
    """
    rows, columns = maps.shape[2:]
    whole = integral(maps.unflatten(1, (bins * bins, -1)))
    x, y = boxes[:, 0], boxes[:, 1]
    top, bottom = (edge[:, :, None] for edge in bin_edges(y, boxes[:, 3] - y, bins, rows))
    left, right = (edge[:, None] for edge in bin_edges(x, boxes[:, 2] - x, bins, columns))
    own = torch.arange(bins * bins, device=maps.device).view(bins, bins) + forms[:, None, None] * (bins * bins)
    corners = [(row, column) for row in (top, bottom) for column in (left, right)]
    base = own * (rows * columns)
    places = [base + (row - 1).clamp(min=0) * columns + (column - 1).clamp(min=0) for row, column in corners]
    known = torch.stack([(row > 0) & (column > 0) for row, column in corners]).unsqueeze(-1)
    parts = whole.index_select(0, torch.stack(places).flatten()).unflatten(0, (4, *own.shape)) * known
    sums = parts[3] - parts[2] - parts[1] + parts[0]
    return (sums / ((bottom - top) * (right - left)).unsqueeze(-1)).to(maps.dtype)


def integral(maps: Tensor) -> Tensor:
    """Returns sums over each cell and all above and to the left, float64 (form · bin · row · column, channel), of maps
    (form, bin, channel, row, column)."""
    return maps.permute(0, 1, 3, 4, 2).double().cumsum(2).cumsum(3).flatten(0, 3)
