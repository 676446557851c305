"""Reading of frames with a language model of characters beside what the ink says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Self

import numpy as np
from torch import Tensor

from models.forms.recognise.alphabet import Alphabet
from models.ranges import Count, NotNegative, Range
from models.runtime.parameters import not_negative, number, whole_number
from models.sequence.ctc import BLANK, DecodedSymbols
from models.sequence.ngrams import NGrams
from models.sequence.prefix_beam import Prefix, prefix_beam

MOST_ORDER = 20
PREFIXES = 4000  # whose rates are kept
REACH = 9.0  # nats beneath the most probable symbol of a frame, within which symbols are tried


@dataclass(frozen=True, kw_only=True)
class Language:
    """Says how texts are read: as the y of largest ln p(y | ink) + weight ln p(y) + bonus |y| that a beam finds.

    order: of the language model, so many characters with the one that is said. weight: of its ln p. bonus: for each
    character, in nats, as the language model alone favours short texts. beam: texts that are followed at once. texts:
    what p(y) is counted in, kept with the model; None to take the training texts by `of`. Raises TypeError and
    ValueError for others.
    """

    order: Annotated[int, Range(at_least=1, at_most=MOST_ORDER)] = 6
    weight: NotNegative = 0.5
    bonus: float = 1.0
    beam: Count = 10
    texts: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        whole_number("order", self.order, most=MOST_ORDER)
        whole_number("beam", self.beam)
        not_negative("weight", self.weight)
        number("bonus", self.bonus, above=-math.inf)
        if self.texts is not None:
            object.__setattr__(self, "texts", checked(self.texts))

    def of(self, texts: Sequence[str], alphabet: Alphabet) -> Self:
        """Returns the same with these texts, as the alphabet spells them, where it has none."""
        return self if self.texts is not None else replace(self, texts=tuple(map(alphabet.spelt, texts)))

    def reader(self, alphabet: Alphabet) -> LanguageReader:
        """Returns what reads frames, as `models.sequence.ctc.best_paths` takes and gives them. Raises ValueError
        without texts, and for one that the alphabet cannot write."""
        return LanguageReader(self, alphabet)


class LanguageReader:
    """Reads frames as `Language.reader` says. A copy of it counts the texts again."""

    def __init__(self, language: Language, alphabet: Alphabet) -> None:
        if not language.texts:
            raise ValueError("the language model has no text; give texts, or take those of training by `prepared`")
        self.language, self.alphabet = language, alphabet
        self.model = NGrams(encoded(language.texts, alphabet), symbols=len(alphabet) + 1, order=language.order)
        self.rates = lru_cache(PREFIXES)(self.rated)

    def __reduce__(self) -> tuple[type[LanguageReader], tuple[Language, Alphabet]]:
        return LanguageReader, (self.language, self.alphabet)  # kept rates cannot be pickled

    def rated(self, prefix: Prefix) -> list[float]:
        """Returns what each symbol adds after a prefix, number 0 what the end of the text adds."""
        rated = self.language.weight * self.model.log_p(prefix) + self.language.bonus
        rated[BLANK] -= self.language.bonus  # the end is no character
        return rated.tolist()

    def __call__(self, log_p: Tensor, frames: Tensor) -> list[DecodedSymbols]:
        """Returns what is found in each of a batch. log_p: (image, frame, symbol); frames: of each image (image,)."""
        rows: np.ndarray = log_p.detach().double().cpu().numpy()
        return [prefix_beam(own[:count], size=self.language.beam, rates=self.rates, reach=REACH)
                for own, count in zip(rows, frames.tolist(), strict=True)]  # fmt: skip


def encoded(texts: Sequence[str], alphabet: Alphabet) -> list[tuple[int, ...]]:
    """Returns the symbols of texts. Raises ValueError for one that the alphabet cannot write."""
    try:
        return alphabet.encode(texts)
    except ValueError as error:
        raise ValueError(f"language.texts: {error}; leave it out, or put these characters into the alphabet") from error


def checked(texts: Any) -> tuple[str, ...]:
    """Returns texts. Raises ValueError for one text in place of several, and for what is no text."""
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"texts must be a list of texts, got {texts!r}; put numbers into quotes")
    return tuple(texts)
