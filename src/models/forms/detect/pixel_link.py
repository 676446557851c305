"""PixelLink: each cell says whether it is in a word, and which of its eight neighbours are in the same one (Deng et al.
2018)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor
from torch.nn.functional import pad, softplus

from models.forms.detect.boxes import Detections, Truth
from models.forms.detect.dense_text import (
    DenseText,
    DenseTextSettings,
    Map,
    boxes_of,
    hard_entropy,
    means_of,
    words_at,
)
from models.ranges import Count
from models.runtime.parameters import whole_number
from models.runtime.seeding import drawn

STEPS = (
    (0, 1),
    (1, -1),
    (1, 0),
    (1, 1),
    (0, -1),
    (-1, 1),
    (-1, 0),
    (-1, -1),
)  # rows and columns; the last undo the first
PIXEL_SHARE = 2.0  # weight of the cells beside that of the links


@dataclass(frozen=True, kw_only=True)
class PixelLink(DenseTextSettings):
    """`detector=pixel_link`. least_cells: of a word."""

    least_cells: Count = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("least_cells", self.least_cells)

    def network(self, *, seed: int = 0) -> PixelLinkNetwork:
        with drawn(seed, "forms/pixel_link"):
            return PixelLinkNetwork(self)


class PixelLinkNetwork(DenseText):
    """Says a score and eight links. Cells that are joined by a link, said by either of them, are a word."""

    outputs = 1 + len(STEPS)

    def form_losses(self, said: Tensor, words: Truth, lying: Map) -> dict[str, Tensor]:
        owners = torch.where(lying.inside(words.boxes).sum(0) == 1, lying.owners(words.boxes), -1)
        weights = fair_weights(owners).to(said.dtype)
        links = torch.stack([neighbours(owners, step) == owners for step in STEPS])
        each = weights.expand_as(links)
        of_links = [mean_where(loss, each * chosen) for loss, chosen in (
            (softplus(-said[1:]), links), (softplus(said[1:]), ~links),
        )]  # fmt: skip
        of_cells = PIXEL_SHARE * hard_entropy(said[0], weights, owners < 0)
        return {"score_loss": of_cells, "link_loss": of_links[0] + of_links[1]}

    def found(self, said: Tensor, lying: Map) -> Detections:
        scores, links = said[0].sigmoid().cpu().numpy(), said[1:].cpu().numpy() >= 0
        labels = joined(scores >= self.settings.cell_score, links, self.settings.least_cells)
        return words_at(boxes_of(labels, lying.stride), means_of(scores, labels)[: labels.max()]).to(said.device)


def fair_weights(owners: Tensor) -> Tensor:
    """Returns weights of cells, float64 (row, column), that are equal sums for all words and as much as there are cells
    altogether; 0 outside of words."""
    counts = torch.bincount(owners[owners >= 0], minlength=1)
    sizes = counts[owners.clamp(min=0)].double()
    return torch.where(owners >= 0, counts.sum() / max(1, int((counts > 0).sum())) / sizes.clamp(min=1), 0.0)


def neighbours(owners: Tensor, step: tuple[int, int]) -> Tensor:
    """Returns of each cell the owner of the neighbour at that step, -2 outside of the map."""
    rows, columns = owners.shape
    whole = pad(owners, (1, 1, 1, 1), value=-2)
    return whole[1 + step[0] : 1 + step[0] + rows, 1 + step[1] : 1 + step[1] + columns]


def mean_where(losses: Tensor, weights: Tensor) -> Tensor:
    """Returns the weighted mean, 0 without any weight."""
    return (losses * weights).sum() / weights.sum().clamp(min=1e-6)


def joined(positive: np.ndarray, links: np.ndarray, least_cells: int) -> np.ndarray:
    """Returns the word of each cell, (row, column): numbers from 1 in the order of their first cells, 0 outside of
    words and in groups of fewer cells. links: bool (step, row, column)."""
    rows, columns = positive.shape
    cells, pairs = np.arange(positive.size).reshape(rows, columns), list[np.ndarray]()
    for place, (down, right) in enumerate(STEPS[:4]):
        here = np.s_[: rows - down, max(0, -right) : columns - max(0, right)]
        there = np.s_[down:, max(0, right) : columns - max(0, -right)]
        linked = (links[place][here] | links[place + 4][there]) & positive[here] & positive[there]
        pairs.append(np.stack([cells[here][linked], cells[there][linked]]))
    first, second = np.concatenate(pairs, 1)
    graph = csr_array((np.ones(len(first), bool), (first, second)), shape=(cells.size, cells.size))
    groups = connected_components(graph, directed=False)[1].reshape(rows, columns)
    groups = np.where(positive, groups, -1)
    names, places, counts = np.unique(groups[positive], return_index=True, return_counts=True)
    kept = names[counts >= least_cells][np.argsort(places[counts >= least_cells])]
    numbers = np.zeros(cells.size + 1, np.int64)
    numbers[kept] = np.arange(1, len(kept) + 1)
    return numbers[groups]
