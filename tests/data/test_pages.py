"""The record of documents: what it says of its data, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from data import pages
from data.base import DataError
from data.pages import Document, Documents, Page
from models.documents import words
from models.documents.words import centres_of

NONE = (np.nan,) * 4


def document(name: str = "a", **changed: Any) -> Document:
    """Two pages of 100 × 50 and 100 × 60; the third word has no box."""
    own: dict[str, Any] = {
        "words": ("One", "two", "three", "four", "five"),
        "boxes": [(0, 0, 10, 10), (20, 0, 30, 10), NONE, (0, 0, 10, 20), (50, 40, 60, 60)],
        "pages": [0, 0, 0, 1, 1],
        "sizes": (Page(100, 50), Page(100, 60)),
        "label": "x",
        "tags": ("O", "B-k", "I-k", "B-k", "O"),
    } | changed
    boxes, pages = np.array(own.pop("boxes"), np.float32).reshape(-1, 4), np.array(own.pop("pages"), np.int16)
    return Document(name, boxes=boxes, pages=pages, **own)


def documents(**changed: Any) -> Documents:
    parts = {"train": (document("a"), document("b")), "validation": (document("c"),), "test": (document("d"),)}
    return Documents(**{"name": "mine", "parts": parts, "source": "made up", "tags": ("O", "B-k", "I-k"), **changed})


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ("cafe\u0301", "caf\u00e9"), ("caf\u00e9", "caf\u00e9"), ("cafe\u200b\u0301 ", "caf\u00e9"),
        ("\u212b", "\u00c5"), ("\ufb01n", "\ufb01n"), ("\u200b", ""),
        ("\u202aa\u202eb\u2061\u2064", "ab"), ("\u2066\u2069\u206f", ""), ("a\ufdd0\ufffe\uffff", "a"),
    ],
)  # fmt: skip
def test_a_word_is_the_same_however_its_letters_were_typed(given: str, seen: str) -> None:
    assert pages.visible(given) == words.visible(given) == seen


def test_centres_on_stacked_pages_by_hand() -> None:
    """The word without a box takes the place of the one before it."""
    expected = [[5, 5], [25, 5], [25, 5], [5, 60], [55, 100]]
    np.testing.assert_array_equal(centres_of(document()), expected)


def test_words_without_a_box_before_any_and_on_a_page_of_none() -> None:
    boxes = [NONE, NONE, (0, 0, 10, 10), NONE, NONE]
    np.testing.assert_array_equal(centres_of(document(boxes=boxes)), [[5, 5]] * 3 + [[np.nan, np.nan]] * 2)
    assert document(boxes=boxes).without_box == 4


def test_sizes_and_checksum() -> None:
    made = documents()
    assert made.sizes()[0] == {"part": "train", "documents": 2, "pages": 4, "words": 10, "without_box": 2, "longest": 5}
    assert made.checksum == documents().checksum
    moved = document("d", boxes=[(0, 0, 10, 10), (21, 0, 30, 10), NONE, (0, 0, 10, 20), (50, 40, 60, 60)])
    assert made.checksum != documents(parts={**made.parts, "test": (moved,)}).checksum


def test_fewer_documents_or_all_of_them() -> None:
    made = documents()
    assert [row["documents"] for row in made.shortened(train=1).sizes()] == [1, 1, 1]
    assert made.shortened() is made
    assert made.shortened(train=9, held=9).checksum == made.checksum


def test_an_empty_page_in_the_middle_stacks() -> None:
    sizes = (Page(100, 50), Page(100, 50), Page(100, 60))
    made = document(pages=[0, 0, 0, 2, 2], sizes=sizes)
    made.check()
    np.testing.assert_array_equal(centres_of(made)[3], [5, 110])


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no words": ({"words": (), "boxes": [], "pages": [], "tags": ()}, "a: 0 words; give 1 to"),
    "boxes that lack": ({"boxes": [(0, 0, 1, 1)]}, r"a: 5 words need as many boxes and pages, got \(1, 4\) and 5"),
    "an empty word": ({"words": ("One", " ", "three", "four", "five")}, r"a, page 1, word 2 \(' '\): it is empty"),
    "zero width": ({"words": ("One", "t\u200bwo", "three", "four", "five")}, r"word 2 \(.*\): it is empty or"),
    "a page without size": ({"sizes": (Page(100, 50), Page(0, 60))}, "a, page 2: its size is missing or 0"),
    "a page too many": ({"pages": [0, 0, 0, 1, 2]}, r"page 3, word 5 \('five'\): it is on a page that has no size"),
    "pages out of order": ({"pages": [0, 1, 0, 1, 1]}, r"page 1, word 3 \('three'\): it is on an earlier page"),
    "a side": (
        {"boxes": [(0, 0, 10, 10), (20, 0, 30, np.nan), NONE, NONE, NONE]}, r"word 2 \('two'\): it has a box of which",
    ),
    "without an end": (
        {"boxes": [(0, 0, 10, 10), (20, 0, np.inf, 10), NONE, NONE, NONE]}, "word 2 .*: it has a box without an",
    ),
    "turned": ({"boxes": [(10, 0, 0, 10), NONE, NONE, NONE, NONE]}, r"word 1 \('One'\): it has a box whose second"),
    "outside": ({"boxes": [(0, 0, 10, 51), NONE, NONE, NONE, NONE]}, "word 1 .*: it has a box outside its page"),
    "negative": ({"boxes": [(-1, 0, 10, 50), NONE, NONE, NONE, NONE]}, r"word 1 \('One'\): it has a box outside"),
    "another unit": (
        {"boxes": [(0, 0, 0.1, 0.1), (0.2, 0, 0.3, 1), NONE, NONE, NONE]}, "a: all boxes lie within 1, on",
    ),
    "tags that lack": ({"tags": ("O",)}, "a: 5 words and 1 tags; give one a word"),
    "a tag of nothing": ({"tags": ("O", "I-k", "O", "O", "O")}, r"word 2 \('two'\): it has a tag that is not O"),
    "a tag of another": ({"tags": ("B-j", "I-k", "O", "O", "O")}, r"word 2 \('two'\): it has a tag that is not O"),
    "no tag": ({"tags": ("O", "k", "O", "O", "O")}, r"word 2 \('two'\): it has a tag that is not O"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_document(case: str) -> None:
    changed, said = REFUSED[case]
    with pytest.raises(DataError, match=said) as refused:
        document(**changed).check()
    assert "\n" not in str(refused.value)


def parts(train: Any, validation: Any, test: Any) -> dict[str, Any]:
    return {"parts": {"train": train, "validation": validation, "test": test}}


A, B, C = (document(name) for name in "abc")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (parts((A,), (), (B,)), "training, validation and test part need a document each"),
        (parts((A,), (B,), (A,)), "document a stands twice, in train and test; leave one out"),
        (parts((A, A), (B,), (C,)), "document a stands twice, in train; leave one out"),
        (parts((A._replace(tags=()),), (B,), (C,)), "a: it has no tags; give one a word"),
        ({"classes": ("y", "z")}, "a: label 'x' is none of y, z"),
        ({"tags": ("O", "B-j")}, r"a, page 1, word 2 \('two'\): it has a tag that is none of O, B-j"),
        ({"tags": ("B-k", "O")}, "the first tag must be O, got B-k"),
    ],
)
def test_what_are_no_documents(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        documents(**changed)
