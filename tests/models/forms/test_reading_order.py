"""Reading order on pages whose order is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.forms.reading_order import neighbours, pairs_in_order, reading_order


def page(degrees: float, seed: int = 0) -> np.ndarray:
    """Words of eight lines that slope, line by line: uneven widths, heights and ends of lines."""
    chance, boxes = np.random.default_rng(seed), []
    for line in range(8):
        x, end = 20.0 + chance.uniform(0, 30), chance.uniform(250, 600)
        while x < end:
            width, height = chance.uniform(30, 110), chance.uniform(22, 32)
            rise = math.tan(math.radians(degrees))
            height += abs(rise) * width  # the box of a word that slopes
            y = 50 + 60 * line + rise * (x + width / 2) + chance.uniform(-3, 3)
            boxes.append((x, y - height / 2, x + width, y + height / 2))
            x += width + chance.uniform(8, 25)
    return np.array(boxes)


@pytest.mark.parametrize("degrees", [-10, -6, -2, 0, 3, 7, 10])
def test_lines_that_slope_are_read_in_order(degrees: int) -> None:
    for seed in range(5):
        boxes = page(degrees, seed)
        shuffle = np.random.default_rng(seed).permutation(len(boxes))
        found = shuffle[reading_order(boxes[shuffle])]
        assert found.tolist() == list(range(len(boxes)))


def test_two_columns_are_read_across() -> None:
    left = [(10, 10 + 40 * line, 90, 30 + 40 * line) for line in range(3)]
    right = [(300, 12 + 40 * line, 360, 32 + 40 * line) for line in range(3)]
    assert reading_order([*left, *right]).tolist() == [0, 3, 1, 4, 2, 5]


def test_two_columns_whose_lines_do_not_meet_take_turns() -> None:
    left = [(10, 10 + 40 * line, 90, 30 + 40 * line) for line in range(2)]
    right = [(300, 30 + 40 * line, 360, 50 + 40 * line) for line in range(2)]
    assert reading_order([*right, *left]).tolist() == [2, 0, 3, 1]


def test_a_line_that_bends_is_one_line() -> None:
    bent = [(60 * i, 100 + 4 * i * i, 60 * i + 50, 125 + 4 * i * i) for i in range(6)]
    assert reading_order([*bent[::-1], (0, 300, 50, 325)]).tolist() == [5, 4, 3, 2, 1, 0, 6]


def test_half_of_the_lower_height_must_be_shared() -> None:
    one = (0, 0, 50, 40)
    right, left = neighbours(np.array([one, (60, 35, 90, 45)], float))  # 5 of 10 pixels are shared
    assert (right.tolist(), left.tolist()) == ([1, -1], [-1, 0])
    right, left = neighbours(np.array([one, (60, 36, 90, 46)], float))
    assert (right.tolist(), left.tolist()) == ([-1, -1], [-1, -1])


def test_one_word_no_word_and_equal_boxes() -> None:
    assert reading_order([(5, 5, 20, 9)]).tolist() == [0]
    assert reading_order([]).tolist() == []
    assert reading_order([(5, 5, 20, 9)] * 3).tolist() == [0, 1, 2]


def test_pairs_in_order() -> None:
    assert pairs_in_order("abcd", "abcd") == 1.0
    assert pairs_in_order("abcd", "cdab") == pytest.approx(2 / 3)
    assert pairs_in_order("abcd", "acd") == pytest.approx(1 / 3)
    assert pairs_in_order("abcd", "dcba") == 0.0
    assert pairs_in_order("a", "") == 1.0
