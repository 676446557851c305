"""What the attention of a run can see: keys of a query, and of generated documents how many cues are within reach."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import reduce

import numpy as np

from data.pages import NO_WORD, NOWHERE, Document
from models.documents.chunks import AnyPattern, Chunk, Reading
from models.documents.tokens import SIGN, layout_of
from models.documents.words import centres_of
from models.sequence.paired import DistanceKeysWindowValues
from models.sequence.patterns import Keys, Layout, keys_of
from pipeline.systems.documents.load import Loaded, chunks_by_document


def sight_of(loaded: Loaded) -> dict[str, float]:
    """Returns what attention sees in the test part: keys of a query, the share of all pairs of tokens that attend, and
    of generated documents the reach and the ceiling.

    Reach is the share of cues whose word is among the keys, in one layer, of the word that asks, or of the document's
    first token where the class is asked for. The ceiling is reach + (1 − reach) / answers: the accuracy of who knows
    the answers within reach and guesses the others. An answer that no word tells is within no reach, nor is one whose
    asking word documents.overflow=cut leaves out. Where each layer has an attention of its own, keys and pairs are the
    mean over layers, and one layer that sees a word is enough.
    """
    keys = tokens = pairs = 0
    seen = list[bool]()
    for place, chunks in chunks_by_document(loaded.parts["test"]):
        document = loaded.data.parts["test"][place]
        found = [(chunk, keys_in(loaded.reading, chunk, document)) for chunk in chunks]
        for own in (layer for _, layers in found for layer in layers):
            keys, tokens, pairs = keys + len(own.keys), tokens + own.count, pairs + own.count**2
        joined = [(chunk, reduce(Keys.union, layers)) for chunk, layers in found]
        seen += [told for cue in document.cues.tolist() for told in are_seen(joined, *cue)]
    metrics = {"keys_per_query": keys / tokens, "share_of_pairs": keys / pairs}
    answers = loaded.data.classes or [tag for tag in loaded.data.tags if tag.startswith("B-")]
    return metrics | (reach_of(sum(seen) / len(seen), len(answers)) if seen else {})


def are_seen(found: Sequence[tuple[Chunk, Keys]], asked: int, told: int) -> list[bool]:
    """Returns whether a cue of a document is seen: in each chunk that holds the word that asks, and of a label once, as
    one chunk that sees its word is enough. An answer that no word tells is not, and none whose asking word is not read.
    found: the chunks of the document with their keys."""
    if asked == NO_WORD:
        return [any(is_seen(keys, chunk, SIGN, told) for chunk, keys in found)]
    inside = [own for own in found if own[0].stretch.first <= asked < own[0].stretch.end]
    return [told != NOWHERE and is_seen(keys, chunk, asked, told) for chunk, keys in inside] or [False]


def reach_of(reach: float, answers: int) -> dict[str, float]:
    """Returns the reach and the ceiling of cues with so many answers."""
    return {"reach": reach, "ceiling": reach + (1 - reach) / answers}


def keys_in(reading: Reading, chunk: Chunk, document: Document) -> list[Keys]:
    """Returns the keys of each token of a chunk in each layer, once where all layers have one attention. A pattern that
    draws, draws as it does in the first of such layers and in a document of one chunk."""
    tokens = chunk.document.tokens
    layout = layout_of(tokens, centres_of(document)[slice(*chunk.stretch)])
    seed = [reading.seed, zlib.crc32(tokens.ids.numpy().tobytes()), 0]
    return [keys_by(pattern, layout, np.random.default_rng([*seed, i])) for i, pattern in enumerate(reading.patterns)]


def keys_by(pattern: AnyPattern, layout: Layout, generator: np.random.Generator) -> Keys:
    """Returns the keys of each token by a pattern."""
    if isinstance(pattern, DistanceKeysWindowValues):
        return pattern.pairs(layout, generator).keys
    return keys_of(pattern, layout, generator)


def is_seen(keys: Keys, chunk: Chunk, asked: int, told: int) -> bool:
    """Returns whether the first token of the word `asked`, or the sign for the document, has one of the word `told`
    among its keys."""
    words = chunk.document.tokens.words.numpy()
    numbers = np.where(words == SIGN, SIGN, words + chunk.stretch.first)
    first = int(np.flatnonzero(numbers == asked)[0])
    return bool((numbers[keys.of(first)] == told).any())
