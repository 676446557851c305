"""How words and pieces of words are spelt, and embeddings that those share which are spelt alike."""

from __future__ import annotations

import re
from functools import lru_cache

import torch
from torch import Tensor, nn

from models.sequence.vocabulary import Vocabulary

AGAIN = re.compile(r"(.)\1+")  # a sign that follows itself
KNOWN = 2**17  # different words whose features are kept


@lru_cache(KNOWN)
def features_of(word: str) -> tuple[str, ...]:
    """Returns what is seen of a word: itself in small letters, its first and last three, and its shape: X for capital
    letters of any script, x for other letters, 9 for digits, the rest as it is, and what follows itself once."""
    small, shape = word.lower(), AGAIN.sub(r"\1", "".join(map(sign_of, word)))
    return f"w={small}", f"<{small[:3]}", f">{small[-3:]}", f"s={shape}"


def sign_of(letter: str) -> str:
    """Returns what stands for a letter in the shape of a word."""
    if letter.isalpha():
        return "X" if letter.isupper() else "x"
    return "9" if letter.isdecimal() else letter


def spelling_of(vocabulary: Vocabulary) -> Tensor:
    """Returns the numbers of the four features of each piece of a vocabulary, int64 (piece, 4), counted from 0 as they
    first occur. A piece that begins a word shares first letters and shape with such pieces alone. Signs and tags, which
    have no text, share the features of the empty one."""
    texts, numbers = vocabulary.decode([[number] for number in range(vocabulary.size)]), dict[str, int]()
    return torch.tensor([[numbers.setdefault(name, len(numbers)) for name in piece_features(text)] for text in texts])


def piece_features(text: str) -> tuple[str, ...]:
    """Returns what is seen of a piece of a text, which stands behind a blank where it begins a word."""
    small, first, last, shape = features_of(text.strip(" "))
    blank = " " if text.startswith(" ") else ""
    return small, blank + first, last, blank + shape


class Spelling(nn.Module):
    """Is Σ_f S[r(token, f)] over the features f of a token's piece: pieces that are alike in small letters, that begin
    or end alike, or that have one shape, share a row of S and learn together (as the hashed embeddings of Honnibal's
    spaCy, here without collisions).

    rows: the row of each feature, int64 (piece, feature). deviation: of the first embeddings.
    """

    rows: Tensor

    def __init__(self, rows: Tensor, width: int, *, deviation: float) -> None:
        super().__init__()
        self.register_buffer("rows", rows)
        self.shared = nn.Parameter(torch.randn(int(rows.max()) + 1, width) * deviation)

    def forward(self, ids: Tensor) -> Tensor:
        """Returns (token, width). ids: the numbers of pieces, int64 (token,)."""
        return nn.functional.embedding_bag(self.rows[ids], self.shared, mode="sum")
