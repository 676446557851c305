"""Correction by a vocabulary."""

from __future__ import annotations

import pytest

from models.forms.recognise.correction import Correction


def test_the_nearest_word_within_two_edits_is_taken_and_of_equals_the_most_frequent() -> None:
    own = Correction.of_texts(["haus", "maus", "maus", "strasse", "aas"])
    assert own.words == ("maus", "aas", "haus", "strasse")
    assert own.corrected(["haus", "xaus", "strase", "ganz", "aus"]) == [
        "haus", "maus", "strasse", "ganz", "maus",
    ]  # fmt: skip


def test_distance_three_is_left_alone_and_known_words_are_untouched() -> None:
    own = Correction(("abc",))
    assert own.corrected(["abcdef", "xyz", "abc", "abcde"]) == ["abcdef", "xyz", "abc", "abc"]
    assert Correction(("abc",), most=1).corrected(["abcde", "acb"]) == ["abcde", "abc"]


def test_nothing_stays_nothing_and_no_text_is_replaced_in_all_of_its_characters() -> None:
    own = Correction(("am", "12", "ufer"))
    assert own.corrected(["", "7", "om", "xy", "1", "ufe"]) == ["", "7", "am", "xy", "1", "ufer"]


@pytest.mark.parametrize(
    ("words", "said"), [((), "needs a vocabulary"), (("a", "a"), "'a' comes twice"), (("a", ""), "'' is empty")]
)
def test_a_vocabulary_that_is_none_is_refused(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Correction(words)
