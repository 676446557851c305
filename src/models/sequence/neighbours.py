"""The nearest places on a plane, exactly, with an order for ties."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree

ROWS = 2048  # queries at a time
MARGIN = 1e-9  # relative: what may be within a distance but for the tree's rounding is looked at

Pairs = tuple[np.ndarray, np.ndarray]


def nearest(centres: np.ndarray, count: int, *, slack: float = 0.0) -> Pairs:
    """Returns for each point the `count` points of least squared distance, itself among them, as pairs (point, other).

    Of equally distant points those of the nearer row come first, then those of the lower row. A point without a centre,
    NaN, has itself alone, and is no neighbour. centres: (point, 2). slack: above 0 the neighbours are approximate, the
    k-th at most 1 + slack times as far as the k-th nearest point (Arya et al. 1998), and ties have no order.
    """
    known = np.flatnonzero(~np.isnan(centres).any(1))
    alone = np.setdiff1d(np.arange(len(centres)), known)
    points, others = [alone], [alone]
    if len(known):
        tree = KDTree(centres[known])
        for start in range(0, len(known), ROWS):
            rows = known[start : start + ROWS]
            most = min(count, len(known))
            exact = slack == 0
            found = _nearest_of(rows, tree, centres, known, most) if exact else _near(rows, tree, known, most, slack)
            points.append(np.repeat(rows, found.shape[1]))
            others.append(found.ravel())
    return np.concatenate(points), np.concatenate(others)


def _nearest_of(rows: np.ndarray, tree: KDTree, centres: np.ndarray, known: np.ndarray, count: int) -> np.ndarray:
    """Returns the points nearest to each of some rows, (row, count), in any order.

    The tree's own order will do where the next point is clearly farther away. Of the other rows more points are asked
    for, until all that may be as near as the last one are there.
    """
    found, waiting, asked = np.empty((len(rows), count), np.int64), np.arange(len(rows)), min(count + 1, len(known))
    while len(waiting):
        own = rows[waiting]
        candidates = known[tree.query(centres[own], asked)[1].reshape(len(own), asked)]
        if asked > count + 1 or asked == len(known):
            candidates = in_order(own, candidates, centres)
        squares = squared_distances(own, candidates, centres)
        settled = squares[:, count - 1] * (1 + MARGIN) < squares[:, -1]
        settled |= asked == len(known)
        found[waiting[settled]] = candidates[settled, :count]
        waiting, asked = waiting[~settled], min(2 * asked, len(known))
    return found


def _near(rows: np.ndarray, tree: KDTree, known: np.ndarray, count: int, slack: float) -> np.ndarray:
    """Returns points near to each of some rows, (row, count); the row itself takes the last place where it is not
    among them."""
    places = np.searchsorted(known, rows)
    found = known[tree.query(tree.data[places], count, eps=slack)[1].reshape(len(rows), count)]
    found[:, -1] = np.where((found == rows[:, None]).any(1), found[:, -1], rows)
    return found


def squared_distances(rows: np.ndarray, candidates: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Returns ‖c_i − c_j‖² of each row and its candidates, (row, candidate)."""
    x, y = (centres[candidates, side] - centres[rows, side][:, None] for side in range(2))
    return x * x + y * y


def in_order(rows: np.ndarray, candidates: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Returns the candidates (row, candidate) of each row, the nearest first."""
    squares = squared_distances(rows, candidates, centres)
    order = np.lexsort((candidates, np.abs(candidates - rows[:, None]), squares))
    return np.take_along_axis(candidates, order, 1)


def within(centres: np.ndarray, width: float, height: float) -> Pairs:
    """Returns the pairs of points with |Δx| ≤ width and |Δy| ≤ height, in both orders, each point with itself.

    A point without a centre, NaN, is paired with itself alone. centres: (point, 2).
    """
    known = np.flatnonzero(~np.isnan(centres).any(1))
    own = np.arange(len(centres))
    if not len(known):
        return own, own
    scaled = centres[known] / np.array([width, height])
    pairs = known[KDTree(scaled).query_pairs(1 + MARGIN, p=np.inf, output_type="ndarray").reshape(-1, 2)]
    step = np.abs(centres[pairs[:, 0]] - centres[pairs[:, 1]])
    one, other = pairs[(step[:, 0] <= width) & (step[:, 1] <= height)].T
    return np.concatenate([own, one, other]), np.concatenate([own, other, one])
