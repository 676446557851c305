"""How large training forms were, their words and their ink, and what is said of a form that is far from that."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import ndimage
from torch import Tensor

from models.runtime.parameters import number

SCALE = "scale"  # among the values of a saved model
FACTOR = 2.0  # beyond which a form is far from those of training
INK = 0.3  # from which on a pixel has ink, of the way from paper to the darkest pixels
DARKEST = 0.999  # share of the pixels that are lighter than these
FEWEST = 2  # parts of ink, below which their height says nothing of letters
MOST_LENGTH, MOST_HEIGHT = 10, 0.25  # of a part of ink: over its other side, and over the shorter side of its form


class ScaleWarning(UserWarning):
    """Says that the ink of a form is far larger or smaller than that of training forms."""


@dataclass(frozen=True)
class Scale:
    """Holds how large training forms were, in pixels.

    word: the median height of their true word boxes. ink: the median of `ink_height` over forms. side: the longer side
    of the largest form. Boxes that a detector finds do not say how large the words of a form are: on forms of four
    times the pixels R-FCN finds boxes as high as those of training. smallest: the longer side of the smallest training
    form that `differs` from the others, as where training forms were of two scales; None where none does. Raises
    TypeError and ValueError for what is not above 0.
    """

    word: float
    ink: float
    side: float
    smallest: float | None = None

    def __post_init__(self) -> None:
        for name in ("word", "ink", "side", *([] if self.smallest is None else ["smallest"])):
            number(name, getattr(self, name))

    @classmethod
    def of(cls, heights: Sequence[float], inks: Iterable[Tensor], side: float) -> Scale | None:
        """Returns the scale of forms whose words have such heights, some of which have such ink (height, width), and of
        which the largest has that longer side; None without a word, and without a part of ink that counts."""
        parts = [(part, float(max(ink.shape))) for ink in inks if (part := ink_height(ink)) is not None]
        if not (len(heights) and parts):
            return None
        own = cls(float(np.median(heights)), float(np.median([part for part, _ in parts])), side)
        others = [longer for part, longer in parts if longer < side and own.differs(part, longer)]
        return replace(own, smallest=min(others, default=None))

    def differs(self, height: float, side: float) -> bool:
        """Returns whether a form with ink of that height and that longer side is of another scale than most training
        forms: both are beyond a factor of `FACTOR`, in the same direction and within that factor of each other. So a
        large logo or a small crop is not taken for another scale."""
        factor, longer = height / self.ink, side / self.side
        return not is_near(longer) and not is_near(factor) and is_near(factor / longer)

    def advice(self, ink: Tensor) -> str | None:
        """Returns what is said of a form's ink (height, width) in [0, 1] where the form `differs` from training forms;
        else None. Nothing is said of a form that is as large, to a factor of `FACTOR`, as the smallest training form
        that differed."""
        side = float(max(ink.shape))
        if is_near(side / self.side) or (self.smallest is not None and is_near(side / self.smallest)):
            return None
        height = ink_height(ink)
        if height is None or not self.differs(height, side):
            return None
        factor = height / self.ink
        what, times = ("smaller", factor) if factor > 1 else ("larger", 1 / factor)
        return (
            f"its ink is {factor:.2g} times as high as that of training forms, and its longer side has {side:g} pixels "
            f"where theirs have at most {self.side:g}; make the scan {what} by about a factor of {times:.2g}, so that "
            f"words are about {self.word:.2g} pixels high"
        )


def is_near(factor: float) -> bool:
    """Returns whether a factor is within `FACTOR` of 1."""
    return 1 / FACTOR <= factor <= FACTOR


def ink_height(ink: Tensor) -> float | None:
    """Returns how high connected parts of a form's ink (height, width) in [0, 1] are, in pixels: the median over parts,
    each counted as often as it is high, so that neither specks nor a single large part decide. Ink is told from paper,
    which is the median of the form. Long rules and what is higher than a quarter of the form do not count; None where
    fewer than `FEWEST` parts do."""
    values = ink.detach().float().cpu().numpy()
    if not values.size:
        return None
    paper = float(np.median(values))
    sides = sides_of(values > paper + INK * (float(np.quantile(values, DARKEST)) - paper))
    heights = sides[:, 0]
    counted = (heights <= MOST_HEIGHT * min(ink.shape)) & (sides.max(1) <= MOST_LENGTH * sides.min(1))
    own = heights[counted]
    return float(np.median(np.repeat(own, own))) if len(own) >= FEWEST else None


def sides_of(inked: np.ndarray) -> np.ndarray:
    """Returns the height and width of each connected part of what is inked, bool (height, width), in pixels, int64
    (part, 2)."""
    found: Any = ndimage.label(inked, np.ones((3, 3)))
    labels, count = found
    places = np.nonzero(labels)
    part, sides = labels[places] - 1, np.ones((count, 2), np.int64)
    for side, along in zip(sides.T, places, strict=True):
        first, last = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
        np.minimum.at(first, part, along)
        np.maximum.at(last, part, along)
        side += last - first
    return sides


def warn_of_scale(said: str | None, where: str) -> None:
    """Warns, as the caller of the caller, of a form called `where`, of which that is said; of nothing for None."""
    if said is not None:
        warnings.warn(f"{where}: {said}", ScaleWarning, stacklevel=3)


def scale_in(described: Mapping[str, Any]) -> Scale | None:
    """Returns the scale among the values of a saved model; None of models of before, which have none."""
    own = described.get(SCALE)
    return None if own is None else Scale(**own)
