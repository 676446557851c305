"""`data=funsd`: FUNSD (G. Jaume and others 2019), 199 scanned forms with header, question and answer.

Its terms allow research and teaching that is not commercial, and no publishing of the forms.
"""

from __future__ import annotations

import functools
import json
import lzma
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from data.base import DataError, check_whole_numbers
from data.documents.generator import SyntheticDocuments, with_kinds
from data.documents.order import by_lines
from data.files.published import PutByHand
from data.pages import (
    OUTSIDE,
    Document,
    Documents,
    Page,
    held_out,
    tags_of_entity,
    tags_of_kinds,
    visible,
)
from data.ranges import Count, Seed
from data.source import Source

NAME = "funsd"
CHECKSUMS = {"annotations.tar.xz": "05d44f052f6947f9518df339c90d5baa61c08203ce2c30dec840c2937e57729d"}
FILES = PutByHand(
    NAME, "published", "https://guillaumejaume.github.io/FUNSD/", CHECKSUMS, stand_in="generated documents"
)
KINDS = ("header", "question", "answer")
LABELS = (*KINDS, "other")
ORDERS = ("file", "lines")
TAGS = tags_of_kinds(KINDS)
LEAST_SIZE = Page(754.0, 1000.0)  # the files do not tell the size of a page; most have this one
FOLDERS = {"train": "training_data", "test": "testing_data"}
MOST_BYTES = 10_000_000  # of a form


def read_archive(path: Path) -> dict[str, list[Document]]:
    """Returns the forms of both folders, by their names. Raises DataError, naming the form, for what is none."""
    found: dict[str, list[Document]] = {part: [] for part in FOLDERS}
    try:
        with tarfile.open(path, "r:xz") as archive:
            for member in sorted((own for own in archive if own.isfile()), key=lambda own: own.name):
                part = next((part for part, folder in FOLDERS.items() if folder in Path(member.name).parts), None)
                stream = archive.extractfile(member)
                if part is None or stream is None or not member.name.endswith(".json"):
                    continue
                content = stream.read(MOST_BYTES)
                found[part].append(form_of(f"{path}, {member.name}", Path(member.name).stem, content))
    except (OSError, EOFError, tarfile.TarError, lzma.LZMAError) as error:
        raise DataError(f"{path}: cannot be read ({error}); put the original file there") from error
    return found


def form_of(where: str, name: str, content: bytes) -> Document:
    """Returns the document of a form. Raises DataError, beginning with `where`, for what is none."""
    try:
        return document_of(name, json.loads(content))
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{where}: no form of entities with label and words of text and box ({error!r:.80})") from error


def document_of(name: str, record: Mapping[str, Any]) -> Document:
    """Returns the words of a form's entities, in the order of the file; blank ones are left out."""
    words, boxes, tags = list[str](), list[list[float]](), list[str]()
    for entity in record["form"]:
        if entity["label"] not in LABELS:
            raise ValueError(f"label {entity['label']}")
        seen = [(visible(own["text"]), own["box"]) for own in entity["words"]]
        kept = [(word, box) for word, box in seen if word]
        words += [word for word, _ in kept]
        boxes += [box for _, box in kept]
        tags += tags_of(entity["label"], len(kept))
    sides = np.array(boxes, np.float32).reshape(-1, 4)
    return Document(
        name, tuple(words), sides, np.zeros(len(words), np.int16), (page_around(sides),), tags=tuple(tags)
    )  # fmt: skip


def tags_of(label: str, count: int) -> list[str]:
    """Returns the tags of an entity's words, in IOB2."""
    return tags_of_entity(label, count) if label in KINDS else [OUTSIDE] * count


def page_around(boxes: np.ndarray) -> Page:
    """Returns the size of a page: 754 × 1000, or as much more as its boxes take."""
    furthest = boxes[:, 2:].max(axis=0, initial=0.0)
    return Page(*(max(least, float(own)) for least, own in zip(LEAST_SIZE, furthest, strict=True)))


def split_forms(forms: Mapping[str, list[Document]], *, validation: int, seed: int) -> Documents:
    """Returns the forms in three parts; that many of training are drawn for validation. Raises DataError where none is
    left."""
    learned = held_out(forms["train"], validation, seed=seed, where=NAME, called="forms")
    return Documents(NAME, {**learned, "test": tuple(forms["test"])}, FILES.source, tags=TAGS)


@functools.lru_cache(maxsize=2)  # jobs of a multirun ask for those of the same few seeds
def stand_in(seed: int) -> Documents:
    """Returns generated documents of which three answers are called header, question and answer, kept for the next
    call."""
    made = SyntheticDocuments(cue="spatial", values=len(KINDS), words=200, seed=seed).load()
    return with_kinds(made, NAME, KINDS)


@dataclass(frozen=True, kw_only=True)
class Funsd(Source):
    """Loads 199 forms of one page, with tags of header, question and answer.

    validation: how many of the 149 training forms are drawn for validation under `seed`; the 50 test forms are those
    that were published as such. order: of the words, "file", which has them entity by entity, or "lines", as they stand
    on the page from top to bottom and left to right; an entity that other words cut is then several. source: "auto",
    "published" or "stand_in". root: the folder that holds `funsd/`.
    Raises DataError for a number out of range, and for a file that is damaged, or missing with source=published.
    """

    validation: Count = 20
    seed: Seed = 0
    order: str = "file"
    source: str = "auto"
    root: str | None = None

    def load(self) -> Documents:
        """Returns the data. Raises DataError as the class says."""
        check_whole_numbers(NAME, {"validation": self.validation})
        check_whole_numbers(NAME, {"seed": self.seed}, least=0)
        if self.order not in ORDERS:
            raise DataError(f"{NAME}: order={self.order} is unknown; choose one of {', '.join(ORDERS)}")
        data = self.as_filed()
        return by_lines(data) if self.order == "lines" else data

    def as_filed(self) -> Documents:
        """Returns the data in the order of the file, or its stand-in. Raises DataError for files as `load`."""
        found = FILES.find(self.root, source=self.source)
        if found is None:
            return stand_in(self.seed)
        return split_forms(read_archive(found[0]), validation=self.validation, seed=self.seed)
