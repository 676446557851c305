"""Found words where they are read: apart from each other, and with edges at their ink."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy import ndimage

from models.forms.detect.boxes import Detections, no_detections
from models.forms.ink_edges import pieces, to_ink
from models.forms.placing import Placing
from models.forms.ruled_lines import ruled


def page(*, rule: bool = False, paper: float = 0.0, rough: float = 0.0) -> np.ndarray:
    """Two words on one line, 20 pixels high, of letters 8 pixels wide with 2 between them: from 50 to 108, and from 118
    to 146. So an edge moves outward by 6 pixels at most, and 4 white ones part no word. paper, rough: mean and standard
    deviation of the ink of paper."""
    noise = rough * np.random.default_rng(0).standard_normal((60, 200))
    ink = (paper + noise).astype(np.float32)
    for start in (*range(50, 108, 10), *range(118, 146, 10)):
        ink[20:40, start : start + 8] += 0.6
    if rule:
        ink[36:38] = 0.7
    return ink.clip(0, 1)


@pytest.mark.parametrize("own", [{}, {"rule": True}, {"paper": 0.35}, {"paper": 0.2, "rough": 0.06}])
@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ((50, 108), (50, 108)),
        ((53.4, 105.2), (50, 108)),  # letters that are cut belong to the word
        ((40, 112), (50, 108)),  # white is left out
        ((57, 101), (51, 107)),  # no edge moves farther outward than 6 pixels
        ((50, 119), (50, 108)),  # of the next word too little lies in the box
        ((50, 124), (50, 130)),  # enough of it does, so it is taken for a part of the word
        ((118, 146), (118, 146)),  # a word narrower than a rule must be
        ((124, 140), (118, 146)),
    ],
)
def test_edges_lie_where_the_ink_of_the_word_ends(
    found: tuple[float, float], expected: tuple[float, float], own: dict[str, Any]
) -> None:
    left, top, right, bottom = to_ink(page(**own), (found[0], 20.0, found[1], 40.0))
    assert (left, right) == expected
    assert (top, bottom) == (20.0, 40.0)


def test_a_long_stroke_that_is_no_rule_is_ink_and_one_that_is_longer_is_none() -> None:
    for length, left in ((45, 60), (50, 76)):  # 2.5 times 20 pixels
        ink = np.zeros((60, 200), np.float32)
        ink[20:40, 76:84] = ink[30, 60 : 60 + length] = 0.8
        assert to_ink(ink, (62.0, 20.0, 90.0, 40.0))[0] == left


def test_a_box_without_ink_at_the_edge_of_the_form_or_outside_of_it_stays() -> None:
    for box in ((0.0, 45.5, 30.0, 60.0), (150.5, 20.0, 200.0, 40.0), (200.0, 60.0, 200.0, 60.0)):
        assert to_ink(page(), box) == box
    assert to_ink(page(rule=True), (155.0, 20.0, 185.0, 40.0)) == (155.0, 20.0, 185.0, 40.0)
    assert to_ink(np.full((30, 30), 0.5, np.float32), (2.0, 2.0, 9.0, 9.0)) == (2.0, 2.0, 9.0, 9.0)


def test_a_box_that_begins_above_the_form_is_moved_as_what_of_it_is_on_it() -> None:
    assert to_ink(page()[20:], (53.0, -0.5, 105.0, 20.0)) == (50.0, -0.5, 108.0, 20.0)


def test_faint_specks_are_no_ink() -> None:
    ink = page()
    ink[30, 45:48] = 0.1
    assert to_ink(ink, (44.0, 20.0, 108.0, 40.0))[0] == 50


@pytest.mark.parametrize("length", [3, 8, 50])
def test_ruled_lines_are_those_of_an_opening(length: int) -> None:
    for seed in range(10):
        dark = np.random.default_rng(seed).random((7, 90)) < 0.9
        dark[3] = True
        np.testing.assert_array_equal(ruled(dark, length), ndimage.binary_opening(dark, np.ones((1, length))))


@pytest.mark.parametrize("gap", [1, 3, 8])
def test_pieces_are_those_of_a_loop(gap: int) -> None:
    for seed in range(20):
        columns = np.random.default_rng(seed).random(60) < 0.2
        expected = list[tuple[int, int]]()
        for place in np.flatnonzero(columns).tolist():
            near = expected and place - expected[-1][1] < gap
            expected = [*expected[:-1], (expected[-1][0], place + 1)] if near else [*expected, (place, place + 1)]
        assert pieces(columns, gap) == expected


FOUND = Detections(
    torch.tensor([[50.0, 20, 90, 40], [82.0, 20, 112, 40], [84.0, 20, 108, 40], [51.0, 20, 88, 40],
                  [118.0, 20, 146, 40]]),
    torch.tensor([1, 1, 1, 3, 1]), torch.tensor([0.9, 0.8, 0.7, 0.6, 0.5]),
)  # fmt: skip


def test_of_words_that_share_too_much_of_the_smaller_one_the_best_is_read() -> None:
    ink = torch.from_numpy(page())
    for most_shared, kept in ((1.0, [0, 1, 2, 3, 4]), (0.3, [0, 1, 3, 4]), (0.26, [0, 2, 3, 4]), (0.2, [0, 3, 4])):
        placed = Placing(most_shared).placed(ink, FOUND)
        assert all(map(torch.equal, placed, FOUND.at(torch.tensor(kept))))


def test_edges_of_words_alone_are_moved_and_nothing_is_placed_where_nothing_is_found() -> None:
    ink = torch.from_numpy(page())
    placed = Placing(0.2, "ink").placed(ink, FOUND)
    assert placed.boxes.tolist() == [[50, 20, 96, 40], [51, 20, 88, 40], [118, 20, 146, 40]]
    assert placed.classes.tolist() == [1, 3, 1]
    assert FOUND.boxes[0].tolist() == [50, 20, 90, 40]
    assert len(Placing(0.2, "ink").placed(ink, no_detections(ink.device)).boxes) == 0


def test_a_placing_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="most_shared"):
        Placing(1.5)
    with pytest.raises(ValueError, match="edges"):
        Placing(edges="auto")
