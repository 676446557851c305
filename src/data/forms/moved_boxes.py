"""Words of forms, cut out at boxes that are a little off, as those are that a detector finds."""

from __future__ import annotations

import numpy as np

from data.base import DataError
from data.form_images import FormImages

UPRIGHT = 1 / 3  # deviation of the upper and lower edges over that of the left and right ones
MOST_INWARD = 0.25  # of a box, by which each edge is moved inward at most
MOST_DEVIATION = 1.0


class MovedBoxes:
    """Cuts the words of forms, in reading order, out at boxes whose edges are moved by chance, anew in each turn.

    deviation: standard deviation of the left and right edges in heights of the box; that of the upper and lower edges
    is a third of it. An edge is moved inward by a quarter of the box at most, and outward to the edge of the form at
    most. seed: a move hangs on it, the turn and the number of the word alone. Words are numbered from 0, form by form.
    Raises DataError for a deviation outside [0, 1] and a seed below 0.
    """

    def __init__(self, forms: FormImages, *, deviation: float, seed: int) -> None:
        if not 0 <= deviation <= MOST_DEVIATION:
            raise DataError(f"deviation={deviation} must lie between 0 and {MOST_DEVIATION:g}")
        if seed < 0:
            raise DataError(f"seed={seed} must be at least 0")
        self.forms, self.deviation, self.seed = forms, deviation, seed
        self.places = [(number, box) for number, form in enumerate(forms.forms()) for box in form.reading().tolist()]

    def __len__(self) -> int:
        """Returns how many words there are."""
        return len(self.places)

    def image(self, number: int, turn: int) -> np.ndarray:
        """Returns the image of a word in a turn, from 0 on, uint8 (height, width), at least a pixel."""
        form_number, box = self.places[number]
        form = self.forms.form(form_number)
        x0, y0, x1, y1 = self.box(
            form.boxes[box], form.image.shape, np.random.default_rng([self.seed, turn, number, 1])
        )
        return form.image[y0:y1, x0:x1]

    def box(self, box: np.ndarray, shape: tuple[int, ...], generator: np.random.Generator) -> tuple[int, ...]:
        """Returns x0, y0, x1, y1 of a box with moved edges, in whole pixels, on a form of that shape."""
        sides = np.tile(box[2:] - box[:2], 2).astype(float)
        deviations = self.deviation * sides[1] * np.array([1.0, UPRIGHT, 1.0, UPRIGHT])
        inward = np.array([1.0, 1.0, -1.0, -1.0])
        moves = np.minimum(deviations * generator.standard_normal(4), MOST_INWARD * sides) * inward
        moved = box + moves
        first = np.floor(np.maximum(moved[:2], 0)).astype(int)
        end = np.minimum(np.ceil(moved[2:]).astype(int), (shape[1], shape[0]))
        return (*first.tolist(), *np.maximum(end, first + 1).tolist())
