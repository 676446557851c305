"""Found words where they are read: apart from each other, and with edges at their ink."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.forms.detect.boxes import Detections, no_detections
from models.forms.ink_edges import pieces, to_ink
from models.forms.placing import Placing

HEIGHT = 20  # of the words below; so an edge moves outward by 6 pixels at most, and 4 white ones part no word


def page(*, rule: bool = False) -> np.ndarray:
    """Two words on one line, of letters 8 pixels wide with 2 between them: from 50 to 108, and from 118 to 146."""
    ink = np.zeros((60, 200), np.float32)
    for start in (*range(50, 108, 10), *range(118, 146, 10)):
        ink[20:40, start : start + 8] = 0.8
    if rule:
        ink[36:38] = 0.7
    return ink


@pytest.mark.parametrize("rule", [False, True])
@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ((50, 108), (50, 108)),
        ((53.4, 105.2), (50, 108)),  # letters that are cut belong to the word
        ((40, 112), (50, 108)),  # white is left out
        ((57, 101), (51, 107)),  # no edge moves farther outward than 6 pixels
        ((50, 119), (50, 108)),  # of the next word too little lies in the box
        ((50, 124), (50, 130)),  # enough of it does, so it is taken for a part of the word
    ],
)
def test_edges_lie_where_the_ink_of_the_word_ends(
    found: tuple[float, float], expected: tuple[float, float], rule: bool
) -> None:
    left, top, right, bottom = to_ink(page(rule=rule), (found[0], 20.0, found[1], 40.0))
    assert (left, right) == expected
    assert (top, bottom) == (20.0, 40.0)


def test_a_box_without_ink_at_the_edge_of_the_form_or_outside_of_it_stays() -> None:
    for box in ((0.0, 45.5, 30.0, 60.0), (150.5, 20.0, 200.0, 40.0), (200.0, 60.0, 200.0, 60.0)):
        assert to_ink(page(), box) == box
    assert to_ink(np.full((30, 30), 0.5, np.float32), (2.0, 2.0, 9.0, 9.0)) == (2.0, 2.0, 9.0, 9.0)


def test_faint_specks_are_no_ink() -> None:
    ink = page()
    ink[30, 45:48] = 0.1
    assert to_ink(ink, (44.0, 20.0, 108.0, 40.0))[0] == 50


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
