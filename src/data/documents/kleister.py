"""`data=kleister_nda`: long contracts (T. Stanisławek and others 2021), words with boxes and what they agree upon.

The contracts are filings with the SEC. Only the values of a document are published, not where they stand. So tags are
made by looking for the values in the words (`data.documents.matching`); the shares that are found are in the counts of
the data. No answer is made up.
"""

from __future__ import annotations

import functools
import json
import lzma
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from data.base import DataError, check_whole_numbers
from data.documents.generator import SyntheticDocuments, with_kinds
from data.documents.matching import Found, find_values, said
from data.documents.values import normalised
from data.files.download import sha256_of
from data.files.published import PutByHand
from data.files.textfile import fail, read_rows
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

NAME = "kleister_nda"
BOXES = "words_boxes.jsonl.xz"  # from the text layer of the published PDFs
CHECKSUMS = {
    BOXES: "6d1a2194085b24478a192f14220a9cc42ff62341db3d5468e2e1d9e1fb79c57e",
    "train/in.tsv.xz": "f8bd7eb0f05829b470040e31164ca5735c22d758754b5fd59e272ac33a4eddd7",
    "train/expected.tsv": "db71adab8293add4380c4c87b6025e6f660c4fed772fda902a79e3f7547b35e9",
    "dev-0/in.tsv.xz": "728e6b4ce5f2347a596b9ed28f04fcee07b712cc12362155e489b2fe3e26eb48",
    "dev-0/expected.tsv": "2ac328d80ad15688a613d78d96384dca0f13aa99fad1952012a55a31052dca34",
}


@dataclass(frozen=True)
class ContractFiles(PutByHand):
    """Names the files of contracts, of which the words with boxes may be of another extraction."""

    def check(self, path: Path, sha256: str) -> None:
        """Warns of words and boxes that are not those of the documentation. Raises DataError for another file that is
        not the published one."""
        if path.name != BOXES:
            super().check(path, sha256)
        elif sha256_of(path) != sha256:
            warnings.warn(f"{path}: words of another extraction; scores differ from the documented ones", stacklevel=4)


FILES = ContractFiles(
    NAME, "published", "https://github.com/applicaai/kleister-nda", CHECKSUMS, stand_in="generated documents"
)
KINDS = ("party", "jurisdiction", "effective_date", "term")
TAGS = tags_of_kinds(KINDS)
DROPPED = "724a6c9ea428637bd128cafb401b8a7e.pdf"  # the words of its text layer came out of order
OTHER, LEAST = "other", 5  # the class of jurisdictions that fewer documents have
SPLITS = ("train", "dev-0")

Answers = tuple[tuple[str, str], ...]


class Contract(NamedTuple):
    """Holds a document without tags, and what is to be found in it: kinds and values."""

    document: Document
    answers: Answers

    @property
    def jurisdiction(self) -> str:
        """The law that governs the contract, "other" where none is given."""
        return next((value.replace("_", " ") for kind, value in self.answers if kind == "jurisdiction"), OTHER)

    def tagged(self, classes: Sequence[str]) -> Document:
        """Returns the document with tags where its words say a value, its class, and its values."""
        tags = tags_of(len(self.document.words), find_values(self.document.words, self.answers))
        label = self.jurisdiction if self.jurisdiction in classes else OTHER
        values = tuple(sorted({(kind, normalised(kind, value)) for kind, value in self.answers}))
        return self.document._replace(tags=tags, label=label, values=values)


def tags_of(count: int, found: Sequence[Found]) -> tuple[str, ...]:
    """Returns tags of that many words, in IOB2."""
    tags = [OUTSIDE] * count
    for own in found:
        tags[own.first : own.end] = tags_of_entity(own.kind, own.end - own.first)
    return tuple(tags)


