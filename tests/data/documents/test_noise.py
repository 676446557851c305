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
            here = slice(first, first + len(line))
            assert sorted(after.words[here]) == sorted(before.words[i] for i in line)
            first += len(line)
        for cue, moved in zip(before.cues, after.cues, strict=True):
            assert [before.words[i] for i in cue] == [after.words[i] for i in moved]
            assert [before.tags[i] for i in cue] == [after.tags[i] for i in moved]
            assert np.array_equal(before.boxes[cue], after.boxes[moved])


def test_the_cue_of_a_label_goes_with_its_word() -> None:
    late = SyntheticDocuments(train=1, validation=1, test=1, words=80, values=3, cue="late", late_after=40).load()
    for _, own in read_badly(late, jitter=0, shuffle=True, seed=0).all():
        ((asked, told),) = own.cues.tolist()
        assert (asked, own.words[told]) == (NO_WORD, answer(int(own.label or 0)))


def line_of(tags: tuple[str, ...], pages: list[int], made: Documents) -> Document:
    """Returns a document of one line a page, with these tags."""
    count = len(tags)
    boxes = np.tile(np.array([1, 1, 2, 2], np.float32), (count, 1)) + np.arange(count, dtype=np.float32)[:, None]
    sizes = made.parts["test"][0].sizes[:1] * 2
    return Document("x", tuple("abcdefghijkl"[:count]), boxes, np.array(pages, np.int16), sizes, None, tags)


def shuffled_by(seed: int, own: Document, made: Documents) -> Document:
    """Returns a document as it is read with its lines out of order."""
    data = Documents("x", {**made.parts, "test": (own,)}, "x")
    return read_badly(data, jitter=0, shuffle=True, seed=seed).parts["test"][0]


def test_words_stay_on_their_pages_where_an_entity_runs_over_two(made: Documents) -> None:
    own = line_of(("O", "O", "O", "B-a", "I-a", "I-a", "O", "O", "O"), [0] * 5 + [1] * 4, made)
    assert [line.tolist() for line in lines_of(own)] == [[0, 1, 2, 3, 4], [5, 6, 7, 8]]
    for seed in range(5):
        found = shuffled_by(seed, own, made)
        assert [set(found.words[:5]), set(found.words[5:])] == [set("abcde"), set("fghi")]
        assert found.pages.tolist() == own.pages.tolist()


def test_the_order_of_words_does_not_tell_where_entities_are(made: Documents) -> None:
    tagged = line_of(("B-a", "I-a", "I-a", "I-a", "O", "O", "B-b", "I-b", "O", "B-b", "I-b", "I-b"), [0] * 12, made)
    for seed in range(5):
        words = [shuffled_by(seed, own, made).words for own in (tagged, tagged._replace(tags=("O",) * 12))]
        assert words[0] == words[1] != tagged.words


def test_an_entity_that_is_cut_begins_anew(made: Documents) -> None:
    own = line_of(("B-a", "I-a", "I-a", "O", "O", "B-b"), [0] * 6, made)
    kinds = {word: tag[2:] for word, tag in zip(own.words, own.tags, strict=True)}
    for seed in range(20):
        found = shuffled_by(seed, own, made)
        pairs = zip((" ", *found.words), found.words, strict=False)
        goes_on = [own.tags[ord(after) - 97][:1] == "I" and ord(before) == ord(after) - 1 for before, after in pairs]
        named = [f"{'I' if on else 'B'}-{kinds[word]}" for on, word in zip(goes_on, found.words, strict=True)]
        assert found.tags == tuple(tag if kinds[word] else "O" for tag, word in zip(named, found.words, strict=True))
