"""Words are cut out at boxes that are a little off, the same in the same turn."""

from __future__ import annotations

import numpy as np
import pytest

from data.base import DataError
from data.form_images import NO_ORDER, STAMP, WORD, Form, FormImages
from data.forms.moved_boxes import MOST_INWARD, UPRIGHT, MovedBoxes

BOXES = np.array([[60, 40, 90, 60], [40, 30, 90, 40], [0, 0, 120, 80]], np.float32)
FORM = Form(np.arange(80 * 120, dtype=np.int64).reshape(80, 120).astype(np.uint8), BOXES, np.array([STAMP, WORD, WORD]),
            ("", "second", "first"), np.array([NO_ORDER, 1, 0]))  # fmt: skip
FORMS = FormImages.of([FORM, FORM])


def test_without_a_deviation_words_are_cut_out_where_they_are_in_reading_order() -> None:
    words = MovedBoxes(FORMS, deviation=0.0, seed=0)
    assert words.places == [(0, 2), (0, 1), (1, 2), (1, 1)]
    assert len(words) == 4
    for number, (form, box) in enumerate(words.places):
        np.testing.assert_array_equal(words.image(number, 5), FORMS.form(form).crop(box))


def test_a_word_is_cut_out_alike_in_the_same_turn_alone() -> None:
    words, again = (MovedBoxes(FORMS, deviation=0.3, seed=1) for _ in range(2))
    np.testing.assert_array_equal(words.image(1, 7), again.image(1, 7))
    shapes = {MovedBoxes(FORMS, deviation=0.3, seed=seed).image(number, turn).tobytes()
              for seed in (1, 2) for number in (1, 3) for turn in (7, 8)}  # fmt: skip
    assert len(shapes) == 8


def test_edges_move_by_the_deviation_and_stay_on_the_form_and_beside_the_middle() -> None:
    words, box = MovedBoxes(FORMS, deviation=0.4, seed=0), np.array([40.0, 30.0, 90.0, 50.0], np.float32)
    moved = np.array([words.box(box, (80, 120), np.random.default_rng(seed)) for seed in range(2000)], float)
    off = (moved - box) * [-1, -1, 1, 1]  # outward
    deviations = np.quantile(off, 0.8413, axis=0) - np.median(off, axis=0)  # inward it is cut off
    np.testing.assert_allclose(deviations, 0.4 * 20 * np.array([1, UPRIGHT, 1, UPRIGHT]), rtol=0, atol=1)
    assert off[:, [0, 2]].min() >= -MOST_INWARD * 50 - 1
    assert off[:, [1, 3]].min() >= -MOST_INWARD * 20 - 1
    whole = np.array([words.box(BOXES[2], (80, 120), np.random.default_rng(seed)) for seed in range(200)])
    assert whole[:, :2].min() == 0
    assert whole[:, 2:].max(0).tolist() == [120, 80]


def test_a_box_of_a_pixel_gives_a_pixel_at_least() -> None:
    words = MovedBoxes(FORMS, deviation=1.0, seed=0)
    for seed in range(50):
        x0, y0, x1, y1 = words.box(np.array([119.0, 79.0, 120.0, 80.0]), (80, 120), np.random.default_rng(seed))
        assert 0 <= x0 < x1 <= 120
        assert 0 <= y0 < y1 <= 80


@pytest.mark.parametrize("deviation", [-0.1, 1.1, float("nan")])
def test_other_deviations_are_refused(deviation: float) -> None:
    with pytest.raises(DataError, match="must lie between 0 and 1"):
        MovedBoxes(FORMS, deviation=deviation, seed=0)
    with pytest.raises(DataError, match="seed=-1 must be at least 0"):
        MovedBoxes(FORMS, deviation=0.1, seed=-1)
