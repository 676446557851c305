"""`data=documents_table`: documents of the user's own, a table with a word a row."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NoReturn

import numpy as np
import pandas as pd

from data.base import DataError, check_whole_numbers
from data.drawn_parts import Shares
from data.files.cells import numbers_of, said_of_point, texts_of
from data.files.table_files import DECIMALS, TextFormat, existing_file, read_frame
from data.pages import OUTSIDE, PARTS, SIDES, Document, Documents, Page, tags_of_kinds, visible
from data.ranges import Seed, Share
from data.same_content import OwnSamples
from data.source import Source

DOCUMENT, PAGE, WORD, TAG, LABEL, PART = "document", "page", "word", "tag", "label", "part"
SIZE = ("page_width", "page_height")
NEEDED = (DOCUMENT, PAGE, WORD, *SIDES, *SIZE)
MOST_PAGE = 32_767
INSTEAD = {LABEL: ", or rename the column where it holds what a model said of each word"}


@dataclass(frozen=True, eq=False)
class WordTable:
    """Holds the rows of a file, a word each, those of a document together."""

    file: Path
    frame: pd.DataFrame
    decimal: str = "."

    @classmethod
    def read(cls, path: str | None, text: TextFormat) -> WordTable:
        """Reads a file. Raises DataError for one that cannot be read, and for a column that is missing."""
        file = existing_file(path)
        frame = read_frame(file, TextFormat(text.delimiter, text.decimal, as_written=True))[0]
        missing = [name for name in NEEDED if name not in frame.columns]
        if missing:
            there = ", ".join(map(str, frame.columns))
            raise DataError(f"{file}: no column {missing[0]!r}; there are {there}; needed are {', '.join(NEEDED)}")
        return cls(file, frame, DECIMALS.get(text.decimal, text.decimal))

    def fail(self, row: int, what: str) -> NoReturn:
        """Raises DataError that names the row as an editor does, the header being row 1, and its document, page and
        word."""
        document, page, word = (str(self.frame[name].iloc[row])[:60] for name in (DOCUMENT, PAGE, WORD))
        raise DataError(f"{self.file}, row {row + 2}, document {document}, page {page}, word {word!r}: {what}")

    def texts(self, name: str) -> list[str]:
        """Returns the cells of a column as texts, "" where one is missing."""
        return texts_of(self.frame[name])

    def filled(self, name: str) -> list[str]:
        """Returns the cells of a column. Raises DataError for an empty one."""
        texts = self.texts(name)
        empty = next((row for row, text in enumerate(texts) if not text), None)
        if empty is not None:
            self.fail(empty, f"column {name!r} is empty; fill it in or drop the row{INSTEAD.get(name, '')}")
        return texts

    def numbers(self, name: str) -> np.ndarray:
        """Returns a column as float64, NaN for an empty cell. Raises DataError for what is no finite number."""
        texts = self.texts(name)
        values = numbers_of(pd.Series([text or None for text in texts], dtype=object), self.decimal)
        bad = np.flatnonzero(np.array([bool(text) for text in texts]) & ~np.isfinite(values))
        if len(bad):
            cell = texts[bad[0]]
            self.fail(int(bad[0]), f"column {name!r}: {cell!r} is no finite number{said_of_point(cell, self.decimal)}")
        return values

    @cached_property
    def pages(self) -> np.ndarray:
        """The page of each row, from 0 on, int64 (row,). Raises DataError for a page that is no whole number from 0 or
        1 on."""
        pages = self.numbers(PAGE)
        bad = np.flatnonzero(~((pages >= 0) & (pages <= MOST_PAGE) & (pages == np.floor(pages))))
        if len(bad):
            self.fail(int(bad[0]), f"its page must be a whole number from 0 or 1 to {MOST_PAGE}")
        lengths = np.diff(self.starts, append=len(pages))
        return pages.astype(np.int64) - np.repeat(self.first_pages, lengths)

    @cached_property
    def first_pages(self) -> np.ndarray:
        """The number of the first page of each document, int64 (document,): 0 where a row of it has page 0, else 1."""
        return np.minimum.reduceat(np.minimum(self.numbers(PAGE), 1), self.starts).astype(np.int64)

    @cached_property
    def starts(self) -> np.ndarray:
        """The first row of each document, (document,). Raises DataError for a document without a name, and for one that
        begins again."""
        codes = pd.factorize(np.array(self.filled(DOCUMENT), dtype=object))[0]
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        again = np.flatnonzero(pd.Series(codes[starts]).duplicated())
        if len(again):
            self.fail(int(starts[again[0]]), "the document begins again; keep its rows together, in reading order")
        return starts

    def one_each(self, name: str) -> list[str]:
        """Returns the value of a column in each document. Raises DataError where it changes within one."""
        texts = np.array(self.filled(name), dtype=object)
        bad = np.setdiff1d(np.flatnonzero(texts[1:] != texts[:-1]) + 1, self.starts)
        if len(bad):
            way = f"give all its rows the same{INSTEAD.get(name, '')}"
            self.fail(int(bad[0]), f"column {name!r} changes within a document; {way}")
        return texts[self.starts].tolist()


def documents_of(table: WordTable) -> list[Document]:
    """Returns the documents of a table. Raises DataError, naming the row or the word, for what is none.

    Characters that are not seen are left out, and words of nothing else, counted in a warning.
    """
    words = [visible(word) for word in table.texts(WORD)]
    seen = np.array([bool(word) for word in words])
    if not seen.all():
        warnings.warn(f"{table.file}: {int((~seen).sum())} rows without a word are left out", stacklevel=3)
    boxes = np.column_stack([table.numbers(name) for name in SIDES]).astype(np.float32)
    sizes = np.column_stack([table.numbers(name) for name in SIZE])
    tags = tags_of(table, seen)
    labels = table.one_each(LABEL) if LABEL in table.frame.columns else [None] * len(table.starts)
    names = table.one_each(DOCUMENT)
    found = list[Document]()
    for i, rows in enumerate(np.split(np.arange(len(words)), table.starts[1:])):
        kept = rows[seen[rows]]
        own = tuple(tags[row] for row in kept) if tags else ()
        pages = table.pages[kept].clip(0).astype(np.int16)
        document = Document(
            f"{table.file}, document {names[i]}", tuple(words[row] for row in kept), boxes[kept], pages,
            page_sizes(table, rows, sizes), labels[i], own, first_page=int(table.first_pages[i]),
        )  # fmt: skip
        document.check()
        found.append(document._replace(name=names[i]))
    return found


def tags_of(table: WordTable, seen: np.ndarray) -> list[str]:
    """Returns the tag of each row, O for an empty one; none where the table has no column of tags.

    Warns, with the first row, of words without a tag in a column that writes O at other words: a document that nobody
    has tagged looks the same. seen: the rows with a word, (row,).
    """
    if TAG not in table.frame.columns:
        return []
    tags, words = table.texts(TAG), np.flatnonzero(seen).tolist()
    empty = [row for row in words if not tags[row]]
    if empty and any(tags[row] == OUTSIDE for row in words):
        warnings.warn(
            f"{table.file}: {len(empty)} of {len(words)} words have no tag, the first in row {empty[0] + 2}, document "
            f"{table.frame[DOCUMENT].iloc[empty[0]]}; they are taken for {OUTSIDE}, which others have; give them a "
            "tag, or leave documents without tags out",
            stacklevel=4,
        )
    return [tag or OUTSIDE for tag in tags]


def page_sizes(table: WordTable, rows: np.ndarray, sizes: np.ndarray) -> tuple[Page, ...]:
    """Returns the sizes of a document's pages; one without a row is as large as the page before, or else the first that
    has one. Raises DataError, naming the row, for a size that is missing, 0, or not the same in all rows of a page."""
    bad = rows[~(sizes[rows] > 0).all(axis=1)]
    if len(bad):
        table.fail(int(bad[0]), f"{' and '.join(SIZE)} are missing or 0; give the size of its page")
    known: dict[int, tuple[float, float]] = {}
    for row in rows.tolist():
        own = float(sizes[row, 0]), float(sizes[row, 1])
        if known.setdefault(int(table.pages[row]), own) != own:
            table.fail(row, "its page has two sizes; give all words of a page the same")
    last = known[min(known)]
    found = list[Page]()
    for page in range(max(known) + 1):
        last = known.get(page, last)
        found.append(Page(*last))
    return tuple(found)


def parts_of(table: WordTable) -> dict[str, np.ndarray]:
    """Returns the documents of each part as the column `part` says. Raises DataError for another part."""
    named = table.one_each(PART)
    bad = next((i for i, part in enumerate(named) if part not in PARTS), None)
    if bad is not None:
        table.fail(int(table.starts[bad]), f"its part {named[bad]!r} is unknown; choose one of {', '.join(PARTS)}")
    return {part: np.flatnonzero([own == part for own in named]) for part in PARTS}


@dataclass(frozen=True, kw_only=True)
class DocumentTable(Source):
    """Loads a table with columns `document, page, word, x0, y0, x1, y1, page_width, page_height`, a word a row in
    reading order, and `tag` of each word (O, B-kind, I-kind; empty is O), `label` of each document, or both.

    The four numbers of a box may be empty. Boxes and pages have one unit, from the top left of the page.
    path: the file. validation, test: shares of the documents, drawn under the seed; a column `part` says it instead.
    A draw keeps documents with the same words in one part. A warning counts them, and those that given parts share.
    delimiter, decimal: of a text file, see `data.files.table_files.TextFormat`.
    Raises DataError (one line: file, document, page, word) for what cannot be read or split.
    """

    path: str | None = None
    validation: Share = 0.1
    test: Share = 0.2
    seed: Seed = 0
    delimiter: str | None = None
    decimal: str = "point"

    def load(self) -> Documents:
        """Returns the data. Raises DataError as the class says."""
        check_whole_numbers("documents_table", {"seed": self.seed}, least=0)
        table = WordTable.read(self.path, TextFormat(self.delimiter, self.decimal))
        documents = documents_of(table)
        rows = self.split(table, documents)
        parts = {part: tuple(documents[i] for i in own) for part, own in rows.items()}
        classes = tuple(sorted({own.label for own in documents if own.label is not None}))
        kinds = sorted({tag[2:] for own in documents for tag in own.tags if tag != OUTSIDE})
        tags = tags_of_kinds(kinds) if kinds else ()
        return Documents(table.file.name.split(".")[0], parts, f"table:{table.file.name}", classes, tags)

    def split(self, table: WordTable, documents: Sequence[Document]) -> dict[str, np.ndarray]:
        """Returns the documents of each part, and warns of those with the same words. Raises DataError as the class
        says."""
        words, names = [own.words for own in documents], [own.name for own in documents]
        samples = OwnSamples(words, names, table.file, called="document", column=PART)
        if PART not in table.frame.columns:
            return samples.drawn(Shares(self.validation, self.test, self.seed))
        rows = parts_of(table)
        samples.warn_of_shared(rows)
        return rows
