"""`data=composed_words`: words of a list, composed of letters that were cut out of DHSD: for models that know a list.

Some letters are cut at a wrong place or called by a wrong name, so even a perfect reader makes mistakes here; the count
`sure_PART` of the data says how sure the cuts were.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from data.base import DataError, check_whole_numbers
from data.forms.dhsd import Dhsd
from data.forms.glyphs import LEAST_EXAMPLES, Alphabet
from data.forms.hand import write_words
from data.forms.parts import check_writers
from data.forms.tf_idf import documents_of, highest
from data.ranges import Count, Seed
from data.source import Source
from data.word_images import PARTS, HandwrittenWords, WordImages

NAME = "composed_words"
SOURCES = ("auto", "real", "stand_in")
LEAST_HELD = 3  # glyphs of a letter in validation and test part
STAND_IN_HANDS = 12


def images_of(alphabet: Alphabet, vocabulary: tuple[str, ...], each: int, seed: list[int]) -> WordImages:
    """Returns `each` images of each word."""
    texts = [word for word in vocabulary for _ in range(each)]
    images = [alphabet.write(text, np.random.default_rng([*seed, number])) for number, text in enumerate(texts)]
    return WordImages.of(images, texts)


def written_parts(words: HandwrittenWords, count: int, each: Mapping[str, int], seed: int) -> dict[str, WordImages]:
    """Returns words of made-up names by the stand-in hand, other hands in each part."""
    vocabulary = tuple(sorted({text for own in words.parts.values() for text in own.texts}))[:count]
    parts = dict[str, WordImages]()
    for place, part in enumerate(PARTS):
        texts = [word for word in vocabulary for _ in range(each[part])]
        writers = [place * STAND_IN_HANDS + i % STAND_IN_HANDS for i in range(len(texts))]
        own = write_words(texts, writers, seed=seed)
        parts[part] = WordImages(own.pixels, own.shapes, own.texts)
    return parts


@dataclass(frozen=True, kw_only=True)
class ComposedWords(Source):
    """Composes words of a list from letters that were cut out of real words.

    words: how many; those of highest tf-idf in Kleister-NDA and FUNSD that the letters of every part can write. each,
    each_held: images of each word in the training part, and in validation and test part. Letters of a part make words
    of that part alone. writers: as in `data.forms.dhsd.Dhsd`.
    source: "auto" takes the files that are there, "real" needs them, "stand_in" has the stand-in hand write words of
    made-up names. root: the folder that holds `dhsd/`, `kleister_nda/` and `funsd/`.
    Raises DataError for a setting out of range, and for files that are damaged, or missing with source=real.
    """

    words: Count = 998
    each: Count = 10
    each_held: Count = 2
    writers: str = "shared"
    seed: Seed = 0
    source: str = "auto"
    root: str | None = None

    def load(self) -> HandwrittenWords:
        """Returns the data. Raises DataError as the class says."""
        check_writers(NAME, self.writers)
        check_whole_numbers(NAME, {"words": self.words, "each": self.each, "each_held": self.each_held})
        if self.source not in SOURCES:
            raise DataError(f"{NAME}: source={self.source} is unknown; choose one of {', '.join(SOURCES)}")
        source = "published" if self.source == "real" else self.source
        real = Dhsd(root=self.root, source=source, writers=self.writers, vocabulary="parts", seed=self.seed).load()
        documents = documents_of(self.root, source="stand_in" if real.stand_in else source)
        each = {"train": self.each, "validation": self.each_held, "test": self.each_held}
        if real.stand_in or not documents:
            parts = written_parts(real, self.words, each, self.seed)
            return HandwrittenWords(NAME, parts, "stand-in", stand_in=True)
        return self.composed(real, documents, each)

    def composed(
        self, real: HandwrittenWords, documents: list[tuple[str, ...]], each: Mapping[str, int]
    ) -> HandwrittenWords:
        """Returns words that are composed of the letters of real ones."""
        alphabets = {part: Alphabet.of(own) for part, own in real.parts.items()}
        letters = [own.letters(LEAST_EXAMPLES if part == "train" else LEAST_HELD) for part, own in alphabets.items()]
        vocabulary = highest(documents, frozenset.intersection(*letters), self.words)
        if not vocabulary:
            raise DataError(f"{NAME}: no word can be written by the letters that were cut; take another seed")
        parts = {
            part: images_of(alphabets[part], vocabulary, each[part], [self.seed, place])
            for place, part in enumerate(PARTS)
        }
        counts = {f"sure_{part}": own.sure for part, own in alphabets.items()}
        return HandwrittenWords(NAME, parts, "composed", counts={**counts, "vocabulary": len(vocabulary)})
