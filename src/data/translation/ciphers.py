"""`data=ciphers`: generated languages of known families, each a cipher of the same made-up English.

A test bed for what experts and adapters of tasks can gain. Every language writes with the words that English has, so a
word tells nothing of its language. It also takes the place of files of sentence pairs that are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

import numpy as np

from data.base import DataError, check_whole_numbers
from data.ranges import Count, Range, Seed
from data.source import Source
from data.text_pairs import PARTS, Pairs, TextPairs
from data.translation.directions import DIRECTIONS, check_choice, directed, tasks_into_english

SYLLABLES = tuple(first + last for first in "bdfgklmnprst" for last in "aeiou")  # the words of English
WORDS = len(SYLLABLES)
SHORTEST, LONGEST = 4, 8  # words of a sentence
FOLLOWERS = np.repeat(np.arange(6), np.arange(6, 0, -1))  # what may follow a word, as often as it does in 21
LOW, LEAST, MOST = 4, 4, 20_000  # a low-resource language has a quarter of the pairs; pairs at least and at most
MOST_LANGUAGES = 32
OWN_FORMS = 0x4E00  # where the characters begin that are words of disjoint surfaces
SURFACES = ("shared", "disjoint")
# What the generators of different draws under one seed are told apart by.
ENGLISH_TEXT, LEXICONS = range(2)

Words = tuple[int, ...]  # a sentence by the numbers of its words


def reversed_order(words: Words) -> Words:
    return words[::-1]


def swapped_neighbours(words: Words) -> Words:
    """Returns words 2, 1, 4, 3, …; the last of an odd number stays."""
    return tuple(word for i in range(0, len(words), 2) for word in words[i : i + 2][::-1])


ORDERS: tuple[Callable[[Words], Words], ...] = (reversed_order, swapped_neighbours)  # of each family


def english(count: int, generator: np.random.Generator) -> list[Words]:
    """Returns that many different sentences of 4 to 8 words from a Markov chain: each word has six that may follow it,
    in proportions 6 to 1."""
    after = np.stack([generator.permutation(WORDS)[:6] for _ in range(WORDS)])
    sentences: dict[Words, None] = {}
    while len(sentences) < count:
        steps = FOLLOWERS[generator.integers(len(FOLLOWERS), size=int(generator.integers(SHORTEST, LONGEST + 1)) - 1)]
        words = [int(generator.integers(WORDS))]
        for step in steps:
            words.append(int(after[words[-1], step]))
        sentences[tuple(words)] = None
    return list(sentences)


@dataclass(frozen=True)
class Cipher:
    """Translates sentences of English into one language.

    lexicon: for each word the number of the one that stands for it. order: the rule of the family. forms: how the
    language writes its words.
    """

    lexicon: np.ndarray
    order: Callable[[Words], Words]
    forms: Sequence[str]

    def __call__(self, words: Words) -> str:
        """Returns the translation."""
        return " ".join(self.forms[int(self.lexicon[word])] for word in self.order(words))


def draw_lexicons(count: int, shared: float, generator: np.random.Generator) -> list[np.ndarray]:
    """Returns the lexicons of a family, (word,) each: the same for a share of the words, and a permutation of each
    language's own for the others."""
    base, own = generator.permutation(WORDS), generator.permutation(WORDS)[round(shared * WORDS) :]
    lexicons = [base.copy() for _ in range(count)]
    for lexicon in lexicons:
        lexicon[own] = base[generator.permutation(own)]
    return lexicons


def forms_of(place: int, surfaces: str) -> Sequence[str]:
    """Returns how the language of a number writes its words: as English does, or each by a character of its own."""
    first = OWN_FORMS + place * WORDS
    return SYLLABLES if surfaces == "shared" else [chr(first + word) for word in range(WORDS)]


