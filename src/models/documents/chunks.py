"""How a document becomes what a network reads: its tokens, in chunks where it is long, each with its plans."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from models.documents.objective import Plans, Prepared
from models.documents.tokens import SIGN, PageTokens, layout_of, tokens_of
from models.documents.words import Placed, centres_of, without_box
from models.sequence.orders import page_order, reading_order
from models.sequence.paired import DistanceKeysWindowValues, PairedPlan, paired_plan
from models.sequence.patterns import Distance, DistanceWindow, Layout, Pattern, SpatialWindow, WindowRandom, keys_of
from models.sequence.plans import BLOCK, PackedPlan, plan
from models.sequence.vocabulary import Vocabulary

AnyPattern = Pattern | DistanceKeysWindowValues
SPATIAL = (Distance, DistanceWindow, SpatialWindow, DistanceKeysWindowValues)  # they look at places on the page
NONE = torch.zeros(0, dtype=torch.int64)


class Stretch(NamedTuple):
    """Is the words of a document from `first` up to but without `end`."""

    first: int
    end: int


class Chunk(NamedTuple):
    """Holds a stretch of words as a document of its own."""

    stretch: Stretch
    document: Prepared


def stretches_of(counts: np.ndarray, *, most: int, shared: int) -> list[Stretch]:
    """Returns the stretches in which words of so many tokens (word,) are read, each of at most `most` tokens.

    Each goes on behind the end of the one before, and repeats at most `shared` of its tokens. No word may have more
    than `most` tokens, and there must be a word.
    """
    ends, found, start = np.concatenate([[0], counts.cumsum()]), list[Stretch](), 0
    while not found or found[-1].end < len(counts):
        if found:
            end = found[-1].end
            repeated, fitting = np.searchsorted(ends, [ends[end] - shared, ends[end + 1] - most])
            start = max(int(repeated), int(fitting), start + 1)
        found.append(Stretch(start, int(np.searchsorted(ends, ends[start] + most, side="right")) - 1))
    return found


def owners_of(stretches: Sequence[Stretch], counts: np.ndarray) -> np.ndarray:
    """Returns for each word the stretch that says what it is, int64 (word,): the one where most tokens stand between it
    and the nearer end. The ends of the document do not count as ends; of equals the first."""
    ends = np.concatenate([[0], counts.cumsum()])
    owners, room = np.zeros(len(counts), np.int64), np.full(len(counts), -1.0)
    for number, (first, end) in enumerate(stretches):
        before = ends[first:end] - ends[first] if first else np.full(end - first, np.inf)
        behind = ends[end] - ends[first + 1 : end + 1] if end < len(counts) else np.full(end - first, np.inf)
        own = np.minimum(before, behind)
        better = own > room[first:end]
        owners[first:end][better] = number
        room[first:end] = np.maximum(room[first:end], own)
    return owners


def rows_of(tokens: PageTokens, stretch: Stretch) -> Tensor:
    """Returns the places of a document's first token and of the tokens of a stretch of its words, int64 (token,)."""
    inside = (tokens.words >= stretch.first) & (tokens.words < stretch.end)
    return torch.cat([NONE.new_zeros(1), inside.nonzero().squeeze(1)])


def chosen_tokens(tokens: PageTokens, stretch: Stretch) -> PageTokens:
    """Returns the tokens of a stretch of a document's words behind the document's first token, as a document."""
    rows = rows_of(tokens, stretch)
    words, pages = tokens.words[rows] - stretch.first, tokens.pages[rows]
    words[0] = SIGN
    pages[:1] = pages[1:2] if len(rows) > 1 else pages[:1]
    count = torch.tensor([len(rows)])
    return PageTokens(tokens.ids[rows], words, torch.arange(len(rows)), tokens.boxes[rows], pages, count)


def shortened_words(tokens: PageTokens, most: int) -> PageTokens:
    """Returns the tokens of a document without those behind the first `most` of a word."""
    counts = torch.bincount(tokens.words + 1)
    rank = torch.arange(len(tokens.words)) - (counts.cumsum(0) - counts)[tokens.words + 1]
    if int(rank.max()) < most:
        return tokens
    kept = (rank < most).nonzero().squeeze(1)
    words, places = tokens.words[kept], torch.arange(len(kept))
    count = torch.tensor([len(kept)])
    return PageTokens(tokens.ids[kept], words, places, tokens.boxes[kept], tokens.pages[kept], count)


def by_layer(patterns: Mapping[str, AnyPattern], per_layer: Sequence[str]) -> tuple[AnyPattern, ...]:
    """Returns the pattern of each layer by its name. Raises ValueError for a name that is not in a list, for an empty
    list, and for a name that is not among the patterns."""
    if isinstance(per_layer, str):
        raise ValueError(f"per_layer={per_layer} is no list; name the pattern of each layer, as [full,distance]")
    unknown = [name for name in per_layer if name not in patterns]
    if unknown or not per_layer:
        said = f"names {unknown[0]!r}" if unknown else "is empty"
        raise ValueError(f"per_layer {said}; name for each layer one of {', '.join(patterns)}")
    return tuple(patterns[name] for name in per_layer)


