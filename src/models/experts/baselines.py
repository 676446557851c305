"""What a translator has to beat on one task: copies, the most similar sentence's translation, a dictionary's words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

WORD = re.compile(r"[^\s.,;:!?\"()।]+|[.,;:!?\"()।]")  # or a mark
SPACE = re.compile(r" (?=[.,;:!?)।])")  # before a mark
NO_PAIRS = "there are no pairs to look translations up in"


def copied(texts: Sequence[str]) -> list[str]:
    """Returns the texts as they are, for translations."""
    return list(texts)


class NearestSentence:
    """Translates a text by the translation of the training text that is most similar to it.

    Similarity is the cosine of TF-IDF weights of words in small letters. Of equally similar texts the first is taken,
    also where no word is known.

    pairs: texts and their translations. Raises ValueError without pairs, and where no text holds a word.
    """

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        if not pairs:
            raise ValueError(NO_PAIRS)
        self.translations = [translation for _, translation in pairs]
        self.words = TfidfVectorizer(token_pattern=r"\S+")  # noqa: S106
        self.known: Any = self.words.fit_transform([text for text, _ in pairs])

    def translate(self, texts: Sequence[str], *, rows: int = 256) -> list[str]:
        """Returns the translation of each text, in their order; so many are compared at a time."""
        found = list[str]()
        for first in range(0, len(texts), rows):
            similar = self.words.transform(texts[first : first + rows]) @ self.known.T
            found += [self.translations[place] for place in similar.toarray().argmax(1)]
        return found


class WordDictionary:
    """Translates word by word, in the order of the text: each by the word that goes with it most in the training pairs.

    Words e and f go together as Dice's coefficient says, 2 n(e, f) / (n(e) + n(f)), with n the pairs that hold them.
    Small and large letters are one in texts, and two in translations. Of words that go equally well the first of the
    alphabet is taken. A word that was not met stays as it is.

    pairs: texts and their translations. Raises ValueError without pairs, and where no text holds a word.
    """

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        if not pairs:
            raise ValueError(NO_PAIRS)
        sides = [CountVectorizer(token_pattern=WORD.pattern, lowercase=small, binary=True)
                 for small in (True, False)]  # fmt: skip
        counts: list[Any] = [
            own.fit_transform(texts) for own, texts in zip(sides, zip(*pairs, strict=True), strict=True)
        ]
        words, translations = (own.get_feature_names_out() for own in sides)
        together = (counts[0].T @ counts[1]).tocoo()
        alone = [np.asarray(own.sum(0)).ravel() for own in counts]
        dice = 2 * together.data / (alone[0][together.row] + alone[1][together.col])
        order = np.lexsort((together.col, -dice, together.row))
        row, first = np.unique(together.row[order], return_index=True)
        self.translations = dict(zip(words[row], translations[together.col[order[first]]], strict=True))

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Returns the translation of each text, in their order."""
        found = [[self.translations.get(word.lower(), word) for word in WORD.findall(text)] for text in texts]
        return [SPACE.sub("", " ".join(words)) for words in found]
