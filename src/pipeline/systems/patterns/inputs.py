"""The documents and the kinds of attention that `recipe=patterns` shows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from data.pages import PARTS, Document, Documents
from models.documents.words import centres_of
from models.sequence.paired import DistanceKeysWindowValues
from models.sequence.patterns import Keys, Layout, Pattern, keys_of
from pipeline.host.errors import PipelineError
from pipeline.settings.build import build
from pipeline.systems.patterns.config import PatternsConfig

AnyPattern = Pattern | DistanceKeysWindowValues


@dataclass(frozen=True)
class Collection:
    """Holds the documents of a study by the names of their sets, as one set for the tracking store."""

    sets: Mapping[str, Documents]

    @property
    def name(self) -> str:
        """Returns the names of all sets."""
        return "+".join(own.name for own in self.sets.values())

    @property
    def source(self) -> str:
        """Returns where the sets come from."""
        return ", ".join(dict.fromkeys(own.source for own in self.sets.values()))

    @property
    def stand_in(self) -> bool:
        """Returns whether a set is a stand-in."""
        return any(own.stand_in for own in self.sets.values())

    @property
    def checksum(self) -> str:
        """Returns what tells these sets from others."""
        return hashlib.sha256("".join(str(own.checksum) for own in self.sets.values()).encode()).hexdigest()


def load(settings: PatternsConfig) -> Collection:
    """Returns the documents of all sets, as many of each part as `size` says. Raises PipelineError for other data."""
    found: dict[str, Documents] = {}
    for name, section in settings.datasets.items():
        made, most = build(f"datasets.{name}", section, settings.extensions), settings.size.sequences
        if not isinstance(made, Documents):
            raise PipelineError(f"datasets.{name}: recipe=patterns takes words with boxes, as data=documents_table")
        found[name] = made.shortened(train=most, held=most)
    return Collection(found)


def patterns_of(settings: PatternsConfig) -> dict[str, AnyPattern]:
    """Returns the kinds of attention by their names. Raises PipelineError for one that cannot be."""
    found: dict[str, AnyPattern] = {}
    for name, section in settings.attentions.items():
        found[name] = build(f"attentions.{name}", section, settings.extensions)
        if isinstance(found[name], tuple):
            raise PipelineError(f"attentions.{name}: recipe=patterns shows one attention a name; give each layer's one")
    return found


def documents_of(data: Documents) -> Iterator[Document]:
    """Yields the documents of all parts, those of the test part first."""
    for part in reversed(PARTS):
        yield from data.parts[part]


def layout_of_words(centres: np.ndarray) -> Layout:
    """Returns where the tokens stand of which the first is a sign for the document, which attends to all, and each
    other one a word. centres: of the words, (word, 2)."""
    places = np.concatenate([np.full((1, 2), np.nan), centres])
    return Layout(places, np.arange(len(places)) == 0)


def strewn(documents: Sequence[Document], count: int) -> Layout:
    """Returns where so many tokens stand, on documents one below the other. Raises PipelineError for too few words."""
    found, top = list[np.ndarray](), 0.0
    for document in documents:
        found.append(centres_of(document) + np.array([0.0, top]))
        top += sum(page[1] for page in document.sizes)
        if sum(map(len, found)) >= count - 1:
            return layout_of_words(np.concatenate(found)[: count - 1])
    words = sum(map(len, found))
    raise PipelineError(f"patterns.tokens asks for {count} tokens, and all documents have {words} words; lower it")


def lists_of(pattern: AnyPattern, layout: Layout, seed: int) -> tuple[Keys, Keys]:
    """Returns the tokens whose keys each token reads, and those whose values; mostly the same."""
    generator = np.random.default_rng(seed)
    if isinstance(pattern, DistanceKeysWindowValues):
        pairs = pattern.pairs(layout, generator)
        return pairs.keys, pairs.values
    keys = keys_of(pattern, layout, generator)
    return keys, keys
