"""The network that reads documents: embeddings of words and boxes, layers with planned attention, and three heads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from models.documents.adjacent import AdjacentMixing
from models.documents.spelling import Spelling, spelling_of
from models.documents.tokens import NO_BOX, PageTokens
from models.runtime.parameters import one_of
from models.runtime.seeding import drawn
from models.sequence.attention import Attending
from models.sequence.layers import EncoderLayer, FeedForward, Norm, Setting
from models.sequence.ledger import Ledger
from models.sequence.vocabulary import Vocabulary

SPREAD = 0.02  # standard deviation of first embeddings, as in BERT
ALONG_TEXT, ALONG_PAGE = 20.0, 50.0  # lengths of smooth places: tokens, and thousandths of the page
PLACES = ("drawn", "smooth")


@dataclass(frozen=True)
class Architecture:
    """Says what a network is made of.

    vocabulary: how many numbers tokens may have. width, heads, hidden, layers: of the encoder. longest: tokens of a
    document, or of a chunk of it. pages: numbers of pages that are told apart, later ones count as the last. boxes:
    whether the network sees where words stand. norm: "pre" or "post". outputs: classes, or tags, 0 for none. adjacent:
    tokens on each side that are mixed into each before the first layer, 0 for none. places: how the embeddings of
    positions and coordinates begin, "drawn" each by itself, or "smooth", see `place_table`. spelling: whether pieces
    that are spelt alike share a part of their embeddings, see `Spelling`. Raises ValueError for what cannot be.
    """

    vocabulary: int
    width: int = 128
    heads: int = 4
    hidden: int = 512
    layers: int = 4
    longest: int = 4096
    pages: int = 64
    boxes: bool = True
    norm: Norm = "pre"
    dropout: float = 0.1
    outputs: int = 0
    adjacent: int = 0
    places: str = "drawn"
    spelling: bool = False

    def __post_init__(self) -> None:
        for name in ("vocabulary", "width", "hidden", "layers", "longest", "pages"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.heads < 1 or self.width % self.heads:
            raise ValueError(f"width must be a multiple of heads, got {self.width} and {self.heads}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {self.dropout}")
        for name in ("outputs", "adjacent"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be at least 0, got {getattr(self, name)}")
        one_of("places", self.places, PLACES)


def table(rows: int, width: int) -> nn.Embedding:
    """Returns embeddings of so many numbers, drawn with a small deviation."""
    made = nn.Embedding(rows, width)
    nn.init.normal_(made.weight, std=SPREAD)
    return made


def place_table(rows: int, width: int, places: str, *, length: float, apart: int = 0) -> nn.Embedding:
    """Returns embeddings of the places 0, 1, … along a line; the last `apart` rows are no places and are drawn.

    "smooth": the row of place r is σ√2 cos(ω r + b) with ω ~ N(0, 1/length²) and b uniform on [0, 2π), for each of the
    `width` numbers (random Fourier features, Rahimi & Recht 2007). Then E⟨e_r, e_s⟩ = σ² width exp(−(r − s)² /
    (2 length²)): places within a length begin alike, and what is learned of one holds beside it.
    """
    made = table(rows, width)
    if places == "smooth":
        phases = torch.randn(width) / length * torch.arange(rows - apart)[:, None] + 2 * math.pi * torch.rand(width)
        with torch.no_grad():
            made.weight[: rows - apart] = SPREAD * math.sqrt(2) * torch.cos(phases)
    return made


class PageEmbedding(nn.Module):
    """Is e_i = LN(piece + position + X[x0] + Y[y0] + X[x1] + Y[y1] + W[x1 − x0] + H[y1 − y0] + page), with dropout
    (LayoutLM, Xu et al. 2020).

    Coordinates are thousandths of the page; a word without a box has a row of its own in each table. Without `boxes`
    the terms of boxes and pages are left out. spelling: the rows of `Spelling`, which is added to the piece where there
    are any.
    """

    def __init__(self, own: Architecture, spelling: Tensor | None) -> None:
        super().__init__()
        self.words = table(own.vocabulary, own.width)
        self.positions = place_table(own.longest, own.width, own.places, length=ALONG_TEXT)
        self.sides = nn.ModuleList(
            place_table(NO_BOX + 1, own.width, own.places, length=ALONG_PAGE, apart=1)
            for _ in range(4 if own.boxes else 0)
        )
        self.pages = table(own.pages, own.width) if own.boxes else None
        self.spelling = None if spelling is None else Spelling(spelling, own.width, deviation=SPREAD)
        self.norm, self.dropout = nn.LayerNorm(own.width), nn.Dropout(own.dropout)

    def forward(self, tokens: PageTokens) -> Tensor:
        """Returns (token, width). Raises ValueError for a document of more tokens than there are positions."""
        most = self.positions.num_embeddings
        if int(tokens.lengths.max()) > most:
            raise ValueError(
                f"a document has {int(tokens.lengths.max())} tokens, and longest is {most}; read it in chunks"
            )
        whole = self.words(tokens.ids) + self.positions(tokens.positions)
        if self.spelling is not None:
            whole = whole + self.spelling(tokens.ids)
        if self.pages is not None:
            x, y, wide, high = self.sides
            x0, y0, x1, y1 = tokens.boxes.unbind(1)
            known = x0 != NO_BOX
            whole = (
                whole
                + x(x0)
                + x(x1)
                + y(y0)
                + y(y1)
                + self.pages(tokens.pages.clamp(max=self.pages.num_embeddings - 1))
            )
            whole = whole + wide(torch.where(known, x1 - x0, NO_BOX)) + high(torch.where(known, y1 - y0, NO_BOX))
        return self.dropout(self.norm(whole))


class Head(nn.Module):
    """Is linear, GELU, dropout, linear."""

    def __init__(self, width: int, outputs: int, *, dropout: float) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(width, width), nn.Linear(width, outputs)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor) -> Tensor:
        """Returns (row, output)."""
        return self.leave(self.dropout(nn.functional.gelu(self.enter(states))))


class DocumentNetwork(nn.Module):
    """Is an encoder of documents end to end, whose tokens attend to what a plan lets them, with two heads.

    One guesses hidden tokens, its output weights those of the embedding; the other gives classes or tags.
    First weights are drawn for each part from a generator of its own, so networks that share a part begin with the same
    weights there. spelling: of the pieces of the vocabulary, as `spelling_of` gives it, where the architecture has it.
    Raises ValueError where only one of the two has it, and for another number of pieces.
    """

    def __init__(self, architecture: Architecture, *, seed: int, spelling: Tensor | None = None) -> None:
        super().__init__()
        own = self.architecture = architecture
        pieces = None if spelling is None else len(spelling)
        if pieces != (own.vocabulary if own.spelling else None):
            raise ValueError(
                f"spelling={own.spelling} of {own.vocabulary} pieces, and the spelling of {pieces} is given"
            )
        with drawn(seed, "documents/embedding"):
            self.embedding = PageEmbedding(own, spelling)
        with drawn(seed, "documents/adjacent"):
            self.adjacent = AdjacentMixing(own.width, own.adjacent) if own.adjacent else None
        self.layers = nn.ModuleList(self._layer(place, seed) for place in range(own.layers))
        self.norm = nn.LayerNorm(own.width) if own.norm == "pre" else nn.Identity()
        with drawn(seed, "documents/head"):
            self.head = Head(own.width, own.outputs, dropout=own.dropout) if own.outputs else None
        with drawn(seed, "documents/guess"):
            self.guess = nn.Sequential(nn.Linear(own.width, own.width), nn.GELU(), nn.LayerNorm(own.width))
        self.guess_bias = nn.Parameter(torch.zeros(own.vocabulary))

    def _layer(self, place: int, seed: int) -> EncoderLayer:
        own = self.architecture
        with drawn(seed, f"documents/layer/{place}"):
            part = FeedForward(own.width, own.hidden)
            return EncoderLayer(own.width, own.heads, part, dropout=own.dropout, norm=own.norm)

    def _embedded(self, tokens: PageTokens) -> Tensor:
        states = self.embedding(tokens)
        return states if self.adjacent is None else self.adjacent(states, tokens.lengths)

    def encode(self, tokens: PageTokens, plans: Sequence[Attending]) -> Tensor:
        """Returns what the network makes of each token, (token, width). plans: one for all layers, or one each."""
        states, ledger = self._embedded(tokens), Ledger()
        chosen = list(plans) * len(self.layers) if len(plans) == 1 else list(plans)
        for layer, plan in zip(self.layers, chosen, strict=True):
            states = layer(states, Setting(None, None, ledger, plan=plan))
        return self.norm(states)

    def classes(self, tokens: PageTokens, plans: Sequence[Attending]) -> Tensor:
        """Returns logits of each document, (document, class), from its first token."""
        return self._outputs(self.encode(tokens, plans)[tokens.firsts])

    def tags(self, tokens: PageTokens, plans: Sequence[Attending]) -> Tensor:
        """Returns logits of each word, (word, tag), from the first of its tokens."""
        return self._outputs(self.encode(tokens, plans)[tokens.starts])

    def guesses(self, tokens: PageTokens, plans: Sequence[Attending], asked: Tensor) -> Tensor:
        """Returns logits over the vocabulary of the tokens asked for, bool (token,): (asked, vocabulary)."""
        states = self.guess(self.encode(tokens, plans)[asked])
        return nn.functional.linear(states, self.embedding.words.weight, self.guess_bias)

    def _outputs(self, states: Tensor) -> Tensor:
        if self.head is None:
            raise ValueError("this network has no outputs; make one with outputs=NUMBER")
        return self.head(states)


def network_over(vocabulary: Vocabulary, architecture: Architecture, *, seed: int) -> DocumentNetwork:
    """Returns a network with its first weights that reads the pieces of a vocabulary, spelt as they are where the
    architecture has spelling."""
    return DocumentNetwork(architecture, seed=seed, spelling=spelling_of(vocabulary) if architecture.spelling else None)
