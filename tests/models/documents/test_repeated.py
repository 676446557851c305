"""All places of an entity's words or none: by hand, overlaps, kinds, signs at the ends, and readers that keep it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from models.documents.chunks import Reading
from models.documents.network import Architecture, DocumentNetwork
from models.documents.predictor import DocumentPredictor, Spread, load_predictor, tagged
from models.documents.reader import DocumentReader
from models.documents.repeated import repeated
from models.documents.words import PageWords
from models.sequence.entities import entities
from models.sequence.patterns import SlidingWindow
from models.sequence.vocabulary import Vocabulary


def tags_of(words: str, *found: tuple[str, int, int], least: float) -> list[tuple[str, int, int]]:
    """The entities, (kind, first, end), after those that were found."""
    own = words.split()
    tags = ["O"] * len(own)
    for kind, first, end in found:
        tags[first:end] = [f"B-{kind}", *[f"I-{kind}"] * (end - first - 1)]
    return [tuple(each) for each in entities(repeated(own, tags, least))]


ACME = "Acme Corp. sells and ACME Corp buys ; acme corp, ends Corp."


def test_words_that_are_found_often_enough_are_found_everywhere() -> None:
    every = [("party", 0, 2), ("party", 4, 6), ("party", 8, 10)]
    assert tags_of(ACME, every[0], least=0.3) == every
    assert tags_of(ACME, every[2], every[0], least=2 / 3) == every


def test_words_that_are_found_too_seldom_are_found_nowhere() -> None:
    assert tags_of(ACME, ("party", 0, 2), least=0.34) == []
    assert tags_of(ACME, ("party", 0, 2), ("date", 2, 3), least=0.34) == [("date", 2, 3)]


def test_of_entities_that_overlap_the_longer_one_stays() -> None:
    text = "New York law ; York here , New York there ; York"
    found = ("city", 0, 2), ("state", 4, 5)
    assert tags_of(text, *found, least=0.2) == [("city", 0, 2), ("state", 4, 5), ("city", 7, 9), ("state", 11, 12)]
    assert tags_of(text, ("state", 4, 5), least=0.2) == [("state", place, place + 1) for place in (1, 4, 8, 11)]


def test_of_two_kinds_the_one_at_more_places_stays_and_of_equals_the_first() -> None:
    text = "a x a x a"
    assert tags_of(text, ("one", 0, 1), ("two", 2, 3), ("two", 4, 5), least=0.2) == [
        ("two", p, p + 1) for p in (0, 2, 4)
    ]
    assert tags_of(text, ("one", 0, 1), ("two", 2, 3), least=0.2) == [("one", place, place + 1) for place in (0, 2, 4)]


def test_places_within_a_longer_entity_do_not_count() -> None:
    text = "Acme Corp. sells , Acme Corp. buys , Acme Corp. ends , Acme"
    longer = [("party", place, place + 2) for place in (0, 4, 8)]
    assert tags_of(text, *longer, ("short", 12, 13), least=0.5) == [*longer, ("short", 12, 13)]


def test_of_places_that_overlap_one_counts_and_that_is_the_one_that_is_named() -> None:
    assert tags_of("b b b", ("x", 1, 3), least=1.0) == [("x", 1, 3)]
    assert tags_of("b b b b b", ("x", 1, 3), least=0.5) == [("x", 1, 3), ("x", 3, 5)]


def test_a_share_is_not_missed_by_rounding() -> None:
    """0.07 · 100 is a little above 7 in doubles."""
    found = [("x", place, place + 1) for place in range(0, 14, 2)]
    assert len(tags_of("a b " * 100, *found, least=0.07)) == 100
    assert tags_of("a b " * 101, *found, least=0.07) == []


def test_signs_alone_are_words_too_and_a_word_may_follow_itself() -> None:
    assert tags_of("( a ( .", ("x", 0, 1), least=0.5) == [("x", 0, 1), ("x", 2, 3)]
    assert tags_of("b b b", ("x", 0, 2), least=0.5) == [("x", 0, 2)]
    assert repeated((), (), 0.5) == ()


def test_words_that_are_not_read_have_no_part() -> None:
    assert repeated(["a", "b", "a"], ["B-x", "O"], 1.0) == ("B-x", "O")


def test_a_network_says_the_entities_and_the_probabilities_of_each_place_alone() -> None:
    shares = np.array([[0.1, 0.9], [0.8, 0.2], [0.7, 0.3]])
    found = tagged(("O", "B-x"), Spread(shares, 1), ("a", "b", "a"), 0.5)
    assert found.labels == ("B-x", "O", "B-x")
    assert found.probabilities.tolist() == [0.9, 0.8, 0.3]
    assert found.entities.tolist() == [1, 0, 2]
    assert tagged(("O", "B-x"), Spread(shares, 1)).labels == ("B-x", "O", "O")


def predictor(least: float | None) -> DocumentPredictor:
    vocabulary = Vocabulary.train(["ab cd ef ab cd ef"], pieces=262)
    network = DocumentNetwork(Architecture(vocabulary.size, 8, 2, 8, layers=1, longest=20, outputs=2), seed=0).eval()
    return DocumentPredictor(network, Reading(vocabulary, (SlidingWindow(4),), 1, 20, 4), "tags", ("O", "B-x"), least)


WORDS = ("ab", "cd", "ef", "ab", "cd", "ef", "ab")
PAGE = PageWords(WORDS, np.tile([1.0, 2, 3, 4], (7, 1)), np.zeros(7, int), ((9, 9),))


@pytest.mark.parametrize("least", [0.25, None])
def test_the_share_is_saved_with_a_network(least: float | None, tmp_path: Path) -> None:
    own = predictor(least)
    own.save(tmp_path / "own")
    found = load_predictor(tmp_path / "own")
    assert found.repeated == least
    assert found.tags([PAGE])[0].labels == own.tags([PAGE])[0].labels == tuple(own.labels([PAGE])[0])


def test_a_network_saved_before_there_was_a_share_has_none(tmp_path: Path) -> None:
    predictor(None).save(tmp_path / "own")
    path = tmp_path / "own" / "documents.json"
    told = json.loads(path.read_text())
    del told["repeated"]
    path.write_text(json.dumps(told))
    assert load_predictor(tmp_path / "own").repeated is None


def test_a_share_that_is_none_is_refused() -> None:
    for least in (0.0, 1.5):
        with pytest.raises(ValueError, match="repeated must be above 0 and at most 1, got"):
            predictor(least)
    small = DocumentReader(width=8, heads=2, hidden=8, layers=1, epochs=1, held_out=0.0, pieces=262, repeated=-1)
    with pytest.raises(ValueError, match="repeated must be above 0 and at most 1, got -1"):
        small.fit([PAGE], [["B-x", *["O"] * 6]])