def plan_of(pattern: AnyPattern, layout: Layout, generator: np.random.Generator) -> PackedPlan | PairedPlan:
    """Returns how attention by a pattern is computed in one document."""
    near = isinstance(pattern, SPATIAL)
    order = page_order(layout.centres, leaf=BLOCK) if near else reading_order(layout.count)
    if isinstance(pattern, DistanceKeysWindowValues):
        return paired_plan(pattern.pairs(layout, generator), order)
    return PackedPlan.of(plan(keys_of(pattern, layout, generator), order))


def plans_of(patterns: Sequence[AnyPattern], layout: Layout, *, layers: int, seed: Sequence[int]) -> Plans:
    """Returns the plans of one document: one for all layers, or one each where there is a pattern each, or where a
    pattern draws. Layers of equal patterns that draw nothing share their plan. seed: of what is drawn; the number of
    the layer is added."""
    drawn = len(patterns) == 1 and isinstance(patterns[0], WindowRandom)
    own, made = list(patterns) * (layers if drawn else 1), list[Any]()
    for layer, pattern in enumerate(own):
        like = layer if isinstance(pattern, WindowRandom) else own.index(pattern)
        again = like < layer
        made.append(made[like] if again else plan_of(pattern, layout, np.random.default_rng([*seed, layer])))
    return tuple(made)


def check_places(
    patterns: Sequence[AnyPattern],
    documents: Iterable[Placed],
    otherwise: str = "read it with a model of the text alone",
) -> None:
    """Raises ValueError, with what to do instead of giving boxes, where a pattern looks at places on the page and no
    word of a document has a box. Documents without words pass. Who takes documents in calls it once for all of them."""
    if not any(isinstance(pattern, SPATIAL) for pattern in patterns):
        return
    for document in documents:
        if len(document.words) and without_box(document).all():
            raise ValueError(
                f"{named(document)}: no word has a box, and attention is to what is near on the page; give boxes, or "
                f"{otherwise}"
            )


@dataclass(frozen=True, eq=False)
class Reading:
    """Says how documents become what a network reads.

    vocabulary: of pieces. patterns: one for all layers, or one for each. layers: of the network. max_length: tokens of
    a chunk, the first among them. stride: tokens that a chunk repeats of the one before. lower_case: whether words are
    read in small letters. seed: of patterns that draw: the same document gives the same plans. whole: whether what is
    behind the first chunk is read. Raises ValueError for numbers that make no sense.
    """

    vocabulary: Vocabulary
    patterns: tuple[AnyPattern, ...]
    layers: int
    max_length: int = 4096
    stride: int = 512
    lower_case: bool = True
    seed: int = 0
    whole: bool = True

    def __post_init__(self) -> None:
        if self.max_length < 2:
            raise ValueError(f"max_length must be at least 2, got {self.max_length}")
        if not 0 <= self.stride < self.max_length - 1:
            raise ValueError(f"stride must be at least 0 and below max_length - 1, got {self.stride}")
        if len(self.patterns) not in (1, self.layers):
            raise ValueError(f"give one pattern, or one for each of {self.layers} layers; got {len(self.patterns)}")

    def tokens(self, document: Placed) -> PageTokens:
        """Returns the tokens of a document; of a word of more than `max_length` − 1 tokens its first."""
        sizes = np.array(document.sizes, np.float64).reshape(-1, 2)
        words = [word.lower() for word in document.words] if self.lower_case else document.words
        whole = tokens_of(words, document.boxes, document.pages.astype(np.int64), sizes, self.vocabulary)
        return shortened_words(whole, self.max_length - 1)

    def chunks(self, document: Placed, targets: Tensor = NONE) -> list[Chunk]:
        """Returns a document in chunks; only the first where it is not read whole. It has a word at least, and is one
        that `check_places` lets through.

        targets: the class, (1,), or the tag of each word, (word,).
        """
        tokens, centres = self.tokens(document), centres_of(document)
        stretches = stretches_of(word_counts(tokens), most=self.max_length - 1, shared=self.stride)
        seed = [self.seed, zlib.crc32(tokens.ids.numpy().tobytes())]
        by_word = len(targets) == len(document.words)
        read, found = stretches if self.whole else stretches[:1], list[Chunk]()
        for number, stretch in enumerate(read):
            own = tokens if len(stretches) == 1 else chosen_tokens(tokens, stretch)
            layout = layout_of(own, centres[slice(*stretch)])
            plans = plans_of(self.patterns, layout, layers=self.layers, seed=[*seed, number])
            answers, weight = (targets[slice(*stretch)], 1.0) if by_word else (targets, 1 / len(read))
            found.append(Chunk(stretch, Prepared(own, plans, answers, weight)))
        return found


def word_counts(tokens: PageTokens) -> np.ndarray:
    """Returns how many tokens each word of one document has, int64 (word,)."""
    return torch.bincount(tokens.words + 1)[1:].numpy()


def named(document: Placed) -> str:
    """Returns what a message calls a document."""
    return f"document {getattr(document, 'name', '')}".strip()
