"""`data=words_folder`: own images of words beside a table of `file`, `text` and perhaps `writer`."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from data.base import DataError, check_whole_numbers
from data.files.cells import texts_of
from data.files.table_files import TextFormat, existing_file, read_frame
from data.forms.images import MOST_PIXELS, Reading, Scan, read_file, said_inverted
from data.forms.parts import check_share, check_writers, groups_of, held_out, three_parts
from data.greys import digest_of
from data.ranges import Count, Seed, Share
from data.source import Source
from data.text_pairs import UNWANTED, tidied
from data.word_images import HandwrittenWords, WordImages

NAME = "words_folder"
FILE, TEXT, WRITER = "file", "text", "writer"
RIGHT_TO_LEFT = ("R", "AL")


class Rows(NamedTuple):
    """Holds the table of a folder of images: the table's file, its columns as texts, and where the images are."""

    table: Path
    columns: dict[str, list[str]]
    folder: Path

    def __len__(self) -> int:
        return len(self.columns[FILE])

    def place(self, row: int) -> str:
        """Returns a row as messages name it: as an editor counts, the header being row 1, with the image's file."""
        return f"{self.table}, row {row + 2}, file {self.columns[FILE][row]!r}"

    def fail(self, row: int, what: str) -> NoReturn:
        """Raises DataError that names the row."""
        raise DataError(f"{self.place(row)}: {what}")

    def image(self, row: int, reading: Reading) -> Scan:
        """Returns the image of a row. Raises DataError, naming the row, for one that cannot be used."""
        name = self.columns[FILE][row]
        if not name:
            self.fail(row, "column 'file' is empty; fill it in or drop the row")
        return read_file(self.folder / name, where=self.place(row), reading=reading)

    def text(self, row: int, name: str = TEXT) -> str:
        """Returns a text in form NFC. Raises DataError, naming the row, for one that is empty, holds what is no text,
        or is written from right to left."""
        text = tidied(self.columns[name][row])
        if not text:
            self.fail(row, f"column {name!r} is empty; fill it in or drop the row")
        if UNWANTED.search(text):
            self.fail(row, f"{name} {text[:40]!r} holds a character that is no text; remove it")
        if any(unicodedata.bidirectional(letter) in RIGHT_TO_LEFT for letter in text):
            self.fail(row, f"{name} {text[:40]!r} is written from right to left, which cannot be read; drop the row")
        return text


def read_rows(path: str | None, folder: str | None, needed: Sequence[str], *, delimiter: str | None = None) -> Rows:
    """Returns the rows of a table. folder: of the images; None: that of the table. delimiter: of a text file, see
    `data.files.table_files.TextFormat`.

    Raises DataError for a file that cannot be read and for a column or folder that is missing.
    """
    table = existing_file(path)
    frame = read_frame(table, TextFormat(delimiter, as_written=True))[0]
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        there = ", ".join(map(str, frame.columns))
        raise DataError(f"{table}: no column {missing[0]!r}; there are {there}; needed are {', '.join(needed)}")
    images = table.parent if folder is None else Path(folder).expanduser()
    if not images.is_dir():
        raise DataError(f"{images}: there is no such folder; give", give={"images": "FOLDER"})
    return Rows(table, {str(name): texts_of(frame[name]) for name in frame.columns}, images)


def words_of(rows: Rows, reading: Reading) -> WordImages:
    """Returns the images of all rows, and warns of those that are the same as another. Raises DataError, naming the
    row, for one that cannot be used, and for the same image with another text or writer."""
    said = (TEXT, WRITER) if WRITER in rows.columns else (TEXT,)
    scans, seen = dict[int, Scan](), dict[bytes, int]()
    for row in range(len(rows)):
        scans[row] = rows.image(row, reading)
        first = seen.setdefault(digest_of(scans[row].grey), row)
        other = [name for name in said if rows.text(row, name) != rows.text(first, name)]
        if other:
            rows.fail(row, f"it is the same image as that of row {first + 2}, with another {other[0]}; leave one out")
    said_inverted({rows.place(row): scan for row, scan in scans.items()})
    warn_of_repeats(rows.table, len(rows), len(seen))
    texts = {name: [rows.text(row, name) for row in range(len(rows))] for name in said}
    return WordImages.of([scan.grey for scan in scans.values()], texts[TEXT], texts.get(WRITER))


