"""Letters cut out of words: found between gaps, sieved by their looks, composed to words; words by their tf-idf."""

from __future__ import annotations

import math

import numpy as np
import pytest

from data.base import DataError
from data.forms import dhsd
from data.forms.alignment import Spans, align, best_cuts, learned_widths, letter_widths
from data.forms.composed_words import ComposedWords, images_of
from data.forms.glyphs import BODY, Alphabet, Glyph, agreeing, body_of
from data.forms.hand import stand_in_words
from data.forms.tf_idf import highest, words_in
from data.word_images import PARTS, HandwrittenWords, WordImages

WIDTHS = {"a": 8, "i": 3, "m": 15}
BASE, TOP = 40, 22


def drawn(text: str, gap: int = 3, shade: int = 40) -> np.ndarray:
    """Letters as a bar with legs, as wide as `WIDTHS` says; those of m reach below the base line."""
    image = np.full((64, 12 + sum(WIDTHS[letter] + gap for letter in text)), 255, np.uint8)
    x = 6
    for letter in text:
        image[TOP : BASE + (6 if letter == "m" else 0), x : x + WIDTHS[letter]] = shade
        for left in range(x + 3, x + WIDTHS[letter] - 2, 6):
            image[TOP + 4 :, left : left + 3] = 255
        x += WIDTHS[letter] + gap
    return image


def edges_of(text: str, gap: int = 3) -> list[tuple[int, int]]:
    starts = 6 + np.concatenate([[0], np.cumsum([WIDTHS[letter] + gap for letter in text])])[:-1]
    return [(int(begin), int(begin) + WIDTHS[letter]) for begin, letter in zip(starts, text, strict=True)]


@pytest.fixture(scope="module")
def words() -> WordImages:
    generator = np.random.default_rng(0)
    texts = ["".join(generator.choice(list("aim"), 2 + i % 5)) for i in range(60)]
    return WordImages.of([drawn(text) for text in texts], texts, [f"w{i % 3}" for i in range(60)])


def test_letters_stand_where_they_were_drawn(words: WordImages) -> None:
    widths, found = learned_widths(words)
    assert widths["i"] < widths["a"] < widths["m"]
    for text, own in zip(words.texts, found, strict=True):
        assert own is not None
        for (begin, end), left, right in zip(edges_of(text), own.edges, own.edges[1:], strict=False):
            assert begin - 3 <= left <= begin
            assert end <= right <= end + 3
        assert (own.sure > 0.5).mean() > 0.5


def test_a_word_that_is_too_narrow_or_without_ink_is_not_aligned() -> None:
    assert align(drawn("i"), "aaa", {}) is None
    assert align(np.full((9, 9), 255, np.uint8), "a", {}) is None
    assert align(drawn("am", gap=0), "am", {"a": 8.0, "m": 15.0}) is not None


def test_cuts_cost_least_of_all() -> None:
    generator = np.random.default_rng(1)
    expected, height = np.array([4.0, 6.0, 5.0]), np.append(generator.random(15), 0.0)
    found = best_cuts(expected, height)
    assert found is not None

    def cost(edges: tuple[int, ...]) -> float:
        lengths = np.diff(edges)
        return float(
            np.square((lengths - expected) / (0.35 * expected + 1)).sum() + 2 * height[list(edges[1:-1])].sum()
        )

    every = [(0, i, j, 15) for i in range(1, 15) for j in range(i + 1, 15)]
    allowed = [own for own in every if (np.diff(own) >= 1).all() and (np.diff(own) <= 2.2 * expected + 2).all()]
    assert cost(tuple(found.tolist())) == pytest.approx(min(map(cost, allowed)))
    assert best_cuts(np.array([2.0]), np.zeros(30)) is None


def test_widths_come_from_the_widths_of_words(words: WordImages) -> None:
    widths = letter_widths(words)
    assert widths["m"] / widths["a"] == pytest.approx(18 / 11, rel=0.1)


