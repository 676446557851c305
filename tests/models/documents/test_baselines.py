"""What a network that reads documents has to beat: rules, a linear tagger, TF-IDF, the commonest class."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

from models.documents.clause_rule import NamedState, within_clauses
from models.documents.text_classifier import TextClassifier, commonest
from models.documents.window_features import WindowFeatures, layout_features, neighbours_of
from models.documents.window_tagger import WindowTagger, joined_tags
from models.documents.words import PageWords

STATES = ("New York", "Ohio", "York", "Utah")
CONTRACT = "Ohio, Ohio and Ohio agree. It is governed by the laws of the State of New-York or New York. Utah"


def words(text: str) -> list[str]:
    return text.split()


def test_the_state_is_the_one_that_clauses_name() -> None:
    text = words(CONTRACT)
    assert NamedState(STATES).state(text) == "New York"
    assert NamedState(STATES, clauses=False).state(text) == "Ohio"
    assert NamedState(STATES, most=8).state(text) is None
    assert NamedState(STATES).state(words("of Ohio")) is None
    assert NamedState(STATES).state(words("GOVERNED by UTAH's, Utah, Ohio")) == "Utah"
    assert NamedState(("Ohio", "Utah")).state(words("governed by Utah or Ohio")) == "Utah"  # the first of equals
    with pytest.raises(ValueError, match=r"^states: '--' has no letter; give names of states$"):
        NamedState(("Ohio", "--"))


def test_a_name_within_a_longer_one_is_not_named_and_stands_where_the_longer_one_is_not_known() -> None:
    states, text = ("Virginia", "West Virginia"), words("governed by West Virginia, West Virginia and Virginia")
    for order in (states, states[::-1]):
        assert NamedState(order).state(text) == "West Virginia"
        assert NamedState(order).state(words("construed in Virginia, West Virginia or Virginia")) == "Virginia"
        assert NamedState(order).state(words("laws of West Virginia")) == "West Virginia"
    assert NamedState(("Virginia",)).state(text) == "Virginia"


def test_of_equally_long_names_that_overlap_the_one_that_begins_first_is_named() -> None:
    states = ("York County", "New York")
    for order in (states, states[::-1]):
        assert NamedState(order).state(words("laws of New York County")) == "New York"


def test_a_clause_reaches_twenty_five_words() -> None:
    text = ("a", "laws", "of", *["x"] * 30, "governed", "y")
    assert within_clauses(text) == [False] * 3 + [True] * 25 + [False] * 6 + [True]


def page(boxes: Any, pages: Any = None, text: str = "") -> PageWords:
    own = np.array(boxes, np.float64)
    numbers = np.zeros(len(own), np.int64) if pages is None else np.array(pages)
    said = tuple(text.split()) or tuple("abcdefghijkl"[: len(own)])
    return PageWords(said, own, numbers, ((100.0, 100.0),) * (int(numbers.max()) + 1))


def test_neighbours_are_the_nearest_in_line_and_column() -> None:
    grid = [[x, y, x + 8, y + 5] for y in (10, 30, 50) for x in (10, 30, 50)]
    assert neighbours_of(page(grid))[4].tolist() == [3, 5, 1, 7]
    assert neighbours_of(page(grid))[0].tolist() == [-1, 1, -1, 3]
    assert neighbours_of(page(grid, [0] * 3 + [1] * 6))[4].tolist() == [3, 5, -1, 7]
    grid[3] = [np.nan] * 4
    assert neighbours_of(page(grid))[4].tolist() == [-1, 5, 1, 7]
    assert neighbours_of(page(grid))[3].tolist() == [-1] * 4


def test_heights_are_beside_the_mean_of_words_that_have_a_box() -> None:
    """In fifths of it: 10 of a mean of 10 is 5, whatever words without a box stand between."""
    none = [np.nan] * 4
    for boxes in ([[0, 0, 5, 10], [9, 0, 20, 10]], [[0, 0, 5, 10], none, none, [9, 0, 20, 10]]):
        found = layout_features(page(boxes))
        assert [found[0][3], found[-1][3]] == ["h5", "h5"]


def test_a_word_without_a_box_does_not_stand_in_the_top_left_corner() -> None:
    corner, lacking = layout_features(page([[0, 0, 5, 10], [np.nan] * 4]))
    assert corner == ["l0", "u0", "r0", "h5"]
    assert lacking == ["no box"]
    assert layout_features(page([[np.nan] * 4])) == [["no box"]]


def forms(count: int, seed: int) -> tuple[list[PageWords], list[tuple[str, ...]]]:
    """Words at random in the text, whose tags hang on the word above: B-a under "key", else O."""
    generator = np.random.default_rng(seed)
    documents, tags = list[PageWords](), list[tuple[str, ...]]()
    for _ in range(count):
        keys = generator.random(20) < 0.5
        upper = [[5 * i, 10, 5 * i + 4, 14] for i in range(20)]
        lower = [[x0, 20, x1, 24] for x0, _, x1, _ in upper]
        text = [*("key" if own else "not" for own in keys), *generator.choice(["one", "two"], 20)]
        documents.append(page([*upper, *lower], text=" ".join(text)))
        tags.append((*["O"] * 20, *("B-a" if own else "O" for own in keys)))
    return documents, tags


def test_a_tagger_with_layout_learns_what_hangs_on_the_word_above() -> None:
    learned, held = forms(30, 0), forms(5, 1)
    scores = {}
    for layout in (False, True):
        found = WindowTagger(layout=layout, alpha=1e-4).fit(*learned).tags(held[0])
        scores[layout] = np.mean([one == other for own, true in zip(found, held[1], strict=True)
                                  for one, other in zip(own[20:], true[20:], strict=True)])  # fmt: skip
    assert scores[True] == 1
    assert scores[False] < 0.75


def test_a_tagger_learns_from_the_words_around_and_gives_legal_tags() -> None:
    generator = np.random.default_rng(0)
    documents, tags = list[PageWords](), list[tuple[str, ...]]()
    for _ in range(20):
        filler = generator.choice(["x", "y", "z"], 24).tolist()
        filler[10:13] = ["by", "and", "between"]
        documents.append(page(np.tile([1, 1, 2, 2], (24, 1)), text=" ".join(filler)))
        tags.append((*["O"] * 13, "B-a", "I-a", *["O"] * 9))
    tagger = WindowTagger(alpha=1e-4).fit(documents, tags)
    empty = PageWords((), np.zeros((0, 4)), np.zeros(0, np.int64), ())
    assert tagger.tags([documents[0], empty]) == [tags[0], ()]
    assert WindowTagger(around=0, alpha=1e-4).fit(documents, tags).tags(documents[:1]) != [tags[0]]
    with pytest.raises(ValueError, match=r"^document 1 has 24 words and 23 tags$"):
        tagger.fit(documents[:2], [tags[0], tags[0][1:]])
    with pytest.raises(ValueError, match=r"^there are not two tags to tell apart"):
        tagger.fit(documents[:1], [("O",) * 24])


def test_taggers_that_share_features_are_those_fitted_alone_with_any_number_of_threads() -> None:
    documents, tags = forms(6, 0)
    tags = [tuple("B-b" if own == "O" and place % 3 else own for place, own in enumerate(each)) for each in tags]
    alone = WindowTagger(layout=True, alpha=1e-3).fit(documents, tags)
    features, before = WindowFeatures(layout=True).fit(documents), torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        shared = WindowTagger(alpha=1e-3).fit_rows(features, features.rows(documents), joined_tags(documents, tags))
        np.testing.assert_array_equal(shared.linear.coef_, alone.linear.coef_)
    torch.set_num_threads(before)
    assert shared.tags(documents) == alone.tags(documents)


def test_tf_idf_learns_pairs_of_words() -> None:
    generator = np.random.default_rng(0)
    documents, labels = list[list[str]](), list[str]()
    for place in range(40):
        own = generator.choice(["one", "two", "three"], 6).tolist()
        documents.append([*own, *(("red", "wine") if place % 2 else ("wine", "red")), *own])
        labels.append("ab"[place % 2])
    fitted = TextClassifier(penalty=10).fit(documents[:30], labels[:30])
    assert fitted.classes(documents[30:]) == labels[30:]
    assert TextClassifier(most=6).fit(documents[:30], labels[:30]).classes(documents[30:]) != labels[30:]
    for texts, given, reason in (
        (documents[:2], ["a"], "each document needs its label; got 2 documents and 1 labels"),
        ([], [], "each document needs its label; got 0 documents and 0 labels"),
        (documents[:2], ["a", "a"], "there is one label alone; give documents of two at least"),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(reason)}$"):
            TextClassifier().fit(texts, given)


@pytest.mark.parametrize("documents", [
    [["a", "§"], ["b", "—"], ["a", "—"], ["b", "§"]],  # no word of two letters
    [["one", "two"], ["red", "wine"], ["three"], ["tea"]],  # no word that two have
    [["一"], ["§"], ["?"], ["b"]],  # neither
])  # fmt: skip
def test_tf_idf_learns_from_words_that_are_short_or_seldom(documents: list[list[str]]) -> None:
    labels = ["x", "y", "x", "y"]
    assert TextClassifier(penalty=100).fit(documents, labels).classes(documents) == labels


def test_tf_idf_leaves_short_and_seldom_words_out_where_there_are_others() -> None:
    documents = [["one", "a", "seldom"], ["two", "b"], ["one", "a"], ["two", "b"]]
    fitted = TextClassifier().fit(documents, ["x", "y", "x", "y"])
    assert fitted.model[0].get_feature_names_out().tolist() == ["one", "two"]


def test_the_commonest_label() -> None:
    assert commonest(["b", "a", "a", "b"]) == "b"
    with pytest.raises(ValueError, match=r"^each document needs its label"):
        commonest([])
