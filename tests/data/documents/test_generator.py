"""Generated documents: their answers are where they say, and the pages are irregular."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from data.base import DataError
from data.documents.generator import (
    BEHIND,
    QUESTION,
    VOCABULARY,
    Placed,
    SyntheticDocuments,
    answer,
    placed_page,
    zipf,
)
from data.pages import NO_WORD, NOWHERE, Document, Documents

SMALL: dict[str, Any] = {"train": 12, "validation": 2, "test": 3, "words": 300, "seed": 1}


def load(**changed: Any) -> Documents:
    return SyntheticDocuments(**SMALL | changed).load()


def all_of(found: Documents) -> list[Document]:
    return [document for _, document in found.all()]


@pytest.mark.parametrize("cue", ["textual", "spatial"])
def test_a_tag_is_told_by_the_word_that_it_hangs_on(cue: str) -> None:
    for document in all_of(load(cue=cue)):
        assert len(document.words) == 300
        assert 4 <= len(document.cues) <= 8
        asked = [i for i, word in enumerate(document.words) if word == QUESTION]
        assert sorted(document.cues[:, 0].tolist()) == asked
        assert [i for i, tag in enumerate(document.tags) if tag != "O"] == asked
        for word, other in document.cues.tolist():
            assert document.words[other] == answer(int(document.tags[word][2:]))
            if cue == "textual":
                assert other == word - BEHIND


def test_a_spatial_answer_is_at_the_height_of_its_question_and_to_the_right() -> None:
    gaps, heights = [], []
    for document in all_of(load(cue="spatial")):
        (asked, told), boxes = document.cues.T, document.boxes
        assert (document.pages[asked] == document.pages[told]).all()
        assert (boxes[told, 0] > boxes[asked, 0]).all()
        heights += np.abs(boxes[told, 1] - boxes[asked, 1]).tolist()
        gaps += (told - asked).tolist()
    assert np.median(heights) < 10
    assert np.median(gaps) > 20  # words from one to the other as they are read


def test_nothing_tells_the_tag_of_a_control() -> None:
    pairs = [
        (document.words[word - BEHIND], answer(int(document.tags[word][2:])))
        for document in all_of(load(cue="none", train=60))
        for word in document.cues[:, 0].tolist()
    ]
    assert all(shown.startswith("answer") for shown, _ in pairs)
    assert {told for own in all_of(load(cue="none")) for told in own.cues[:, 1].tolist()} == {NOWHERE}
    error = np.sqrt(0.1 * 0.9 / len(pairs))
    assert abs(np.mean([one == other for one, other in pairs]) - 0.1) < 4 * error  # a tenth, of ten values


def test_a_late_label_stands_once_and_late() -> None:
    found = load(cue="late", late_after=200)
    assert found.classes == tuple(map(str, range(10)))
    for document in all_of(found):
        (place,) = [i for i, word in enumerate(document.words) if word.startswith("answer")]
        assert place >= 200
        assert document.words[place] == answer(int(document.label or 0))
        assert document.cues.tolist() == [[NO_WORD, place]]


def test_pages_are_irregular_and_words_follow_zipf() -> None:
    found = load(train=20, words=900)
    tops = {len(set(document.boxes[document.pages == 0, 1].tolist())) for document in all_of(found)}
    assert len(tops) > 5
    counts = Counter(word for document in all_of(found) for word in document.words if len(word) > 3)
    ordered = [count for _, count in counts.most_common()]
    assert ordered[0] > 8 * ordered[60]
    assert len({len(document.sizes) for document in all_of(found)}) > 1


def test_regular_pages_are_one_grid() -> None:
    boxes = [document.boxes[document.pages == 0] for document in all_of(load(regular=True))]
    assert all(np.array_equal(own, boxes[0]) for own in boxes)
    columns = np.unique(boxes[0][:, 0])
    assert np.ptp(boxes[0][:, 2] - boxes[0][:, 0]) == 0
    assert len(columns) % 4 == 0


def test_the_kth_word_has_a_kth_of_the_probability_of_the_first() -> None:
    generator, count = np.random.default_rng(0), 20_000
    drawn = np.bincount([zipf(generator) for _ in range(count)], minlength=VOCABULARY)
    assert len(drawn) == VOCABULARY
    shares = 1 / np.arange(1, VOCABULARY + 1)
    shares /= shares.sum()
    away = np.abs(drawn / count - shares) / np.sqrt(shares * (1 - shares) / count)
    assert away[:50].max() < 4  # standard errors


def test_the_seed_gives_the_data_and_parts_share_no_document() -> None:
    assert load().checksum == load().checksum
    assert load().checksum != load(seed=2).checksum
    found = load()
    assert len({document.words for document in all_of(found)}) == 17
    assert found.parts["train"][0].words == load(train=1).parts["train"][0].words


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"cue": "visual"}, "cue must be one of textual, spatial, late, none, got 'visual'"),
        ({"cue": "late", "late_after": 300}, "late_after=300 leaves none of 300 words"),
        ({"train": 2.5}, "train"),
    ],
)
def test_settings_that_make_no_sense(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        load(**changed)


def test_words_for_answers_are_of_letters_alone_and_differ() -> None:
    words = [answer(value) for value in range(50)]
    assert len(set(words)) == 50
    assert all(word.isalpha() and word.startswith("answer") for word in words)


@pytest.mark.parametrize("most", [1, 40, 300])
def test_a_page_has_its_uppermost_words_column_after_column(most: int) -> None:
    for seed in range(12):
        whole = placed_page(np.random.default_rng(seed), 10**6)
        found = placed_page(np.random.default_rng(seed), most)
        upper = sorted(range(len(whole.words)), key=lambda place: (whole.boxes[place][1], whole.columns[place]))[:most]
        assert found == Placed(*([side[place] for place in sorted(upper)] for side in whole))
        assert found.columns == sorted(found.columns)