def test_glyphs_keep_size_and_place_and_compose_words(words: WordImages) -> None:
    spans = [Spans(np.array([own[0] for own in edges_of(text)] + [edges_of(text)[-1][1]]), np.ones(len(text)))
             for text in words.texts]  # fmt: skip
    alphabet = Alphabet.of(words, spans)
    assert alphabet.sure == 1
    assert alphabet.letters(10) == {"a", "i", "m"}
    assert alphabet.letters(1000) == frozenset()
    top, base = body_of(drawn("aia"))
    assert (top, base) == (TOP, BASE)
    below = {letter: {glyph.below for glyph in own} for letter, own in alphabet.glyphs.items()}
    assert 0 in below["a"]
    assert max(below["m"]) >= 5
    word = alphabet.write("mia", np.random.default_rng(0))
    assert word.dtype == np.uint8
    assert word.shape[0] >= BODY
    assert word[0].min() == 255
    assert word.min() < 130
    np.testing.assert_array_equal(word, alphabet.write("mia", np.random.default_rng(0)))
    assert len({glyph.writer for glyph in alphabet.chosen("maiam", np.random.default_rng(3))}) == 1
    with pytest.raises(DataError, match="'max' cannot be composed: no glyph of 'x' was cut"):
        alphabet.write("max", np.random.default_rng(0))
    images = images_of(alphabet, ("aim", "mai"), 2, [0, 0])
    assert images.texts == ("aim", "aim", "mai", "mai")
    assert len(set(images.digests)) == 4


def test_a_glyph_that_looks_like_other_letters_is_left_out() -> None:
    shapes = {letter: np.zeros((18, 18), np.uint8) for letter in "lo-"}
    shapes["l"][:, 8:10] = shapes["-"][8:10] = shapes["o"][[0, 1, 16, 17]] = shapes["o"][:, [0, 1, 16, 17]] = 255
    glyphs = {letter: [Glyph(layer, 0, "", 1.0)] * 10 for letter, layer in shapes.items()}
    strange = Glyph(shapes["l"], 0, "", 0.9)
    glyphs["o"] = [*glyphs["o"], strange]
    kept = agreeing(glyphs)
    assert [len(kept[letter]) for letter in "l-"] == [10, 10]
    assert all(glyph.sure == 1 for glyph in kept["l"])


def test_words_are_scored_by_tf_idf() -> None:
    assert words_in(["The,", "the", "A", "x1y", "Straße."]) == {"the": 2, "straße": 1}
    documents = [["cat", "cat", "dog"], ["dog", "fox"], ["dog", "owl", "cat"]]
    scores = {"cat": (2 / 3 + 1 / 3) * math.log(1.5), "fox": 0.5 * math.log(3), "owl": math.log(3) / 3, "dog": 0.0}
    best = sorted(sorted(scores, key=lambda word: -scores[word])[:2])
    assert highest(documents, frozenset("catdogfxwl"), 2) == tuple(best) == ("cat", "fox")
    assert highest(documents, frozenset("dogfx"), 5) == ("dog", "fox")


def test_words_of_a_list_that_stand_in_are_the_same_in_every_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dhsd, "stand_in_words", lambda *, seed: stand_in_words(seed=seed, hands=10, each=4))
    data = ComposedWords(source="stand_in", words=8, each=3, each_held=1).load()
    assert data.stand_in
    assert data.unseen == 0
    assert [row["images"] for row in data.sizes()] == [24, 8, 8]
    with pytest.raises(DataError, match=r"^composed_words: source=some is unknown"):
        ComposedWords(source="some").load()


def test_words_are_composed_of_the_letters_of_their_own_part(
    words: WordImages, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.arange(60).reshape(3, 20)
    parts = {part: WordImages.of([drawn(words.texts[i], shade=40 + place) for i in own], [words.texts[i] for i in own])
             for place, (part, own) in enumerate(zip(PARTS, rows, strict=True))}  # fmt: skip
    monkeypatch.setattr("data.forms.composed_words.LEAST_EXAMPLES", 2)
    real = HandwrittenWords("own", parts, "made")
    data = ComposedWords(words=2).composed(real, [("mai", "aim"), ("mama",)], dict.fromkeys(PARTS, 2))
    assert {text for part in data.parts.values() for text in part.texts} == {"aim", "mama"}
    assert data.counts["vocabulary"] == 2
    with pytest.raises(DataError, match="no word can be written by the letters that were cut"):
        ComposedWords().composed(real, [("xyz",)], dict.fromkeys(PARTS, 1))
