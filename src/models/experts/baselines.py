"""What a translator has to beat on one task: copies, and the translation of the most similar sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.feature_extraction.text import TfidfVectorizer


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
            raise ValueError("there are no pairs to look translations up in")
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
