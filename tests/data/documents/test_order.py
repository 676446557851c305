"""Words of documents in the order of lines."""

from __future__ import annotations

import numpy as np

from data.documents.generator import SyntheticDocuments
from data.documents.order import by_lines, line_order
from data.pages import PARTS, Document, Documents, Page


def document(*words: tuple[str, float, float, str], pages: tuple[int, ...] = ()) -> Document:
    """Returns a document of words of height 10: text, left, top and tag."""
    boxes = np.array([[x, y, x + 15, y + 10] for _, x, y, _ in words], np.float32)
    texts, tags = (tuple(own[place] for own in words) for place in (0, 3))
    numbers = np.array(pages or (0,) * len(words), np.int16)
    return Document("x", texts, boxes, numbers, (Page(100, 100),) * 2, None, tags)  # pyright: ignore[reportArgumentType]


def test_words_stand_in_lines_from_left_to_right_whatever_entity_they_belong_to() -> None:
    own = document(("Name:", 5, 20, "B-question"), ("of", 5, 32, "I-question"), ("Ada", 40, 22, "B-answer"),
                   ("L.", 60, 19, "I-answer"), ("Form", 5, 5, "B-header"))  # fmt: skip
    data = Documents("x", {part: (own._replace(name=part),) for part in PARTS}, "x")
    (found,) = by_lines(data).parts["test"]
    assert found.words == ("Form", "Name:", "Ada", "L.", "of")
    assert found.tags == ("B-header", "B-question", "B-answer", "I-answer", "B-question")
    assert found.boxes[:, 0].tolist() == [5, 5, 40, 60, 5]
    found.check()


def test_a_line_takes_words_whose_middle_lies_above_the_lower_edge_of_its_highest_word() -> None:
    tops = (0, 4.5, 9.5, 5.5)
    own = document(
        *((name, 90 - 20 * place, top, "O") for place, (name, top) in enumerate(zip("abcd", tops, strict=True)))
    )
    assert [own.words[place] for place in line_order(own)] == ["b", "a", "d", "c"]


def test_pages_stay_one_behind_the_other() -> None:
    own = document(("low", 5, 80, "O"), ("high", 5, 0, "O"), ("next", 5, 0, "O"), pages=(0, 0, 1))
    assert line_order(own).tolist() == [1, 0, 2]


def test_cues_go_with_their_words() -> None:
    made = SyntheticDocuments(train=2, validation=1, test=1, words=80, questions=4, values=3).load()
    for (_, before), (_, after) in zip(made.all(), by_lines(made).all(), strict=True):
        assert after.words != before.words
        for cue, moved in zip(before.cues, after.cues, strict=True):
            assert [before.words[i] for i in cue] == [after.words[i] for i in moved]
            assert [before.tags[i] for i in cue] == [after.tags[i] for i in moved]
