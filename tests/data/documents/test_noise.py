"""Documents with moved boxes and shuffled lines."""

from __future__ import annotations

import numpy as np
import pytest

from data.documents.generator import SyntheticDocuments, answer
from data.documents.noise import lines_of, read_badly
from data.pages import NO_WORD, Document, Documents


@pytest.fixture(scope="module")
def made() -> Documents:
    return SyntheticDocuments(train=2, validation=1, test=1, words=80, questions=4, values=3).load()


def test_nothing_is_changed_where_nothing_is_asked(made: Documents) -> None:
    assert read_badly(made, jitter=0, shuffle=False, seed=0) is made


def test_boxes_move_by_whole_units_within_their_pages_and_words_stay(made: Documents) -> None:
    found = read_badly(made, jitter=3, shuffle=False, seed=0)
    for (_, before), (_, after) in zip(made.all(), found.all(), strict=True):
        steps = after.boxes - before.boxes
        assert after.words == before.words
        assert np.allclose(steps[:, :2], steps[:, 2:], atol=1e-3)
        assert 0 < np.abs(steps).max() < 3.001
    again = read_badly(made, jitter=3, shuffle=False, seed=0)
    assert (again.checksum, found.checksum != made.checksum) == (found.checksum, True)


def test_words_of_a_line_change_places_with_boxes_tags_and_cues(made: Documents) -> None:
    found = read_badly(made, jitter=0, shuffle=True, seed=0)
    for (_, before), (_, after) in zip(made.all(), found.all(), strict=True):
        assert after.words != before.words
        first = 0
        for line in lines_of(before):
            places = np.concatenate(line)
            here = slice(first, first + len(places))
            assert sorted(after.words[here]) == sorted(before.words[i] for i in places)
            first += len(places)
        for cue, moved in zip(before.cues, after.cues, strict=True):
            assert [before.words[i] for i in cue] == [after.words[i] for i in moved]
            assert [before.tags[i] for i in cue] == [after.tags[i] for i in moved]
            assert np.array_equal(before.boxes[cue], after.boxes[moved])


def test_the_cue_of_a_label_goes_with_its_word() -> None:
    late = SyntheticDocuments(train=1, validation=1, test=1, words=80, values=3, cue="late", late_after=40).load()
    for _, own in read_badly(late, jitter=0, shuffle=True, seed=0).all():
        ((asked, told),) = own.cues.tolist()
        assert (asked, own.words[told]) == (NO_WORD, answer(int(own.label or 0)))


def test_words_stay_on_their_pages_where_an_entity_runs_over_two(made: Documents) -> None:
    document = made.parts["test"][0]
    boxes = np.tile(np.float32([1, 1, 2, 2]), (9, 1)) + np.arange(9, dtype=np.float32)[:, None]
    pages = np.array([0] * 5 + [1] * 4, np.int16)
    tags = ("O", "O", "O", "B-a", "I-a", "I-a", "O", "O", "O")
    own = Document("x", tuple("abcdefghi"), boxes, pages, document.sizes[:1] * 2, None, tags)
    data = Documents("x", {**made.parts, "test": (own,)}, "x")
    assert [len(line) for line in lines_of(own)] == [3, 1, 3]
    for seed in range(5):
        found = read_badly(data, jitter=0, shuffle=True, seed=seed).parts["test"][0]
        assert [set(found.words[:3]), found.words[3:6], set(found.words[6:])] == [set("abc"), tuple("def"), set("ghi")]
        assert found.pages.tolist() == pages.tolist()


def test_an_entity_stays_together(made: Documents) -> None:
    document = made.parts["test"][0]
    tags = ("B-a", "I-a", "I-a", *["O"] * (len(document.words) - 3))
    found = read_badly(
        Documents("x", {**made.parts, "test": (document._replace(tags=tags),)}, "x"), jitter=0, shuffle=True, seed=1
    ).parts["test"][0]
    first = found.tags.index("B-a")
    assert found.tags[first : first + 3] == tags[:3]
    assert found.words[first : first + 3] == document.words[:3]