def unpacked(path: Path) -> list[str]:
    """Returns the lines of a packed file. Raises DataError for one that cannot be read."""
    try:
        return lzma.decompress(path.read_bytes()).decode("utf-8").removesuffix("\n").split("\n")
    except (OSError, lzma.LZMAError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read ({error}); put the original file there") from error


def read_answers(folder: Path) -> dict[str, Answers]:
    """Returns the kinds and values of each document of a split, by its file's name. Raises DataError for files that do
    not fit each other, and, naming the line, for what is no answer."""
    names = [row.partition("\t")[0] for row in unpacked(folder / "in.tsv.xz")]
    path = folder / "expected.tsv"
    rows = read_rows(path)
    if len(names) != len(rows):
        raise DataError(f"{path}: {len(rows)} lines, and {len(names)} in in.tsv.xz; put the original files there")
    return {name: answers_in(path, i, row) for i, (name, row) in enumerate(zip(names, rows, strict=True), start=1)}


def answers_in(path: Path, line: int, row: str) -> Answers:
    """Returns the kinds and values of a line, each once."""
    answers = [tuple(item.split("=", 1)) for item in dict.fromkeys(row.split())]
    for answer in answers:
        if len(answer) != 2 or answer[0] not in KINDS or not answer[1]:
            fail(path, line, f"{'='.join(answer)!r} is no answer; give KIND=VALUE, a kind of {', '.join(KINDS)}")
    return tuple((kind, value) for kind, value in answers)


def read_documents(path: Path) -> dict[str, Document]:
    """Returns the documents of the file of words and boxes, by their files' names. Raises DataError, naming the line,
    for what is none."""
    found: dict[str, Document] = {}
    for i, row in enumerate(unpacked(path), start=1):
        try:
            record = json.loads(row)
            found[record["file"]] = document_of(record)
        except (ValueError, KeyError, TypeError) as error:
            fail(path, i, f"no document with file and pages of size, words and boxes ({error!r:.80})")
    return found


def document_of(record: Mapping[str, Any]) -> Document:
    """Returns the document of a line. Characters that are not seen are left out, and words of nothing else."""
    words, boxes, pages = list[str](), list[Sequence[float]](), list[int]()
    for number, page in enumerate(record["pages"]):
        for word, box in zip(page["words"], page["boxes"], strict=True):
            seen = visible(word)
            if seen:
                words.append(seen)
                boxes.append(box)
                pages.append(number)
    sizes = tuple(Page(*map(float, page["size"])) for page in record["pages"])
    return Document(
        record["file"].removesuffix(".pdf"), tuple(words), np.array(boxes, np.float32).reshape(-1, 4),
        np.array(pages, np.int16), sizes,
    )  # fmt: skip


def read_split(folder: Path, split: str, documents: Mapping[str, Document]) -> list[Contract]:
    """Returns the contracts of a split in their published order. Raises DataError for one without words."""
    answers = read_answers(folder / split)
    lacking = next((name for name in answers if name not in documents), None)
    if lacking is not None:
        raise DataError(f"{folder / BOXES}: no document {lacking}, which {split}/in.tsv.xz has; mend one of them")
    return [Contract(documents[name], own) for name, own in answers.items() if name != DROPPED]


def match_rates(contracts: Sequence[Contract], ending: str) -> dict[str, float]:
    """Returns by kind the share of the values that the words of their document say; kinds without a value are left
    out."""
    asked, found = Counter[str](), Counter[str]()
    for contract in contracts:
        asked.update(kind for kind, _ in contract.answers)
        found.update(kind for kind, _ in said(contract.document.words, contract.answers))
    return {f"match_rate_{kind}{ending}": found[kind] / asked[kind] for kind in KINDS if asked[kind]}


def classes_of(contracts: Sequence[Contract], least: int) -> tuple[str, ...]:
    """Returns the jurisdictions of at least that many contracts, by the alphabet, and "other"."""
    counts = Counter(contract.jurisdiction for contract in contracts)
    return (*sorted(name for name, count in counts.items() if count >= least and name != OTHER), OTHER)


def read_kleister(folder: Path, *, validation: int, seed: int, least: int = LEAST) -> Documents:
    """Returns the contracts of the files in a folder: dev-0 as test part, and of train that many for validation.

    least: contracts that a jurisdiction needs to be a class. Raises DataError as `KleisterNda` says.
    """
    documents = read_documents(folder / BOXES)
    learned, test = (read_split(folder, split, documents) for split in SPLITS)
    classes = classes_of(learned, least)
    own, held = ([contract.tagged(classes) for contract in contracts] for contracts in (learned, test))
    parts = {**held_out(own, validation, seed=seed, where=NAME), "test": tuple(held)}
    counts = match_rates(learned, "") | match_rates(test, "_test")
    return Documents(NAME, parts, FILES.source, classes, TAGS, counts=counts)


@functools.lru_cache(maxsize=2)  # jobs of a multirun ask for those of the same few seeds
def stand_in(seed: int) -> Documents:
    """Returns generated documents with tags of the same kinds, kept for the next call; the class is the kind of the
    first one asked for."""
    made = with_kinds(SyntheticDocuments(cue="textual", values=len(KINDS), seed=seed).load(), NAME, KINDS)
    parts = {part: tuple(labelled(own) for own in documents) for part, documents in made.parts.items()}
    return replace(made, parts=parts, classes=KINDS)


def labelled(document: Document) -> Document:
    """Returns a generated document with the kind of the first answer that is asked for as its class."""
    return document._replace(label=document.tags[int(document.cues[0, 0])][2:])


@dataclass(frozen=True, kw_only=True)
class KleisterNda(Source):
    """Loads 336 contracts of 249 to 11,191 words: tags of party, jurisdiction, effective date and term, and as a
    class the jurisdiction.

    validation: how many of the 253 training documents are drawn for validation under `seed`; dev-0 is the test part,
    as no answers of test-A are public. Jurisdictions of fewer than five training documents are the class "other".
    source: "auto", "published" or "stand_in". root: the folder that holds `kleister_nda/`.
    Raises DataError for a number out of range, and for files that are damaged, or missing with source=published.
    """

    validation: Count = 40
    seed: Seed = 0
    source: str = "auto"
    root: str | None = None

    def load(self) -> Documents:
        """Returns the data. Raises DataError as the class says."""
        check_whole_numbers(NAME, {"validation": self.validation})
        check_whole_numbers(NAME, {"seed": self.seed}, least=0)
        if FILES.find(self.root, source=self.source) is None:
            return stand_in(self.seed)
        folder = FILES.folder_below(self.root)
        return read_kleister(folder, validation=self.validation, seed=self.seed)
