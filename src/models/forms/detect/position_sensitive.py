"""Position-sensitive scores: each bin of a box is read from the maps of that bin alone (Dai et al. 2016). The mean of a
bin is over whole cells, as there, or over the parts of cells that lie in it (Jiang et al. 2018)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

SNAP = 1e-6  # cells: an edge this near to a whole number is that number, so that no bin hangs on rounding
LEAST_SIDE = 0.05  # cells: a side below it is read as this long, as the mean of nothing is no number


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


def position_sensitive_scores(
    maps: Tensor, scoring: nn.Conv2d, boxes: Tensor, forms: Tensor, bins: int, *, pooling: str = "rounded"
) -> Tensor:
    """Returns k⁻² Σ_b r(b), (box, channel): r(b) is the mean, over bin b of a box, of the maps that `scoring` makes for
    that bin.

    maps (form, width, rows, columns). scoring: a convolution of 1 x 1 to bins² · channel maps, those of bin (0, 0)
    first, then (0, 1). boxes (box, 4), in cells, and the number of the form on which each lies, (box,). A mean and a
    convolution of 1 x 1 can change places, so the bins of the maps that are given are pooled, and what is pooled is
    multiplied by the weights of its bin: the bins² · channel maps are never made. pooling: "rounded" or "precise", see
    `POOLINGS`. Raises ValueError for a convolution without a bias.
    """
    bias = scoring.bias
    if bias is None:
        raise ValueError("the convolution that scores must have a bias")
    weights = scoring.weight.flatten(1).unflatten(0, (bins * bins, -1))  # (bin, channel, width)
    pooled = POOLINGS[pooling](maps, boxes, forms, bins).flatten(1)
    return pooled @ weights.transpose(1, 2).flatten(0, 1) / bins**2 + bias.view(bins * bins, -1).mean(0)


def rounded_bin_means(maps: Tensor, boxes: Tensor, forms: Tensor, bins: int) -> Tensor:
    """Returns the mean over each bin of each box of all maps, (box, bin, channel), bins row by row; a cell that a bin
    touches counts whole.

    Arguments are those of `position_sensitive_scores`. Sums are differences of an integral image in float64, where maps
    of float32 lose no digit that they have. There is a gradient for the maps and none for the boxes.
    """
    rows, columns = maps.shape[2:]
    whole = integral(maps)
    x, y = boxes[:, 0], boxes[:, 1]
    top, bottom = (edge[:, :, None] for edge in bin_edges(y, boxes[:, 3] - y, bins, rows))
    left, right = (edge[:, None] for edge in bin_edges(x, boxes[:, 2] - x, bins, columns))
    first = forms[:, None, None] * (rows + 1) * (columns + 1)
    corners = [first + row * (columns + 1) + column for row in (top, bottom) for column in (left, right)]
    places = torch.stack(corners).flatten(2)
    parts = whole.index_select(0, places.flatten()).unflatten(0, places.shape)
    sums = parts[3] - parts[2] - parts[1] + parts[0]
    return (sums / ((bottom - top) * (right - left)).flatten(1).unsqueeze(-1)).to(maps.dtype)


def precise_bin_means(maps: Tensor, boxes: Tensor, forms: Tensor, bins: int) -> Tensor:
    """Returns the mean over each bin of each box of all maps, (box, bin, channel), bins row by row; a cell counts by
    the part of it that lies in the bin, so the mean follows a box that moves by less than a cell.

    Arguments and sums are those of `rounded_bin_means`: within a cell the integral image is linear along each side.
    There is a gradient for the maps and none for the boxes.
    """
    rows, columns = maps.shape[2:]
    y, down = linear_means(boxes[:, 1], boxes[:, 3], bins, rows)
    x, across = linear_means(boxes[:, 0], boxes[:, 2], bins, columns)
    places = (forms[:, None, None] * (rows + 1) + y[:, :, None]) * (columns + 1) + x[:, None]
    parts = integral(maps).index_select(0, places.flatten()).unflatten(0, places.shape)
    means = torch.einsum("bij,bjxc->bixc", down, parts)
    return torch.einsum("bkx,bixc->bikc", across, means).flatten(1, 2).to(maps.dtype)


def linear_means(starts: Tensor, ends: Tensor, bins: int, cells: int) -> tuple[Tensor, Tensor]:
    """Returns the corners of cells about each edge of a bin, int64 (box, 2 (bin + 1)), and the weights with which the
    sums up to them make the mean of each bin along one side, float64 (box, bin, 2 (bin + 1)).

    starts, ends: of boxes, in cells, (box,), on a map of so many cells.
    """
    starts = starts.double().clamp(0, cells - LEAST_SIDE)
    sides = torch.maximum(ends.double().clamp(max=cells) - starts, starts.new_tensor(LEAST_SIDE))
    numbers = torch.arange(bins + 1, device=starts.device, dtype=torch.float64) / bins
    edges = starts[:, None] + sides[:, None] * numbers
    before = edges.floor().clamp(max=cells - 1)
    shares = torch.stack([before + 1 - edges, edges - before], 2)  # of the corner before an edge, and of the next
    steps = torch.eye(bins, bins + 1, dtype=torch.float64, device=starts.device)
    weights = (steps.roll(1, 1) - steps)[:, :, None] * shares[:, None] / (sides / bins)[:, None, None, None]
    return torch.stack([before, before + 1], 2).flatten(1).long(), weights.flatten(2)


POOLINGS = {"rounded": rounded_bin_means, "precise": precise_bin_means}


def integral(maps: Tensor) -> Tensor:
    """Returns sums over all cells above and to the left of each corner of a cell, float64 (form · (rows + 1) ·
    (columns + 1), channel), of maps (form, channel, rows, columns)."""
    sums = maps.permute(0, 2, 3, 1).double().cumsum(1).cumsum(2)
    return pad(sums, (0, 0, 1, 0, 1, 0)).flatten(0, 2)
