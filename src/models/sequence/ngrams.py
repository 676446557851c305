"""A language model of symbols: how probable each symbol is after those before it (Witten and Bell 1991)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

END, BEFORE = 0, -1  # what follows the last symbol of a text, and what stands before its first one
KEPT = 20_000  # histories whose probabilities are kept

History = tuple[int, ...]


class NGrams:
    """Is p(s | h) = (c(h s) + t(h) p(s | h')) / (c(h) + t(h)) of a symbol s after a history h of `order` − 1 symbols.

    c counts in texts, t(h) is how many different symbols follow h there, and h' is h without its first symbol. Beneath
    the empty history all symbols are equally probable, so none is impossible. symbols: how many there are, with END,
    which is 0. Raises ValueError without a text, for an order below 1 and for a symbol that is not in 1 … symbols − 1.
    """

    def __init__(self, texts: Sequence[Sequence[int]], *, symbols: int, order: int) -> None:
        if not texts or order < 1:
            raise ValueError(f"a language model needs a text and an order of at least 1; got {len(texts)} and {order}")
        if not all(0 < symbol < symbols for text in texts for symbol in text):
            raise ValueError(f"the symbols of texts must lie in 1 … {symbols - 1}")
        self.order, self.symbols = order, symbols
        self.counts = defaultdict[History, Counter[int]](Counter)
        for text in texts:
            self.count(text)
        self.kept = lru_cache(KEPT)(self.computed)

    def count(self, text: Sequence[int]) -> None:
        """Counts every symbol of a text, and its end, after every history of less than `order` symbols."""
        whole = (*[BEFORE] * (self.order - 1), *text, END)
        for place in range(self.order - 1, len(whole)):
            for length in range(self.order):
                self.counts[whole[place - length : place]][whole[place]] += 1

    def log_p(self, text: Sequence[int]) -> np.ndarray:
        """Returns ln p of each symbol after what was written of a text, float64 (symbol,)."""
        length = self.order - 1
        return np.log(self.kept(((*[BEFORE] * length, *text)[-length:]) if length else ()))

    def computed(self, history: History) -> np.ndarray:
        """Returns p of each symbol after a history."""
        shorter = self.kept(history[1:]) if history else np.full(self.symbols, 1 / self.symbols)
        followed = self.counts.get(history)
        if followed is None:
            return shorter
        found = len(followed) * shorter
        found[list(followed)] += list(followed.values())
        return found / (followed.total() + len(followed))
