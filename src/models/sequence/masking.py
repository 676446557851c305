"""Tokens hidden from a network that learns to guess them (Devlin et al. 2019; thesis, 2.3.3.5)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from models.runtime.parameters import not_negative


class Masking(NamedTuple):
    """Says how tokens are hidden.

    share: of the tokens that may be, that are guessed. hidden, random: of these, how many become `mask`, and how many
    another token; the rest stays. mask: the number of the token that hides. first: the lowest number of a token that
    may take another's place, which may be hidden too. vocabulary: how many numbers there are. whole_words: the tokens
    of a word are guessed together.
    """

    mask: int
    first: int
    vocabulary: int
    share: float = 0.15
    hidden: float = 0.8
    random: float = 0.1
    whole_words: bool = False


class Hidden(NamedTuple):
    """Holds the tokens as the network sees them, int64 (token,), and which of them it has to guess, bool (token,)."""

    tokens: Tensor
    guessed: Tensor


def hide(tokens: Tensor, words: Tensor, masking: Masking, generator: torch.Generator) -> Hidden:
    """Returns the tokens with some of them hidden; all chance is drawn from the generator.

    tokens, words: int64 (token,), the number of each token and that of its word. Tokens below `masking.first`, as the
    first of a document, are never guessed. Raises ValueError for shares that are no shares.
    """
    for name in ("share", "hidden", "random"):
        not_negative(name, getattr(masking, name), most=1)
    if masking.hidden + masking.random > 1:
        raise ValueError(f"hidden and random must be at most 1 together, got {masking.hidden} and {masking.random}")
    units = (
        torch.unique_consecutive(words, return_inverse=True)[1] if masking.whole_words else torch.arange(len(tokens))
    )
    count = int(units.max()) + 1 if len(units) else 0
    drawn = torch.rand(count, generator=generator, dtype=torch.float64)[units]
    guessed = (drawn < masking.share) & (tokens >= masking.first)
    fate = torch.rand(len(tokens), generator=generator, dtype=torch.float64)
    other = torch.randint(masking.first, masking.vocabulary, (len(tokens),), generator=generator)
    seen = torch.where(guessed & (fate < masking.hidden), masking.mask, tokens)
    changed = guessed & (fate >= masking.hidden) & (fate < masking.hidden + masking.random)
    return Hidden(torch.where(changed, other, seen), guessed)
