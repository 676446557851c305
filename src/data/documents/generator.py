"""`data=synthetic_documents`: generated pages of columns, tables and forms; answers hang on words at known places.

A test bed for what an attention pattern can see. It also takes the place of files of documents that are missing.
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Annotated, NamedTuple

import numpy as np

from data.base import DataError, check_whole_numbers
from data.pages import NO_WORD, NOWHERE, OUTSIDE, PARTS, Document, Documents, Page, tags_of_kinds
from data.ranges import Count, Range, Seed
from data.source import Source

CUES = ("textual", "spatial", "late", "none")
PAGE = Page(600.0, 800.0)
MARGIN, GUTTER = 40.0, 12.0
QUESTION = "which"
SYLLABLES = tuple(first + last for first in "bdfgklmnprst" for last in "aeiou")
VOCABULARY = 1200
UP_TO = tuple(accumulate(1_000_000 // k for k in range(1, VOCABULARY + 1)))  # sums of the weights of words
BEHIND = 3  # words from a textual cue to its question
LETTER = 5.0  # width of a letter


class Column(NamedTuple):
    """Holds where a column stands, the height of its lines, how often a place for a word stays blank, and the width of
    its words, 0 for as wide as their letters need."""

    left: float
    width: float
    line: float
    blanks: float
    word: float = 0.0


def columns_of_page(generator: np.random.Generator) -> list[Column]:
    """Returns the columns of a page: of unlike widths and lines, of a table with lines in common, or two of a form."""
    shape = ("columns", "table", "form")[int(generator.integers(3))]
    count = 2 if shape == "form" else int(generator.integers(2, 5))
    shares = generator.uniform(1.0, 2.0, count)
    widths = shares / shares.sum() * (PAGE.width - 2 * MARGIN - GUTTER * (count - 1))
    lefts = MARGIN + np.concatenate([[0.0], np.cumsum(widths[:-1] + GUTTER)])
    lines = generator.uniform(11.0, 19.0, count)
    blanks = {"columns": 0.05, "table": 0.2, "form": 0.4}[shape]
    return [
        Column(float(left), float(width), float(lines[i if shape == "columns" else 0]), blanks)
        for i, (left, width) in enumerate(zip(lefts, widths, strict=True))
    ]


class Placed(NamedTuple):
    """Holds words of a page in reading order, column after column: their numbers, boxes and columns."""

    words: list[int]
    boxes: list[tuple[float, float, float, float]]
    columns: list[int]


def regular_columns() -> list[Column]:
    """Returns four columns of equal words without blanks, the same on each page."""
    width = (PAGE.width - 2 * MARGIN) / 4
    return [Column(MARGIN + width * number, width - GUTTER, 14.0, 0.0, 7 * LETTER) for number in range(4)]


def placed_page(generator: np.random.Generator, most: int, *, regular: bool = False) -> Placed:
    """Returns a page of at most so many words, the uppermost; common words are drawn more often (Zipf's law)."""
    columns = regular_columns() if regular else columns_of_page(generator)
    heights = [(y, number) for number, column in enumerate(columns) for y in tops_of(column)]
    found = Placed([], [], [])
    for y, number in sorted(heights):
        if len(found.words) >= most:
            break
        fill_line(found, number, columns[number], y, generator)
    read = sorted(range(len(found.words))[:most], key=lambda place: found.columns[place])  # column after column
    return Placed([found.words[i] for i in read], [found.boxes[i] for i in read], [found.columns[i] for i in read])


def tops_of(column: Column) -> list[float]:
    """Returns where the lines of a column begin, from the top of the page."""
    return np.arange(MARGIN, PAGE.height - MARGIN - column.line, column.line).tolist()


def fill_line(found: Placed, number: int, column: Column, y: float, generator: np.random.Generator) -> None:
    """Writes words into a line of a column, until the next one has no room."""
    x = column.left
    while True:
        word = zipf(generator)
        wide = column.word or LETTER * len(spelt(word))
        if x + wide > column.left + column.width:
            return
        if generator.random() >= column.blanks:
            found.words.append(word)
            found.boxes.append((x, y, x + wide, y + 0.7 * column.line))
            found.columns.append(number)
        x += wide + LETTER


def zipf(generator: np.random.Generator) -> int:
    """Returns the number of a word, from 0; the k-th has a probability of about 1/k.

    Weights are whole numbers, so what is drawn does not hang on how a C library rounds a power.
    """
    return bisect_right(UP_TO, int(generator.integers(UP_TO[-1])))


@functools.cache
def spelt(word: int) -> str:
    """Returns the letters of a word; words are two or three syllables long."""
    first, rest = word % len(SYLLABLES), word // len(SYLLABLES)
    return SYLLABLES[first] + SYLLABLES[rest % len(SYLLABLES)] + (SYLLABLES[word % 7] if word % 3 else "")


def beside(boxes: np.ndarray, columns: np.ndarray, pages: np.ndarray, word: int) -> int | None:
    """Returns the word at the same height in the next column: the first of the line whose middle is nearest to that of
    the word; None without such a column."""
    other = np.flatnonzero((pages == pages[word]) & (columns == columns[word] + 1))
    if not len(other):
        return None
    middle = (boxes[:, 1] + boxes[:, 3]) / 2
    return int(other[np.lexsort((boxes[other, 0], np.abs(middle[other] - middle[word])))[0]])


@dataclass(frozen=True, kw_only=True)
class SyntheticDocuments(Source):
    """Loads generated documents.

    train, validation, test: how many. words: of each, in pages as they fit. cue: what an answer hangs on. With
    "textual" a question's tag is told by the word three before it, with "spatial" by the first word at the same height
    in the next column; with "none" it is drawn, and nothing tells it. With "late" a document's label stands once,
    behind word `late_after`. values: how many answers there are. questions: of a document, as many as find a place.
    regular: all pages are the same grid of words, a control, as a place then tells where an answer stands.
    Raises DataError for numbers out of range, and where `late_after` leaves no word.
    """

    cue: str = "spatial"
    train: Count = 200
    validation: Count = 50
    test: Count = 50
    words: Annotated[int, Range(at_least=20, at_most=20_000)] = 400
    values: Annotated[int, Range(at_least=2, at_most=50)] = 10
    questions: Count = 8
    late_after: Count = 512
    regular: bool = False
    seed: Seed = 0

    def load(self) -> Documents:
        """Returns the data. Raises DataError as the class says."""
        numbers = ("train", "validation", "test", "words", "values", "questions", "late_after")
        check_whole_numbers("synthetic_documents", {name: getattr(self, name) for name in numbers})
        if self.cue not in CUES:
            raise DataError(f"synthetic_documents: cue must be one of {', '.join(CUES)}, got {self.cue!r}")
        if self.cue == "late" and self.late_after >= self.words:
            raise DataError(f"synthetic_documents: late_after={self.late_after} leaves none of {self.words} words")
        counts = dict(zip(PARTS, (self.train, self.validation, self.test), strict=True))
        parts = {part: tuple(self.document(part, place) for place in range(count)) for part, count in counts.items()}
        kinds = tuple(map(str, range(self.values)))
        late = self.cue == "late"
        tags = () if late else (OUTSIDE, *(f"B-{kind}" for kind in kinds))
        return Documents("synthetic_documents", parts, "simulated", kinds if late else (), tags)

    def document(self, part: str, place: int) -> Document:
        """Returns one document of a part."""
        generator = np.random.default_rng([self.seed, PARTS.index(part), place])
        pages = list[Placed]()
        while sum(len(page.words) for page in pages) < self.words:
            left = self.words - sum(len(page.words) for page in pages)
            pages.append(placed_page(generator, left, regular=self.regular))
        words = [spelt(word) for page in pages for word in page.words]
        boxes = np.array([box for page in pages for box in page.boxes])
        columns = np.array([column for page in pages for column in page.columns])
        numbers = np.repeat(np.arange(len(pages)), [len(page.words) for page in pages])
        made = Document(f"{part}-{place}", tuple(words), boxes.astype(np.float32), numbers.astype(np.int16),
                        (PAGE,) * len(pages))  # fmt: skip
        return self.labelled(made, generator) if self.cue == "late" else self.tagged(made, columns, generator)

    def labelled(self, document: Document, generator: np.random.Generator) -> Document:
        """Returns the document with its class at one of the words behind `late_after`."""
        value, word = int(generator.integers(self.values)), int(generator.integers(self.late_after, self.words))
        words = (*document.words[:word], answer(value), *document.words[word + 1 :])
        return document._replace(words=words, label=str(value), cues=np.array([[NO_WORD, word]]))

    def tagged(self, document: Document, columns: np.ndarray, generator: np.random.Generator) -> Document:
        """Returns the document with questions, the answers that they hang on, and tags."""
        words, tags, cues, taken = list(document.words), [OUTSIDE] * self.words, list[tuple[int, int]](), set[int]()
        for word in generator.permutation(self.words).tolist():
            cue = self.cue_of(document, columns, word)
            if cue is None or {word, cue} & taken:
                continue
            shown, told = generator.integers(self.values, size=2).tolist()
            words[word], words[cue] = QUESTION, answer(shown)
            tags[word] = f"B-{told if self.cue == 'none' else shown}"
            cues.append((word, NOWHERE if self.cue == "none" else cue))
            taken |= {word, cue}
            if len(cues) == self.questions:
                break
        return document._replace(words=tuple(words), tags=tuple(tags), cues=np.array(cues, np.int64).reshape(-1, 2))

    def cue_of(self, document: Document, columns: np.ndarray, word: int) -> int | None:
        """Returns the word that a question at this place hangs on; None where there is none."""
        if self.cue == "spatial":
            return beside(document.boxes, columns, document.pages, word)
        return word - BEHIND if word >= BEHIND else None


def with_kinds(made: Documents, name: str, kinds: Sequence[str]) -> Documents:
    """Returns generated documents that stand in for others, whose answers 0, 1, … are called by these kinds."""
    spelt = {OUTSIDE: OUTSIDE} | {f"B-{i}": f"B-{kind}" for i, kind in enumerate(kinds)}
    parts = {
        part: tuple(own._replace(tags=tuple(spelt[tag] for tag in own.tags)) for own in documents)
        for part, documents in made.parts.items()
    }
    return replace(made, name=name, parts=parts, tags=tags_of_kinds(kinds), source="generated", stand_in=True)


def answer(value: int) -> str:
    """Returns the word for a value. It has letters alone: a vocabulary would split it before a digit."""
    return f"answer{''.join(chr(ord('a') + int(digit)) for digit in str(value))}"
