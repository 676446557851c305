"""Entities by the strict rule, against a search for them in the text of the tags, and against seqeval."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from seqeval.metrics import f1_score
from seqeval.scheme import IOB2

from models.sequence.entities import (
    Counts,
    Entity,
    best_tags,
    entities,
    entity_counts,
    entity_f1,
    set_counts,
    values_in,
)

TAGS = ("O", "B-a", "I-a", "B-b", "I-b")


def searched(tags: list[str]) -> set[tuple[str, int, int]]:
    """The same in another way: a pattern over one letter a tag."""
    letters = "".join("OAaBb"[TAGS.index(tag)] for tag in tags)
    return {(match[0][0].lower(), *match.span()) for match in re.finditer("Aa*|Bb*", letters)}


def seqeval_f1(true: list[list[str]], predicted: list[list[str]], average: str | None = "micro") -> Any:
    return f1_score(true, predicted, average=average, mode="strict", scheme=IOB2, zero_division=0)


def test_entities_are_those_that_a_search_finds() -> None:
    generator = np.random.default_rng(0)
    for _ in range(300):
        tags = generator.choice(TAGS, generator.integers(0, 12)).tolist()
        assert {tuple(each) for each in entities(tags)} == searched(tags)


def test_an_entity_that_nothing_begins_is_none() -> None:
    """A lenient rule would begin one at I-a and go on from B-a to I-b."""
    assert entities(["I-a", "O", "B-a", "I-b", "I-b"]) == [Entity("a", 2, 3)]


def test_scores_are_those_of_seqeval() -> None:
    generator = np.random.default_rng(2)
    for _ in range(30):
        true, predicted = ([generator.choice(TAGS, n).tolist() for n in (1, 5, 20)] for _ in range(2))
        counts = entity_counts(true, predicted)
        of_kinds = seqeval_f1(true, predicted, average=None)
        assert [own.f1 for own in counts.values()] == pytest.approx(of_kinds, abs=1e-12)
        assert entity_f1(true, predicted) == pytest.approx(seqeval_f1(true, predicted), abs=1e-12)


def test_the_strict_rule_is_not_the_lenient_one() -> None:
    """The lenient rule of seqeval, its default, begins an entity at an I too."""
    true, predicted = [["B-a", "I-a", "O", "B-b"]], [["I-a", "I-a", "O", "B-b"]]
    assert f1_score(true, predicted) == 1
    assert entity_f1(true, predicted) == pytest.approx(seqeval_f1(true, predicted)) == pytest.approx(2 / 3)


def test_scores_by_hand() -> None:
    true = [["B-a", "I-a", "O", "B-b"], ["O", "B-a"]]
    predicted = [["B-a", "I-a", "B-a", "O"], ["O", "B-b"]]
    assert entity_counts(true, predicted) == {"a": Counts(2, 2, 1), "b": Counts(1, 1, 0)}
    assert entity_f1(true, predicted) == pytest.approx(2 * 1 / (3 + 3))
    assert entity_f1(true, true) == 1.0
    assert entity_f1([["O"]], [["O"]]) is None
    assert entity_f1([["O"]], [["B-a"]]) == 0.0


@pytest.mark.parametrize("tag", ["B", "X-a", "b-a", "B-", ""])
def test_what_is_no_tag(tag: str) -> None:
    with pytest.raises(ValueError, match=f"tag 1 is '{tag}'; expected O, B-kind or I-kind"):
        entities(["O", tag])


def test_sequences_of_unlike_length() -> None:
    with pytest.raises(ValueError, match="a sequence has 2 tags and 1 predicted ones"):
        entity_f1([["O", "O"]], [["O"]])


def test_values_count_once_a_document() -> None:
    words, tags = ["Nike", "Inc.", "of", "NIKE,", "inc", "--"], ["B-a", "I-a", "O", "B-a", "I-a", "B-b"]
    normal = lambda kind, text: f"{kind}:{text.lower().strip(',-.').replace(',', '')}" if text != "--" else ""  # noqa: E731
    found = values_in(words, tags, normal)
    assert found == {("a", "a:nike inc")}
    counts = set_counts([({("a", "a:nike inc"), ("a", "x"), ("b", "y")}, found), ({("b", "z")}, {("b", "z")})])
    assert counts == {"a": Counts(2, 1, 1), "b": Counts(2, 1, 1)}


def test_the_most_probable_tags_are_legal_and_the_best_of_all() -> None:
    generator = np.random.default_rng(1)
    for _ in range(30):
        log_p = np.log(generator.dirichlet(np.ones(5), generator.integers(1, 5)))
        every = itertools.product(range(5), repeat=len(log_p))
        legal = [own for own in every if not re.search("(^|[^Aa])a|(^|[^Bb])b", "".join("OAaBb"[i] for i in own))]
        best = max(legal, key=lambda own: sum(log_p[place, tag] for place, tag in enumerate(own)))
        assert best_tags(log_p, TAGS) == tuple(TAGS[tag] for tag in best)
    assert best_tags(np.zeros((0, 5)), TAGS) == ()
