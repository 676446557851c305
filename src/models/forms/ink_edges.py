"""Where the ink of a word ends: the left and the right edge of its box, moved to it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from models.forms.ruled_lines import ruled

Box = tuple[float, float, float, float]
REACH = 0.3  # heights of a box by which an edge is moved outward at most
GAP = 0.2  # heights: less white than that parts no word
INNER = 0.3  # of a piece of ink, as far as it is seen, that lies in the box of the word that it belongs to
RULE = 2.5  # heights: a level stroke of that length is a ruled line
LEAST_RULE = 8  # pixels of one, beside words that are lower than letters can be
LEAST_CONTRAST = 30  # of 255 greys, between paper and what is written on
NOISE = 4  # times the median distance of greys from that of the paper: on rough paper the least contrast


def to_ink(ink: np.ndarray, box: Sequence[float]) -> Box:
    """Returns a box (x0, y0, x1, y1), in pixels, whose left and right edges lie where the ink between its upper and
    lower edge ends: outward by `REACH` heights at most, inward as far as there is none.

    ink: of the whole form, (height, width) in [0, 1]. Ink across an edge belongs to the word where enough of it
    (`INNER`) lies in the box. Level ruled lines count for nothing; those that slope are taken for ink, as print and
    stamps are. A box without ink is returned as it is.
    """
    x0, y0 = (max(0, int(np.floor(edge))) for edge in box[:2])
    x1, y1 = (int(np.ceil(edge)) for edge in box[2:])
    height = max(1, y1 - y0)
    reach, rule = round(REACH * height), max(LEAST_RULE, round(RULE * height))
    top, left, first = max(0, y0 - height), max(0, x0 - reach - rule), max(0, x0 - reach)
    near = ink[top : y1 + height, left : x1 + reach + rule]
    if not near.size:
        return (box[0], box[1], box[2], box[3])
    columns = np.asarray(written(near, rule)[y0 - top : y1 - top].any(0))[first - left : x1 + reach - left]
    own = [(left, right) for left, right in pieces(columns, max(1, round(GAP * height)))
           if belongs(left + first, right + first, (x0, x1))]  # fmt: skip
    left, right = (own[0][0] + first, own[-1][1] + first) if own else (box[0], box[2])
    return float(left), box[1], float(right), box[3]


def written(ink: np.ndarray, rule: int) -> np.ndarray:
    """Returns which pixels are written on, bool (height, width): those darker than paper, the median, but for level
    strokes of `rule` pixels or more."""
    levels = np.rint(255 * ink).astype(np.int64)
    above = levels - int(np.median(levels))
    dark = above > max(LEAST_CONTRAST, NOISE * int(np.median(np.abs(above))))
    return dark & ~ruled(dark, rule)


def pieces(columns: np.ndarray, gap: int) -> list[tuple[int, int]]:
    """Returns the first and the end of each run of true columns, parted by `gap` or more false ones."""
    places = np.flatnonzero(columns)
    if not len(places):
        return []
    parted = np.flatnonzero(np.diff(places) > gap)
    firsts, lasts = places[np.append(0, parted + 1)], places[np.append(parted, len(places) - 1)]
    return list(zip(firsts.tolist(), (lasts + 1).tolist(), strict=True))


def belongs(left: int, right: int, box: tuple[int, int]) -> bool:
    """Returns whether enough of a piece of ink, as far as it is seen, lies between the edges of a box."""
    return min(right, box[1]) - max(left, box[0]) > INNER * (right - left)
