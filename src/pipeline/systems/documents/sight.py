"""What the attention of a run can see: keys of a query, and of generated documents how many cues are within reach."""

from __future__ import annotations

import zlib

import numpy as np

from data.pages import Document
from models.documents.chunks import Chunk, Reading
from models.documents.tokens import SIGN, layout_of
from models.documents.words import centres_of
from models.sequence.paired import DistanceKeysWindowValues
from models.sequence.patterns import Keys, keys_of
from pipeline.systems.documents.load import Loaded


def sight_of(loaded: Loaded) -> dict[str, float]:
    """Returns over the test part: keys of a query, the share of all pairs of tokens that attend, and of generated
    documents the reach, the share of cues whose word is among the keys, in one layer, of the word that hangs on it, and
    the ceiling, reach + (1 − reach) / answers: the accuracy of who knows the answers within reach and guesses the
    others."""
    keys = tokens = pairs = seen = asked = 0
    for place, chunk in loaded.parts["test"]:
        document = loaded.data.parts["test"][place]
        found = keys_in(loaded.reading, chunk, document)
        keys, tokens, pairs = keys + len(found.keys), tokens + found.count, pairs + found.count**2
        cues = [cue for cue in document.cues.tolist() if chunk.stretch.first <= cue[0] < chunk.stretch.end]
        asked += len(cues)
        seen += sum(is_seen(found, chunk, *cue) for cue in cues)
    metrics = {"keys_per_query": keys / tokens, "share_of_pairs": keys / pairs}
    answers = loaded.data.classes or [tag for tag in loaded.data.tags if tag.startswith("B-")]
    return metrics | (reach_of(seen / asked, len(answers)) if asked else {})


def reach_of(reach: float, answers: int) -> dict[str, float]:
    """Returns the reach and the ceiling of cues with so many answers."""
    return {"reach": reach, "ceiling": reach + (1 - reach) / answers}


def keys_in(reading: Reading, chunk: Chunk, document: Document) -> Keys:
    """Returns the keys of each token of a chunk in the first layer. A pattern that draws, draws as it does in a
    document of one chunk."""
    tokens, pattern = chunk.document.tokens, reading.patterns[0]
    layout = layout_of(tokens, centres_of(document)[slice(*chunk.stretch)])
    generator = np.random.default_rng([reading.seed, zlib.crc32(tokens.ids.numpy().tobytes()), 0, 0])
    if isinstance(pattern, DistanceKeysWindowValues):
        return pattern.pairs(layout, generator).keys
    return keys_of(pattern, layout, generator)


def is_seen(keys: Keys, chunk: Chunk, asked: int, told: int) -> bool:
    """Returns whether the first token of the word `asked` has one of the word `told` among its keys."""
    words = chunk.document.tokens.words.numpy()
    numbers = np.where(words == SIGN, SIGN, words + chunk.stretch.first)
    first = int(np.flatnonzero(numbers == asked)[0])
    return bool((numbers[keys.of(first)] == told).any())