@dataclass(frozen=True, kw_only=True)
class Ciphers(Source):
    """Is the section `data=ciphers`: languages c1, c2, … that are ciphers of a made-up English of 60 words.

    families: languages belong to them by turns. Those of a family have the order of words in common (the first family
    turns a sentence round, the second swaps neighbours) and the lexicon of `shared` of the words.
    surfaces: with "shared" all languages write with the words of English, and only the meaning of a word tells them
    apart; with "disjoint" no word of a language is one of another's.
    pairs: for training in each language; the second half of the languages has a quarter of them. validation, test:
    pairs of every language. direction: see `data.translation.directions`.
    seed: draws the chain, its sentences and the lexicons. No sentence of English stands twice in all of the data.
    Raises DataError for parameters out of range.
    """

    languages: Annotated[int, Range(at_least=1, at_most=MOST_LANGUAGES)] = 8
    families: Annotated[int, Range(at_least=1, at_most=len(ORDERS))] = 2
    shared: Annotated[float, Range(at_least=0, at_most=1)] = 0.7
    surfaces: str = "shared"
    direction: str = "xe"
    pairs: Annotated[int, Range(at_least=LEAST, at_most=MOST)] = 600
    validation: Count = 100
    test: Count = 100
    seed: Seed = 0

    def load(self) -> TextPairs:
        """Returns the data. Raises DataError as the class says."""
        self.check()
        names = [f"c{i}" for i in range(1, self.languages + 1)]
        return directed(self.generate("ciphers", names, names[(len(names) + 1) // 2 :]), self.direction)

    def check(self) -> None:
        """Raises DataError for a parameter out of range."""
        check_whole_numbers("ciphers", {"seed": self.seed}, least=0)
        check_whole_numbers("ciphers", {"validation": self.validation, "test": self.test})
        for key, value, most in (
            ("languages", self.languages, MOST_LANGUAGES),
            ("families", self.families, len(ORDERS)),
        ):
            check_whole_numbers("ciphers", {key: value})
            if value > most:
                raise DataError(f"ciphers: {key}={value} is above {most}; lower it")
        check_whole_numbers("ciphers", {"pairs": self.pairs}, least=LEAST)
        if max(self.pairs, self.validation, self.test) > MOST:
            raise DataError(f"ciphers: pairs, validation and test may be {MOST} at most; lower them")
        if not 0 <= self.shared <= 1:
            raise DataError(f"ciphers: shared={self.shared} must lie from 0 to 1")
        check_choice("ciphers", "surfaces", self.surfaces, SURFACES)
        check_choice("ciphers", "direction", self.direction, DIRECTIONS)

    def generate(self, name: str, codes: Sequence[str], low: Sequence[str], *, stand_in: bool = False) -> TextPairs:
        """Returns the tasks from languages of these codes into English. low: those with a quarter of the pairs."""
        counts = {code: {"train": self.pairs // LOW if code in low else self.pairs} for code in codes}
        for own in counts.values():
            own |= {"validation": self.validation, "test": self.test}
        needed = sum(sum(own.values()) for own in counts.values())
        sentences = iter(english(needed, np.random.default_rng([self.seed, ENGLISH_TEXT])))
        ciphers = self.ciphers(len(codes))
        parts = {
            part: tuple(translated(islice(sentences, counts[code][part]), ciphers[i]) for i, code in enumerate(codes))
            for part in PARTS
        }
        families = {code: f"family {i % self.families + 1}" for i, code in enumerate(codes)}
        source = "stand-in" if stand_in else "simulated"
        return TextPairs(name, tasks_into_english(codes), parts, source, stand_in=stand_in, families=families)

    def ciphers(self, count: int) -> list[Cipher]:
        """Returns the cipher of each of that many languages."""
        generator = np.random.default_rng([self.seed, LEXICONS])
        lexicons = [draw_lexicons(count, self.shared, generator) for _ in range(self.families)]
        return [
            Cipher(lexicons[i % self.families][i], ORDERS[i % self.families], forms_of(i, self.surfaces))
            for i in range(count)
        ]


def translated(sentences: Iterator[Words], cipher: Cipher) -> Pairs:
    """Returns the pairs of a language, (its text, English)."""
    return tuple((cipher(words), " ".join(SYLLABLES[word] for word in words)) for words in sentences)
