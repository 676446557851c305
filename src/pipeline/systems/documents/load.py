"""Documents as a network learns from them: a vocabulary of their training texts, tokens, and plans of attention."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from tqdm import tqdm

from data.base import DataError
from data.documents.noise import read_badly
from data.pages import OUTSIDE, PARTS, Document, Documents
from models.documents.chunks import Chunk, Reading, check_places
from models.documents.predictor import warn_of
from models.sequence.vocabulary import Vocabulary
from pipeline.host.errors import PipelineError
from pipeline.job.shortened import say_shortened
from pipeline.job.vocabulary import learned, shared_vocabulary
from pipeline.settings.build import build
from pipeline.systems.documents.checks import patterns_of
from pipeline.systems.documents.config import DocumentsConfig

USES = {"train": "the network learns", "validation": "the best epoch is chosen", "test": "the network is scored"}


class Piece(NamedTuple):
    """Holds a chunk of a document, and the document's place in its part."""

    document: int
    chunk: Chunk


def chunks_by_document(pieces: Sequence[Piece]) -> Iterator[tuple[int, list[Chunk]]]:
    """Yields each document's place with its chunks."""
    places: dict[int, list[Chunk]] = {}
    for place, chunk in pieces:
        places.setdefault(place, []).append(chunk)
    yield from places.items()


class Loaded(NamedTuple):
    """Holds the data, how they are read, the chunks of each part, those that hidden words are learned from with their
    data, and where to compute."""

    data: Documents
    reading: Reading
    parts: Mapping[str, list[Piece]]
    guessed: Mapping[str, list[Piece]]
    guessed_data: Documents
    device: torch.device


class Read(NamedTuple):
    """Holds the data of a run, and those that hidden words are learned from, mostly the same."""

    data: Documents
    guessed: Documents


def load(settings: DocumentsConfig) -> Read:
    """Returns the data, cut as `size` says. Raises PipelineError where data= names no documents, or none with what the
    task asks for; warns of words without a box."""
    data = documents_of("data", settings.data, settings)
    check_answers(settings.documents.task, data)
    other = settings.pretrain_on is not None
    read = Read(data, documents_of("pretrain_on", settings.pretrain_on, settings) if other else data)
    sources = read if other else read[:1]
    for found in sources:
        check_boxes(settings, found)
    every = [own for found in sources for _, own in found.all()]
    warn_of(every, boxes=settings.documents.layout == "boxes", stacklevel=3)
    return read


def documents_of(group: str, section: Any, settings: DocumentsConfig) -> Documents:
    """Returns the documents of a section of the settings, cut as `size` says, which is printed. Raises PipelineError
    where it names none."""
    data = build(group, section, settings.extensions)
    if not isinstance(data, Documents):
        raise PipelineError(
            f"recipe=documents takes words with boxes; choose {group}=documents_table (your own), kleister_nda, funsd "
            "or synthetic_documents"
        )
    own, most = settings.documents, settings.size.sequences
    less = data.shortened(train=most, held=most)
    kept, there = (sum(map(len, found.parts.values())) for found in (less, data))
    say_shortened(data.name, kept=kept, there=there, most=most, unit="documents, at most so many of a part")
    return read_badly(less, jitter=own.jitter, shuffle=own.shuffle, seed=0)  # all seeds read the same documents


def check_boxes(settings: DocumentsConfig, data: Documents) -> None:
    """Raises DataError, naming the first, for a document of which no word has a box, where attention is to what is near
    on the page."""
    patterns = patterns_of(settings)
    documents = (document for _, document in data.all())
    with said_of_data(data):
        check_places(patterns, documents, "choose documents.layout=text attention=sliding_window")


def check_answers(task: str, data: Documents) -> None:
    """Raises PipelineError for data without the tags or classes that a task needs, for training documents of one class,
    and for a part without an entity, as nothing could be learned, chosen or scored by it."""
    if task == "entities" and not data.tags:
        raise PipelineError(f"documents.task=entities: {data.name} has no tags; give some, or take another task")
    if task == "classes" and not data.classes:
        raise PipelineError(f"documents.task=classes: {data.name} has no labels; give some, or take another task")
    learned = names_in(task, data.parts["train"])
    if task == "classes" and len(learned) == 1:
        raise PipelineError(
            f"documents.task=classes: {data.name} has one label alone, {learned.pop()!r}, in its "
            f"{len(data.parts['train'])} train documents, by which {USES['train']}; give it documents of two at least "
            "(column part, or another data.seed or size)"
        )
    for part, what in USES.items() if task == "entities" else ():
        if not names_in(task, data.parts[part]):
            other = "size" if part == "train" else f"data.{part}"
            raise PipelineError(
                f"documents.task=entities: {data.name} has no entity in its {len(data.parts[part])} {part} documents, "
                f"by which {what}; give it documents with entities (column part, or another data.seed or {other})"
            )


