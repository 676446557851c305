"""Generated languages: sizes, what families have in common, order of words, surfaces, what is refused."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import pytest

from data.base import DataError
from data.text_pairs import Task, TextPairs
from data.translation.ciphers import SYLLABLES, Ciphers

SMALL: dict[str, Any] = {"pairs": 200, "validation": 20, "test": 20}
REORDERED = (
    lambda words: words[::-1],
    lambda words: [words[j] for i in range(0, len(words), 2) for j in (i + 1, i) if j < len(words)],
)


def lexicon(data: TextPairs, language: str) -> dict[str, str]:
    """Reads the lexicon off the pairs; fails where a word has two translations."""
    found: dict[str, str] = {}
    order = REORDERED[int(data.families[language][-1]) - 1]
    for part in data.parts:
        for text, english in data.pairs(part, Task(language, "en")):
            words = order(text.split())
            for word, translation in zip(english.split(), words, strict=True):
                assert found.setdefault(word, translation) == translation
    return found


def test_half_of_the_languages_have_a_quarter_of_the_pairs() -> None:
    sizes = Ciphers().load().sizes()
    assert [row["task"] for row in sizes] == [f"c{i}-en" for i in range(1, 9)]
    assert [row["train"] for row in sizes] == [600] * 4 + [150] * 4
    assert {(row["validation"], row["test"], row["removed"]) for row in sizes} == {(100, 100, 0)}


def test_english_is_of_sixty_words_and_no_sentence_stands_twice() -> None:
    data = Ciphers().load()
    english = [pair[1] for part in data.parts.values() for pairs in part for pair in pairs]
    lengths = {len(text.split()) for text in english}
    assert len(set(english)) == len(english)
    assert (lengths, {word for text in english for word in text.split()}) == ({4, 5, 6, 7, 8}, set(SYLLABLES))
    assert len(set(SYLLABLES)) == 60
    words = [text.split() for text in english]
    assert len({pair for text in words for pair in pairwise(text)}) == 60 * 6


@pytest.mark.parametrize("families", [1, 2])
def test_a_family_shares_its_order_and_seven_tenths_of_its_lexicon(families: int) -> None:
    data = Ciphers(families=families, languages=6).load()
    lexicons = {language: lexicon(data, language) for language in data.families}
    assert list(data.families.values()) == [f"family {i % families + 1}" for i in range(6)]
    for one, other in combinations(lexicons, 2):
        agreed = sum(lexicons[one][word] == lexicons[other].get(word) for word in lexicons[one])
        related = data.families[one] == data.families[other]
        assert (42 <= agreed < 52) if related else (agreed < 12)
    for own in lexicons.values():
        assert (set(own), len(set(own.values()))) == (set(SYLLABLES), 60)
        assert set(own.values()) == set(SYLLABLES)  # the same surfaces


def test_disjoint_surfaces_have_no_word_in_common() -> None:
    data = Ciphers(surfaces="disjoint", **SMALL).load()
    forms = [set(lexicon(data, language).values()) for language in data.families]
    assert sum(map(len, forms)) + 60 == len(set(SYLLABLES).union(*forms))
    shared = Ciphers(**SMALL).load()
    assert [pair[1] for pair in shared.parts["train"][0]] == [pair[1] for pair in data.parts["train"][0]]


def test_a_whole_lexicon_may_be_shared_or_none() -> None:
    same = Ciphers(shared=1.0, families=1, languages=2, **SMALL).load()
    assert lexicon(same, "c1") == lexicon(same, "c2")
    apart = Ciphers(shared=0.0, families=1, languages=2, **SMALL).load()
    first, second = lexicon(apart, "c1"), lexicon(apart, "c2")
    assert sum(first[word] == second.get(word) for word in first) < 12


def test_equal_seeds_give_equal_data() -> None:
    sums = [Ciphers(seed=seed, **SMALL).load().checksum for seed in (1, 1, 2)]
    assert sums[0] == sums[1] != sums[2]


def test_the_other_direction_is_of_the_same_pairs() -> None:
    into, out, both = (Ciphers(direction=direction, languages=3, **SMALL).load() for direction in ("xe", "ex", "both"))
    assert [task.name for task in both.tasks] == ["c1-en", "c2-en", "c3-en", "en-c1", "en-c2", "en-c3"]
    assert (both.tasks[:3], both.tasks[3:]) == (into.tasks, out.tasks)
    for part in both.parts:
        assert both.parts[part] == into.parts[part] + out.parts[part]
        assert [pair[::-1] for pair in out.parts[part][1]] == list(into.parts[part][1])


def test_the_data_is_a_set_of_its_own() -> None:
    data = Ciphers(languages=1, families=2, pairs=4, validation=1, test=1).load()
    assert (data.name, data.source, data.stand_in, len(data.tasks)) == ("ciphers", "simulated", False, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"languages": 33}, r"ciphers: languages=33 is above 32; lower it"),
        ({"families": 3}, r"ciphers: families=3 is above 2; lower it"),
        ({"families": 0}, r"^ciphers: families must be a whole number of at least 1, got 0"),
        ({"shared": 1.5}, r"ciphers: shared=1\.5 must lie from 0 to 1"),
        ({"shared": float("nan")}, r"ciphers: shared=nan must lie from 0 to 1"),
        ({"pairs": 3}, r"^ciphers: pairs must be a whole number of at least 4, got 3"),
        ({"test": 20_001}, r"^ciphers: pairs, validation and test may be 20000 at most"),
        ({"surfaces": "own"}, r"ciphers: surfaces=own is unknown; choose one of shared, disjoint"),
        ({"direction": "ee"}, r"ciphers: direction=ee is unknown; choose one of xe, ex, both"),
        ({"seed": -1}, r"ciphers: seed must be a whole number of at least 0"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message) -> None:
    with pytest.raises(DataError, match=message):
        Ciphers(**settings).load()
