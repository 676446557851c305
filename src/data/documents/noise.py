"""Documents as a worse reader of pages would give them: boxes beside their words, words of a line in another order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from data.pages import Document, Documents


def read_badly(data: Documents, *, jitter: int, shuffle: bool, seed: int) -> Documents:
    """Returns the documents with boxes that are moved and words that are out of order.

    jitter: each box is moved by a whole number of units from −jitter to jitter, in x and in y apart, as far as its page
    allows. shuffle: the words of a line come in a random order, with their boxes; an entity stays together, as a word.
    seed: draws both, for each document by its place. Cues of generated documents go with their words.
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
    """Returns a document whose words are in another order within each line."""
    order = np.concatenate([line[i] for line in lines_of(document) for i in generator.permutation(len(line))])
    place = np.argsort(order)
    return document._replace(
        words=tuple(document.words[i] for i in order), boxes=document.boxes[order],
        tags=tuple(document.tags[i] for i in order) if document.tags else (),
        cues=np.where(document.cues < 0, document.cues, place[document.cues]),
    )  # fmt: skip


def lines_of(document: Document) -> Iterator[list[np.ndarray]]:
    """Yields the lines of a document, each as its units: places of a word, or of the words of an entity. A line ends
    where a unit stands left of the word before, or reaches another page; a unit over two pages is a line by itself, and
    no unit is cut."""
    line, pages, left = list[np.ndarray](), document.pages, document.boxes[:, 0]
    for unit in units_of(document):
        first = unit[0]
        if line and (pages[unit[-1]] != pages[line[0][0]] or left[first] < left[first - 1]):
            yield line
            line = []
        line.append(unit)
    yield line


def units_of(document: Document) -> Iterator[np.ndarray]:
    """Yields the places of each word by itself, those of the words of an entity together."""
    starts = [i for i in range(len(document.words)) if not (document.tags and document.tags[i].startswith("I-"))]
    for first, end in zip(starts, [*starts[1:], len(document.words)], strict=True):
        yield np.arange(first, end)
