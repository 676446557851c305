"""Error rates of texts by hand."""

from __future__ import annotations

import pytest

from models.forms.recognise.error_rates import (
    character_error_rate,
    distance,
    mean_character_error_rate,
    word_accuracy,
    word_error_rate,
)


@pytest.mark.parametrize(
    ("read", "true", "expected"),
    [("ca", "abc", 2), ("ab", "ba", 1), ("", "abc", 3), ("abc", "abc", 0), (["a", "c"], ["c", "a"], 1)],
)
def test_distances_count_swaps_of_neighbours_even_with_letters_between(read: str, true: str, expected: int) -> None:
    assert distance(read, true) == expected


def test_rates_of_texts() -> None:
    read, true = ["abcd", "x", "zzz"], ["abcd", "xy", "z"]
    assert word_accuracy(read, true) == pytest.approx(1 / 3)
    assert character_error_rate(read, true) == pytest.approx(100 * 3 / 7)
    assert mean_character_error_rate(read, true) == pytest.approx((0 + 50 + 200) / 3)
    assert character_error_rate(["abcd"], ["x"]) == 400


def test_a_rate_of_words_counts_words_of_forms() -> None:
    assert word_error_rate([["a", "b", "c"], []], [["a", "c"], ["d"]]) == pytest.approx(100 * 2 / 3)
    with pytest.raises(ValueError, match="1 forms with 0 words"):
        word_error_rate([["a"]], [[]])


def test_what_has_no_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="got 2 texts and 1 readings"):
        word_accuracy(["a"], ["a", "b"])
    with pytest.raises(ValueError, match="text 1 is empty"):
        character_error_rate(["a", "b"], ["a", ""])
