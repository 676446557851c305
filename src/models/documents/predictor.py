"""A fitted network with its vocabulary and patterns: words and boxes in, tags or classes out, and back from disk
without pickle."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from models.documents.chunks import Chunk, Reading, check_places, named, owners_of, word_counts
from models.documents.network import Architecture, DocumentNetwork
from models.documents.objective import batch_of
from models.documents.repeated import repeated
from models.documents.words import Placed, without_box
from models.runtime.parameters import shown
from models.runtime.plain import made_of, plain
from models.runtime.saved import read_tensors, readable, refuse_missing
from models.runtime.threads import threads_for
from models.runtime.whole_folder import folder_written_whole
from models.sequence.entities import best_tags, entities
from models.sequence.vocabulary import read_vocabulary

DESCRIPTION, ARRAYS, VOCABULARY = "documents.json", "documents.npz", "vocabulary.json"
LEAST = 1e-300  # probability whose logarithm is taken
TAGS, CLASSES = HEADS = ("tags", "classes")
READ = (
    "patterns",
    "max_length",
    "stride",
    "lower_case",
    "seed",
    "whole",
)  # of `Reading`, written beside the vocabulary
BEFORE = {"whole": True}  # as predictors read that were saved before it was written


class Tagged(NamedTuple):
    """Holds what a network says of the words of a document.

    labels: the most probable tags that are legal, an I behind a B or I of its kind, of the words that are read, which
    are all where the reading is whole; or what `repeated` makes of them. probabilities: of these at that place alone,
    float64 (word,). entities: int64 (word,), the number of the word's entity, from 1 in each document, 0 for none.
    chunks: in how many the document was read.
    """

    labels: tuple[str, ...]
    probabilities: np.ndarray
    entities: np.ndarray
    chunks: int


class Classified(NamedTuple):
    """Holds what a network says of a document: the most probable class, None without words; the probability of every
    class, float64 (class,), NaN without words; and in how many chunks it was read."""

    label: str | None
    probabilities: np.ndarray
    chunks: int


class Spread(NamedTuple):
    """Holds probabilities of a document: of each word's tags, float64 (word, tag), or of its classes, (1, class); in
    how many chunks it was read, and how many words stand behind these."""

    probabilities: np.ndarray
    chunks: int
    unread: int = 0


@dataclass(frozen=True, eq=False)
class DocumentPredictor:
    """Says what words of documents are, or documents.

    network: fitted. reading: how documents are read. head: "tags" of words, or "classes" of documents. outputs: their
    names. repeated: the least share of the places of the same words, of which all are entities or none, see
    `models.documents.repeated`; None for places by themselves. Raises ValueError for a network and a reading that do
    not fit each other, and as `share_of_places`.
    """

    network: DocumentNetwork
    reading: Reading
    head: str
    outputs: tuple[str, ...]
    repeated: float | None = None

    def __post_init__(self) -> None:
        own = self.network.architecture
        share_of_places(self.repeated)
        if self.head not in HEADS:
            raise ValueError(f"head must be tags or classes, got {self.head!r}")
        fits = {
            "outputs": (len(self.outputs), own.outputs), "vocabulary": (self.reading.vocabulary.size, own.vocabulary),
            "layers": (self.reading.layers, own.layers),
        }  # fmt: skip
        for name, (given, there) in fits.items():
            if given != there:
                raise ValueError(f"{name}: {given} are given and the network has {there}")
        if self.reading.max_length > own.longest:
            raise ValueError(f"max_length={self.reading.max_length}, and the network reads {own.longest} tokens")

    def tags(self, documents: Sequence[Placed]) -> list[Tagged]:
        """Returns tags of the words of each document, in their order; none where it has no words.

        A document of more than `max_length` tokens is read in chunks that overlap; a word's tag comes from the chunk in
        which it stands farthest from the ends. No document depends on the others. Raises ValueError for a model of
        classes, and as `check_places`; warns of words without a box, of words that are not read, and of documents
        without words.
        """
        found = self.probabilities(documents, TAGS)
        return [self._tagged(*own) for own in zip(documents, found, strict=True)]

    def labels(self, documents: Sequence[Placed]) -> list[tuple[str, ...]]:
        """Returns the tags of each document, as `tags`, and warns of nothing."""
        with torch.inference_mode(), threads_for(self.network):
            return [self._tagged(document, self._of(document)).labels for document in documents]

    def _tagged(self, document: Placed, found: Spread) -> Tagged:
        return tagged(self.outputs, found, document.words, self.repeated)

    def classes(self, documents: Sequence[Placed]) -> list[Classified]:
        """Returns the class of each document, in their order. Of several chunks the mean counts, each with its number
        of tokens. Raises ValueError for a model of tags, and else as `tags`."""
        found = self.probabilities(documents, CLASSES)
        return [
            Classified(self.outputs[int(own[0].argmax())] if chunks else None, own[0], chunks)
            for own, chunks, _ in found
        ]

    def probabilities(self, documents: Sequence[Placed], head: str) -> list[Spread]:
        """Returns the probabilities of each document. Raises as `tags` and `classes`."""
        if head != self.head:
            raise ValueError(f"this model knows {self.head}, and {head} are asked for; take the other kind of model")
        check_places(self.reading.patterns, documents)
        warn_of(documents, boxes=self.network.architecture.boxes)
        with torch.inference_mode(), threads_for(self.network):
            found = [self._of(document) for document in documents]
        warn_of_unread(found, documents, self.reading.max_length)
        return found

    def _of(self, document: Placed) -> Spread:
        if not len(document.words):
            none = np.full((1, len(self.outputs)), np.nan)
            return Spread(none if self.head == CLASSES else none[:0], 0)
        try:
            chunks = self.reading.chunks(document)
            return self.joined(chunks)._replace(unread=len(document.words) - chunks[-1].stretch.end)
        except torch.OutOfMemoryError as error:
            raise ValueError(f"{named(document)}: it does not fit into memory; lower max_length") from error

    def joined(self, chunks: Sequence[Chunk]) -> Spread:
        """Returns the probabilities of a document from its chunks, as `Reading.chunks` gives them. Words behind the
        last chunk have none."""
        found = [self._read(chunk).numpy() for chunk in chunks]
        lengths = [len(chunk.document.tokens.ids) for chunk in chunks]
        if self.head == CLASSES:
            return Spread(np.average(np.concatenate(found), 0, lengths, keepdims=True), len(chunks))
        stretches = [chunk.stretch for chunk in chunks]
        counts = np.zeros(stretches[-1].end, np.int64)
        for chunk in chunks:
            counts[slice(*chunk.stretch)] = word_counts(chunk.document.tokens)
        owners, whole = owners_of(stretches, counts), np.empty((len(counts), len(self.outputs)))
        for number, (own, stretch) in enumerate(zip(found, stretches, strict=True)):
            mine = owners[slice(*stretch)] == number
            whole[slice(*stretch)][mine] = own[mine]
        return Spread(whole, len(chunks))

    def _read(self, chunk: Chunk) -> Tensor:
        """Returns probabilities of the words of a chunk, or of the chunk, float64."""
        tokens, plans, _ = batch_of([chunk.document], self.network.guess_bias.device)
        forward: Callable[..., Tensor] = getattr(self.network, self.head)
        return forward(tokens, plans).double().softmax(1).cpu()

    def save(self, folder: str | Path, *, more: Mapping[str, Any] | None = None) -> None:
        """Writes documents.json (architecture, how documents are read, names of outputs, SHA-256 of the vocabulary,
        `more` plain values), vocabulary.json and documents.npz (the weights) into a new folder, which appears under its
        name when it is whole. Raises FileExistsError where something is there."""
        description = {
            "architecture": asdict(self.network.architecture), "head": self.head, "outputs": list(self.outputs),
            "reading": {name: plain(getattr(self.reading, name), name) for name in READ}, "more": dict(more or {}),
            "repeated": self.repeated, "vocabulary": self.reading.vocabulary.digest,
        }  # fmt: skip
        arrays: dict[str, Any] = {name: value.cpu().numpy() for name, value in self.network.state_dict().items()}
        with folder_written_whole(Path(folder)) as partial:
            (partial / DESCRIPTION).write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
            (partial / VOCABULARY).write_text(self.reading.vocabulary.to_json(), encoding="utf-8")
            np.savez(partial / ARRAYS, allow_pickle=False, **arrays)


def tagged(names: Sequence[str], found: Spread, words: Sequence[str] = (), least: float | None = None) -> Tagged:
    """Returns the most probable tags of the words that are legal, see `best_tags`, and the entities that they make.
    words, least: as of `repeated`, by which places of the same words decide together."""
    labels = repeated(words, best_tags(np.log(np.maximum(found.probabilities, LEAST)), names), least)
    numbers, places = np.zeros(len(labels), np.int64), [names.index(label) for label in labels]
    for number, entity in enumerate(entities(labels), start=1):
        numbers[entity.first : entity.end] = number
    return Tagged(labels, found.probabilities[np.arange(len(labels)), places], numbers, found.chunks)


def share_of_places(repeated: Any) -> float | None:
    """Returns the least share of the places of the same words that `repeated` asks for, None for places by themselves.
    Raises TypeError for what is no number, and ValueError for one that is not above 0 and at most 1."""
    if repeated is None:
        return None
    wanted = f"repeated must be above 0 and at most 1, got {shown(repeated)}; None turns it off"
    if isinstance(repeated, bool) or not isinstance(repeated, int | float | np.integer | np.floating):
        raise TypeError(wanted)
    if not 0 < repeated <= 1:
        raise ValueError(wanted)
    return float(repeated)


def warn_of(documents: Sequence[Placed], *, boxes: bool, stacklevel: int = 4) -> None:
    """Warns, with their number, of documents without words, and where boxes are read of words without a box."""
    empty = sum(not len(document.words) for document in documents)
    if empty:
        warnings.warn(
            f"{empty} of {len(documents)} documents have no words; nothing is said of them", stacklevel=stacklevel
        )
    lacking = sum(int(without_box(document).sum()) for document in documents) if boxes else 0
    if lacking:
        every = sum(len(document.words) for document in documents)
        place = "each is taken to stand at the last word of its page before it that has one, else at the next"
        warnings.warn(f"{lacking} of {every} words have no box; {place}", stacklevel=stacklevel)


def warn_of_unread(found: Sequence[Spread], documents: Sequence[Placed], most: int) -> None:
    """Warns, with their number, of words behind the first chunk of a reading that is not whole."""
    unread, every = sum(own.unread for own in found), sum(len(document.words) for document in documents)
    if unread:
        warnings.warn(f"{unread} of {every} words are not read, as this model was trained to read the first {most} "
                      "tokens of a document alone", stacklevel=4)  # fmt: skip


def load_predictor(folder: str | Path) -> DocumentPredictor:
    """Returns the predictor that `save` wrote into a folder; it says the same. Nothing is unpickled. Raises ValueError
    for a folder without one, or with another vocabulary than the one that was saved, and ImportError without the
    package tokenizers."""
    return load_with(folder)[0]


def load_with(folder: str | Path) -> tuple[DocumentPredictor, dict[str, Any]]:
    """Returns the predictor that `save` wrote into a folder, and the values that were written with it. Raises as
    `load_predictor`."""
    folder = Path(folder)
    refuse_missing(folder, (DESCRIPTION, VOCABULARY, ARRAYS))
    with readable(folder):
        described = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        state = read_tensors(folder / ARRAYS)
        architecture, spelling = Architecture(**described["architecture"]), state.get("embedding.spelling.rows")
        network = DocumentNetwork(architecture, seed=0, spelling=spelling)
        network.to(state["guess_bias"].dtype).load_state_dict(state)
        vocabulary = read_vocabulary(folder / VOCABULARY, described.get("vocabulary"))
        read = BEFORE | described["reading"]
        how = {name: made_of(read[name]) for name in READ}
        reading = Reading(vocabulary, layers=network.architecture.layers, **how)
        own = network.eval(), reading, described["head"], tuple(described["outputs"]), described.get("repeated")
        return DocumentPredictor(*own), described["more"]