def outputs_of(task: str, data: Documents) -> tuple[str, ...]:
    """Returns the names of a task's outputs."""
    return {"entities": data.tags, "classes": data.classes, "mlm": ()}[task]


def vocabulary_of(settings: DocumentsConfig, read: Read) -> Vocabulary:
    """Returns the vocabulary of the training texts; it is learned once for all runs that want it.

    It has as many pieces as `documents.vocabulary` says, or as the texts allow; a warning says so, but for generated
    documents and under a limit of `size`. Raises PipelineError for fewer pieces than the bytes need.
    """
    own = settings.documents
    follows_from = (sorted({data.checksum for data in read}), own.vocabulary, own.lower_case)
    kept = settings.tracking.enabled
    found = Vocabulary.from_json(shared_vocabulary(follows_from, lambda: learned_of(settings, read), kept=kept))
    made = all(data.source == "simulated" or data.stand_in for data in read)
    if found.size < own.vocabulary and not made and settings.size.sequences is None:
        warnings.warn(f"the training texts allow {found.size} of the {own.vocabulary} pieces that documents.vocabulary "
                      "asks for; these are taken", stacklevel=2)  # fmt: skip
    return found


def learned_of(settings: DocumentsConfig, read: Read) -> Vocabulary:
    """Returns the vocabulary of the training texts."""
    own, every = settings.documents, {data.checksum: data for data in read}.values()
    joined = [" ".join(document.words) for data in every for document in data.parts["train"]]
    texts = [f" {text.lower() if own.lower_case else text}" for text in joined]
    return learned(texts, own.vocabulary, key="documents.vocabulary", may_be_fewer=True)


def reading_of(settings: DocumentsConfig, vocabulary: Vocabulary) -> Reading:
    """Returns how documents are read."""
    own = settings.documents
    return Reading(
        vocabulary, patterns_of(settings), settings.encoder.layers, own.max_length, own.stride, own.lower_case,
        settings.seed, own.overflow == "chunk",
    )  # fmt: skip


def unlearned(task: str, data: Documents) -> list[str]:
    """Returns the kinds of entities, or the classes, that validation and test documents have and no training document
    has. A model knows of their outputs and cannot learn them, so that they count as missed."""
    found = {part: names_in(task, documents) for part, documents in data.parts.items()}
    return sorted((found["validation"] | found["test"]) - found["train"])


def names_in(task: str, documents: Sequence[Document]) -> set[str]:
    """Returns the kinds of entities, or the classes, that documents have; none where hidden words are guessed."""
    if task == "entities":
        return {tag[2:] for own in documents for tag in own.tags if tag != OUTSIDE}
    return {str(own.label) for own in documents} if task == "classes" else set()


def targets_of(task: str, names: Sequence[str], document: Document) -> torch.Tensor:
    """Returns what a document is learned by: the tags of its words, its class, or nothing."""
    if task == "mlm":
        return torch.zeros(0, dtype=torch.int64)
    number = {name: place for place, name in enumerate(names)}
    answers = document.tags if task == "entities" else (str(document.label),)
    return torch.tensor([number[answer] for answer in answers])


def pieces_of(settings: DocumentsConfig, reading: Reading, data: Documents, task: str) -> dict[str, list[Piece]]:
    """Returns the chunks of each part, with a bar; the first of each document alone with documents.overflow=cut. With
    documents.task=mlm documents are scored whole in any case, so that all networks guess the same tokens. Raises
    DataError, naming the document, for one that cannot be read."""
    scored = replace(reading, whole=True) if settings.documents.task == "mlm" else reading
    parts: dict[str, list[Piece]] = {part: [] for part in PARTS}
    with tqdm(total=sum(map(len, data.parts.values())), desc="plan", unit="document", leave=False, disable=None) as bar:
        for part, documents in data.parts.items():
            how = reading if part == "train" else scored
            for place, document in enumerate(documents):
                targets = targets_of(task, outputs_of(task, data), document)
                with said_of_data(data):
                    chunks = how.chunks(document, targets)
                parts[part] += [Piece(place, chunk) for chunk in chunks]
                bar.update()
    return parts


@contextmanager
def said_of_data(data: Documents) -> Iterator[None]:
    """Raises the ValueError of the block as DataError, with the name of the data in front."""
    try:
        yield
    except ValueError as error:
        raise DataError(f"{data.name}, {error}") from error


def prepare(settings: DocumentsConfig, read: Read, vocabulary: Vocabulary, device: torch.device) -> Loaded:
    """Returns the data ready to be learned from."""
    reading = reading_of(settings, vocabulary)
    parts = pieces_of(settings, reading, read.data, settings.documents.task)
    needed = settings.pretrain.steps and read.guessed is not read.data
    guessed = pieces_of(settings, reading, read.guessed, "mlm") if needed else parts
    return Loaded(read.data, reading, parts, guessed, read.guessed, device)
