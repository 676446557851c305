"""Byte-level pieces: every text comes back, tags are numbers alone, and training is repeatable."""

from __future__ import annotations

import pickle
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.sequence import vocabulary
from models.sequence.vocabulary import BEGIN, END, PAD, Vocabulary

TEXTS = [
    f"the {colour} {thing} is {size}"
    for colour in ("red", "blue")
    for thing in ("house", "mouse")
    for size in ("small", "large")
]
TAGS = ("<2en>", "<2de>")
PIECES = 256 + 4 + 2 + 10
MADE = Vocabulary.train(TEXTS, pieces=PIECES, tags=TAGS)
SPACED = Vocabulary.train(TEXTS, pieces=PIECES, tags=TAGS, prefix_space=True)


@settings(max_examples=60, deadline=None)
@given(st.text())
def test_every_text_comes_back(text: str) -> None:
    text = text.encode("utf-8", "ignore").decode()  # half of a surrogate pair is no text
    for own in (MADE, SPACED):
        assert own.decode(own.encode([text])) == [text]


@pytest.mark.parametrize(
    "text", ["", " ", "  ", " house", "  red  house ", "\n house", "\thouse", "房子", " 房子 房子"]
)
def test_a_text_comes_back_whatever_it_begins_with(text: str) -> None:
    read = Vocabulary.from_json(SPACED.to_json())
    assert (SPACED.decode(SPACED.encode([text])), read.decode(SPACED.encode([text]))) == ([text], [text])


def test_a_word_has_the_same_pieces_first_and_later_with_a_space_in_front() -> None:
    for own, same in ((MADE, False), (SPACED, True)):
        first, second, both = (each.tolist() for each in own.encode(["house", "red", "red house"]))
        assert (both == second + first) == same
    assert [len(each) for each in SPACED.encode(["", " "])] == [0, 2]


def test_a_piece_that_is_written_first_without_a_space_keeps_its_letters() -> None:
    later = SPACED.encode(["x"])[0][1:]
    assert SPACED.decode([later.tolist(), []]) == ["x", ""]


def test_numbers_begin_with_signs_and_tags() -> None:
    assert MADE.size == PIECES
    assert [MADE.tag(name) for name in TAGS] == [4, 5]
    (own,) = MADE.encode(["the house"])
    assert own.min() >= 6
    assert own.max() < MADE.size
    assert len(own) < len("the house")
    assert MADE.decode([[BEGIN, 4, *own.tolist(), END, PAD]]) == ["the house"]
    assert [len(each) for each in MADE.encode(["", "x"])] == [0, 1]


def test_a_tag_that_is_typed_is_ordinary_text() -> None:
    (own,) = MADE.encode(["<2de> the house"])
    assert MADE.tag("<2de>") not in own.tolist()
    assert MADE.decode([own.tolist()]) == ["<2de> the house"]


def test_training_is_repeatable_and_json_keeps_all() -> None:
    assert Vocabulary.train(TEXTS, pieces=PIECES, tags=TAGS).to_json() == MADE.to_json()
    for other in (Vocabulary.from_json(MADE.to_json()), pickle.loads(pickle.dumps(MADE))):  # noqa: S301
        assert other.tags == TAGS
        assert other.to_json() == MADE.to_json()
        assert other.digest == MADE.digest
        assert other.encode(["the mouse"])[0].tolist() == MADE.encode(["the mouse"])[0].tolist()
    assert Vocabulary.train(TEXTS, pieces=PIECES, tags=("<2en>", "<2fr>")).digest != MADE.digest


def test_bytes_that_are_no_text_are_marked() -> None:
    first = MADE.encode(["é"])[0][:1].tolist()
    assert MADE.decode([first]) == ["�"]


def test_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"at least 262, for 256 bytes and 4 signs \(.*\) and 2 tags that stand"):
        Vocabulary.train(TEXTS, pieces=261, tags=TAGS)
    with pytest.raises(ValueError, match=r"^the texts allow 260 to \d+ pieces, and 4000 were asked for$") as refused:
        Vocabulary.train(TEXTS, pieces=4000)
    for told in re.findall(r"\d+", str(refused.value))[:2]:
        assert Vocabulary.train(TEXTS, pieces=int(told)).size == int(told)
    with pytest.raises(ValueError, match=r"tag '<2en>' is named twice"):
        Vocabulary.train(TEXTS, pieces=300, tags=("<2en>", "<2de>", "<2en>"))
    with pytest.raises(ValueError, match=r"there is no tag '<2fr>'; there are <2en>, <2de>"):
        MADE.tag("<2fr>")
    for text in ("no JSON", "{}", "[1]"):
        with pytest.raises(ValueError, match=r"this text is no vocabulary; give what Vocabulary.to_json wrote"):
            Vocabulary.from_json(text)
    monkeypatch.setattr(vocabulary, "find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r"a vocabulary of pieces needs tokenizers; install it with: pip install"):
        Vocabulary.train(TEXTS, pieces=300)
