"""What a translator has to beat, on examples by hand."""

from __future__ import annotations

import pytest

from models.experts.baselines import NearestSentence, WordDictionary, copied

PAIRS = [("ein Haus", "a house"), ("ein Hund", "a dog"), ("der Hund läuft", "the dog runs")]


def test_the_most_similar_sentence_is_looked_up() -> None:
    nearest = NearestSentence(PAIRS)
    texts = ["der Hund läuft schnell", "HUND", "unbekannt", "Haus"]
    expected = ["the dog runs", "a dog", "a house", "a house"]  # of no known word the first
    assert nearest.translate(texts) == nearest.translate(texts, rows=1) == expected
    assert nearest.translate([]) == []


def test_words_are_translated_by_those_that_go_with_them_most() -> None:
    pairs = [("Ein Haus.", "A house."), ("ein Hund.", "A dog."), ("ein Baum", "A tree"), ("der Hund", "the Dog")]
    words = WordDictionary([*pairs, ("das", "the")])
    assert words.translate(["Haus, ein Hund!", "EIN Zebra.", "der Baum", ""]) == [
        "house, A Dog!", "A Zebra.", "Dog tree", "",  # "der" and "Dog" are in one pair, "the" in another too
    ]  # fmt: skip


def test_a_copy_is_the_text() -> None:
    assert copied(("ein Haus", "")) == ["ein Haus", ""]


def test_pairs_are_needed() -> None:
    for kind in (NearestSentence, WordDictionary):
        with pytest.raises(ValueError, match="there are no pairs to look translations up in"):
            kind([])
