"""The symbols that a recogniser knows."""

from __future__ import annotations

import string
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

FOLDED = "".join(own for own in string.ascii_lowercase if own != "z") + string.digits  # the thesis's 35
RIGHT_TO_LEFT = ("R", "AL")


def nfc(text: str) -> str:
    """Returns a text in Unicode's form NFC: a letter and its accent are one symbol where there is one."""
    return unicodedata.normalize("NFC", text)


@dataclass(frozen=True)
class Alphabet:
    """Holds symbols; their numbers begin with 1, as 0 is blank.

    symbols: of one character each. folded: texts are read in small letters, and what is no symbol is left out, as
    punctuation is in the thesis's alphabet of 35. Raises ValueError for symbols that come twice, that are no
    characters, and for scripts that are written from right to left.
    """

    symbols: tuple[str, ...]
    folded: bool = False

    def __post_init__(self) -> None:
        if not self.symbols:
            raise ValueError("an alphabet needs a symbol at least")
        for place, own in enumerate(self.symbols):
            if len(own) != 1:
                raise ValueError(f"symbol {place} is {own!r}; give single characters")
            if own in self.symbols[:place]:
                raise ValueError(f"symbol {own!r} comes twice")
            if unicodedata.bidirectional(own) in RIGHT_TO_LEFT:
                raise ValueError(f"symbol {own!r} is written from right to left, which is not read here")

    @classmethod
    def alphanumeric(cls) -> Alphabet:
        """Returns the thesis's alphabet: small letters without z, and digits; capitals and punctuation are folded."""
        return cls(tuple(FOLDED), folded=True)

    @classmethod
    def of_texts(cls, texts: Iterable[str]) -> Alphabet:
        """Returns the characters of some texts, in order."""
        return cls(tuple(sorted({own for text in texts for own in nfc(text)})))

    def __len__(self) -> int:
        return len(self.symbols)

    def spelt(self, text: str) -> str:
        """Returns a text as the alphabet has it: in NFC, and folded where that is asked."""
        own = nfc(text)
        return "".join(letter for letter in own.lower() if letter in self.symbols) if self.folded else own

    def encode(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Returns the numbers of the symbols of each text. Raises ValueError, naming the first and counting all, for
        characters that are no symbols, and for a text of which nothing is left."""
        number = {own: place for place, own in enumerate(self.symbols, start=1)}
        spelt = [self.spelt(text) for text in texts]
        unknown = Counter(own for text in spelt for own in text if own not in number)
        if unknown:
            first = next(text for text in spelt if any(own in unknown for own in text))
            named = ", ".join(f"{own!r} ({count})" for own, count in sorted(unknown.items())[:8])
            raise ValueError(f"text {first!r} has characters that the alphabet has not; in all texts these are {named}")
        empty = next((place for place, text in enumerate(spelt) if not text), None)
        if empty is not None:
            raise ValueError(f"text {empty} ({texts[empty]!r}) has no symbol of the alphabet; leave it out")
        return [tuple(number[own] for own in text) for text in spelt]

    def decode(self, symbols: Iterable[int]) -> str:
        """Returns the text of some numbers."""
        return "".join(self.symbols[own - 1] for own in symbols)
