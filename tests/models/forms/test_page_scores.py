"""Scores of whole forms against error rates of their texts, and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from models.forms.page_scores import TrueWord, meant, page_score, text_score
from models.forms.reader import ReadBox, in_order, text_of
from models.forms.recognise.error_rates import character_error_rate, word_error_rate

TRUE = [TrueWord((0.0, 0.0, 40.0, 10.0), "New York"), TrueWord((50.0, 0.0, 90.0, 10.0), "abc"),
        TrueWord((0.0, 30.0, 40.0, 40.0), "xyz")]  # fmt: skip


def found(true: TrueWord, text: str, score: float = 0.9, *, right: float = 0.0) -> ReadBox:
    """A box at a true word, moved to the right."""
    x0, y0, x1, y1 = true.box
    return ReadBox(0, (x0 + right, y0, x1 + right, y1), "word", score, text, 0.5)


def test_a_form_that_is_read_without_a_fault() -> None:
    score = page_score(TRUE, in_order([found(own, own.text) for own in TRUE]))
    assert score._asdict() == {"characters": 16, "faults": 0, "words": 4, "word_faults": 0, "boxes": 3, "right": 3,
                               "pairs": 2, "out_of_order": 0}  # fmt: skip


def test_faults_are_those_of_the_error_rates_and_boxes_of_other_classes_are_no_words() -> None:
    rows = in_order([found(TRUE[1], "acb"), found(TRUE[0], "New York", right=4.0), found(TRUE[2], "xyz", right=30.0),
                     found(TRUE[2], "nothing")._replace(kind="noise", order=-1)])  # fmt: skip
    score = page_score(TRUE, rows)
    assert [own.order for own in rows] == [0, 1, 2, -1]
    asked, said = "New York abc xyz", "New York acb xyz"
    assert 100 * score.faults / score.characters == character_error_rate([said], [asked])
    assert 100 * score.word_faults / score.words == word_error_rate([said.split()], [asked.split()])
    assert (score.right, score.out_of_order) == (1, 1)  # the third box overlaps its word too little
    whole = ReadBox(0, (0.0, 0.0, 90.0, 40.0), "form", 1.0, said, 0.5)
    assert text_score(TRUE, [whole]) == (*score[:4], 0, 0, 0, 0)


def test_a_word_that_is_read_as_nothing_lacks_its_characters_and_no_blank() -> None:
    rows = [found(own, text) for own, text in zip(TRUE, ("New York", "", "xyz"), strict=True)]
    assert text_of(rows) == "New York  xyz"
    assert page_score(TRUE, rows)[1::2] == (3, 1, 2, 0)


def test_a_word_is_meant_once_by_the_box_of_the_highest_score() -> None:
    twice = [found(TRUE[0], "a", 0.5), found(TRUE[0], "b", 0.8, right=1.0), found(TRUE[1], "c", 0.1)]
    assert meant(TRUE, twice) == [None, 0, 1]
    assert meant(TRUE, twice[:1]) == [0]
    assert meant(TRUE, []) == meant([], []) == []
    assert meant([], twice) == [None] * 3


def test_a_form_that_nothing_was_found_on_and_one_without_a_word() -> None:
    assert page_score(TRUE, [])[:4] == (16, 16, 4, 4)
    assert page_score(TRUE, []).out_of_order == 2
    assert page_score([], [found(TRUE[0], "ab")])[:4] == (0, 2, 0, 1)
    assert page_score(TRUE[:1], [found(TRUE[0], "New York")])[-2:] == (0, 0)


@pytest.mark.parametrize("seed", range(3))
def test_counts_of_forms_add_up_to_rates_over_forms(seed: int) -> None:
    generator = np.random.default_rng(seed)
    letters = np.array(list("ab "))
    asked, said, scores = [], [], []
    for _ in range(4):
        texts = ["a" + "".join(generator.choice(letters, 4)) + "b" for _ in TRUE]
        read = ["".join(generator.choice(letters, 5)).strip() or "a" for _ in TRUE]
        true = [own._replace(text=text) for own, text in zip(TRUE, texts, strict=True)]
        scores.append(page_score(true, in_order([found(*pair) for pair in zip(TRUE, read, strict=True)])))
        asked.append(" ".join(texts))
        said.append(" ".join(read))
    total = np.sum(scores, 0)
    assert 100 * total[1] / total[0] == pytest.approx(character_error_rate(said, asked), rel=1e-12)
    split = [[text.split() for text in texts] for texts in (said, asked)]
    assert 100 * total[3] / total[2] == pytest.approx(word_error_rate(*split), rel=1e-12)