def warn_of_repeats(table: Path, count: int, different: int) -> None:
    """Warns where of that many images fewer are different ones."""
    if different < count:
        warnings.warn(
            f"{table}: {count - different} of {count} images are the same as another; each stays in one part with it",
            stacklevel=4,
        )


def whole_groups(words: WordImages, writers: str) -> Sequence[str]:
    """Returns what is kept together, a group a row, as `groups_of` does; each by itself, the same images are one."""
    if writers != "shared":
        return groups_of(words, writers)
    first, alone = dict[bytes, str](), groups_of(words, writers)
    return [first.setdefault(own, name) for own, name in zip(words.digests, alone, strict=True)]


@dataclass(frozen=True, kw_only=True)
class ImagesFolder(Source):
    """Holds the settings of a folder of images with a table, see `WordsFolder` and `data.forms.forms_folder`."""

    path: str | None = None
    images: str | None = None
    writers: str = "shared"
    validation: Share = 0.1
    test: Share = 0.2
    seed: Seed = 0
    most_pixels: Count = MOST_PIXELS
    invert: str = "auto"
    delimiter: str | None = None

    @property
    def disjoint(self) -> bool:
        """Whether all images of a writer are in one part."""
        return self.writers == "disjoint"

    def read(self, name: str, needed: Sequence[str]) -> tuple[Rows, Reading]:
        """Returns the rows of the table, which must have a column `writer` where writers are disjoint, and how images
        are read. Raises DataError for settings out of range, and as `read_rows`."""
        check_writers(name, self.writers)
        check_share(name, validation=self.validation, test=self.test)
        check_whole_numbers(name, {"seed": self.seed}, least=0)
        reading = Reading(self.most_pixels, self.invert)
        reading.check(name)
        columns = (*needed, WRITER) if self.disjoint else needed
        return read_rows(self.path, self.images, columns, delimiter=self.delimiter), reading


@dataclass(frozen=True, kw_only=True)
class WordsFolder(ImagesFolder):
    """Loads images of words with a table of columns `file`, `text` and perhaps `writer`.

    path: the table (.csv, .tsv or .parquet). images: the folder that file names are relative to; None: the table's.
    test, validation: shares of the images that are drawn under `seed`; with writers=disjoint of the writers, all of
    whose images are in one part. most_pixels: an image of more is refused. invert: "true" for light ink on dark paper,
    "false" for dark ink, "auto" to find out for each image. delimiter: of a text file, see
    `data.files.table_files.TextFormat`.
    The same image in several rows is in one part. Raises DataError, naming file and row, for an image or a text that
    cannot be used, and for the same image with another text or writer.
    """

    def load(self) -> HandwrittenWords:
        """Returns the data. Raises DataError as the class says."""
        rows, reading = self.read(NAME, (FILE, TEXT))
        words = words_of(rows, reading)
        places = self.split(words)
        parts = three_parts(NAME, words, places)
        files = {part: tuple(rows.columns[FILE][i] for i in own) for part, own in zip(parts, places, strict=True)}
        return HandwrittenWords(NAME, parts, rows.table.name, files=files, invert=reading.invert)

    def split(self, words: WordImages) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns the rows of the images of training, validation and test part."""
        generator, groups = np.random.default_rng(self.seed), whole_groups(words, self.writers)
        rest, test = held_out(groups, np.arange(len(words)), count=self.test, generator=generator)
        share = self.validation / (1 - self.test)
        train, held = held_out(groups, rest, count=share, generator=generator)
        return train, held, test
