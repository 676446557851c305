"""Documents as a worse reader of pages would give them: boxes beside their words, words of a line in another order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from data.documents.order import reordered
from data.pages import Document, Documents


def read_badly(data: Documents, *, jitter: int, shuffle: bool, seed: int) -> Documents:
    """Returns the documents with boxes that are moved and words that are out of order.

    jitter: each box is moved by a whole number of units from −jitter to jitter, in x and in y apart, as far as its page
    allows. shuffle: the words of a line come in a random order, with their boxes and tags; words of an entity do not
    stay together, and what is cut off begins an entity of its own. seed: draws both, for each document by its place.
    Cues of generated documents go with their words.
    """
    if not jitter and not shuffle:
        return data
    found = {part: list[Document]() for part in data.parts}
    for place, (part, document) in enumerate(data.all()):
        generator = np.random.default_rng([seed, place])
        own = shuffled(document, generator) if shuffle else document
        found[part].append(moved(own, jitter, generator) if jitter else own)
    return replace(data, parts={part: tuple(documents) for part, documents in found.items()})


def moved(document: Document, most: int, generator: np.random.Generator) -> Document:
    """Returns a document with every box moved by at most so many units."""
    steps = generator.integers(-most, most, size=(len(document.words), 2), endpoint=True).astype(np.float32)
    sizes = np.array(document.sizes, np.float32).reshape(-1, 2)[document.pages]
    low, high = document.boxes[:, :2], document.boxes[:, 2:]
    steps = np.minimum(np.maximum(steps, -low), sizes - high)
    return document._replace(boxes=np.concatenate([low + steps, high + steps], 1))


def shuffled(document: Document, generator: np.random.Generator) -> Document:
    """Returns a document whose words are in another order within each line, which does not depend on their tags."""
    order = np.concatenate([generator.permutation(line) for line in lines_of(document)])
    return reordered(document, order)


def lines_of(document: Document) -> Iterator[np.ndarray]:
    """Yields the places of the words of each line. A line ends where a word stands left of the one before, or on
    another page."""
    pages, left = document.pages, document.boxes[:, 0]
    ends = (pages[1:] != pages[:-1]) | (left[1:] < left[:-1])
    yield from np.split(np.arange(len(document.words)), np.flatnonzero(ends) + 1)
