"""Documents as tokens: pieces of words, with the word's box and page, the first token a sign for the document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from models.documents.words import single
from models.sequence.patterns import Layout
from models.sequence.vocabulary import BEGIN, Vocabulary

UNITS = 1000  # into which a page is cut along each side
NO_BOX = UNITS + 1
SIGN = -1  # the word of a token that is none


class PageTokens(NamedTuple):
    """Holds the tokens of documents end to end.

    ids: int64 (token,), BEGIN for the first of each document. words: int64 (token,), the number of the token's word in
    its document, −1 for the first. positions: int64 (token,), from 0 in each document. boxes: int64 (token, 4), x0, y0,
    x1, y1 in thousandths of the page, 1001 without a box. pages: int64 (token,), from 0. lengths: int64 (document,).
    """

    ids: Tensor
    words: Tensor
    positions: Tensor
    boxes: Tensor
    pages: Tensor
    lengths: Tensor

    @property
    def firsts(self) -> Tensor:
        """Returns the first token of each document, int64 (document,)."""
        return self.lengths.cumsum(0) - self.lengths

    @property
    def starts(self) -> Tensor:
        """Returns the first token of each word, int64 (word,), document after document."""
        before = torch.cat([self.words.new_full((1,), SIGN), self.words[:-1]])
        return ((self.words != before) & (self.words != SIGN)).nonzero().squeeze(1)

    def to(self, device: torch.device) -> PageTokens:
        """Returns the tokens on that device."""
        return PageTokens(*(part.to(device) for part in self))


def in_thousandths(boxes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Returns boxes (word, 4), in single precision, in whole thousandths of their pages, int64, 1001 for a word without
    a box.

    sizes: width and height of the page of each word, (word, 2).
    """
    shares = single(boxes) * UNITS / np.tile(sizes.astype(np.float64), 2)
    known = ~np.isnan(shares).any(1)
    found = np.full(boxes.shape, NO_BOX, np.int64)
    found[known] = np.clip(np.rint(shares[known]), 0, UNITS)
    return found


def tokens_of(
    words: Sequence[str], boxes: np.ndarray, pages: np.ndarray, sizes: np.ndarray, vocabulary: Vocabulary
) -> PageTokens:
    """Returns the tokens of one document. boxes (word, 4) in the unit of the pages, NaN for a word without one; pages
    (word,); sizes: width and height of each page, (page, 2). A word is spelt as within a text, behind a blank."""
    pieces = vocabulary.encode([f" {word}" for word in words])  # as they stand within a text
    counts = np.array([1, *map(len, pieces)])
    owner = np.repeat(np.arange(-1, len(words)), counts)
    scaled = np.concatenate([np.full((1, 4), NO_BOX), in_thousandths(boxes, sizes[pages])])
    numbers = np.concatenate([pages[:1], pages])
    ids = np.concatenate([[BEGIN], *pieces])
    parts = (ids, owner, np.arange(len(ids)), scaled[owner + 1], numbers[owner + 1], [len(ids)])
    return PageTokens(*(torch.from_numpy(np.asarray(part, np.int64)) for part in parts))


def joined_tokens(documents: Sequence[PageTokens]) -> PageTokens:
    """Returns the tokens of documents end to end."""
    return PageTokens(*map(torch.cat, zip(*documents, strict=True)))


def layout_of(tokens: PageTokens, centres: np.ndarray) -> Layout:
    """Returns where the tokens of one document stand. centres: of its words, (word, 2), on the pages one below the
    other. The first token has no place; it attends to all, and all attend to it."""
    owner = tokens.words.numpy()
    places = np.concatenate([np.full((1, 2), np.nan), centres])[owner + 1]
    return Layout(places, owner == SIGN)
