"""`data=utterances`: a table of the user's own, a text or a step a row, with a label for each sample."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NoReturn

import numpy as np
import pandas as pd

from data.base import DataError
from data.drawn_parts import Rows, Shares, drawn
from data.files.cells import numbers_of, said_of_point
from data.files.table_files import TextFormat, existing_file, read_frame
from data.multimodal.labels import labels_of
from data.multimodal.text import word_steps
from data.multimodal.word_vectors import make_words
from data.ranges import Count, Range, Seed, Share
from data.same_content import OwnSamples
from data.utterances import Part, Utterances, Words, words_of

SAMPLE, STEP, TEXT = "sample", "step", "text"
LARGEST = 1e6  # size of a score
PREFIXES = {"text": "t_", "video": "v_", "audio": "a_"}


def of_utterances(text: TextFormat) -> TextFormat:
    """Returns how a file of utterances is read: names of samples and what they say are texts, blank lines no rows."""
    return text._replace(texts=(*text.texts, SAMPLE, TEXT), skips_blank=True)


@dataclass(frozen=True, eq=False)
class UtteranceTable:
    """Holds the rows of a file, those of a sample in a row. decimal: what parts the decimals of numbers that are
    texts."""

    file: Path
    frame: pd.DataFrame
    decimal: str = "."

    @classmethod
    def read(cls, path: str | None, text: TextFormat) -> UtteranceTable:
        """Reads a file: names of samples and texts as they are written. Raises DataError for one that cannot be read,
        and for rows that are out of order."""
        file = existing_file(path)
        table = cls(file, read_frame(file, of_utterances(text)).frame, text.characters(file)[1])
        table.check_steps()
        return table

    def fail(self, row: Any, column: str, what: str) -> NoReturn:
        """Raises DataError, naming the row as an editor does: the header is row 1."""
        raise DataError(f"{self.file}, row {row + 2}, column {column!r}: {what}")

    def column(self, name: str) -> Any:
        """Returns a column. Raises DataError where there is none."""
        if name not in self.frame.columns:
            there = ", ".join(map(str, self.frame.columns))
            raise DataError(f"{self.file}: no column {name!r}; there are {there}")
        return self.frame[name]

    @cached_property
    def starts(self) -> np.ndarray:
        """The first row of each sample. Raises DataError for a sample without a name, and for one that begins again."""
        if SAMPLE not in self.frame.columns and TEXT in self.frame.columns:
            return np.arange(len(self.frame))
        own = self.column(SAMPLE)
        empty = np.flatnonzero(own.isna())
        if len(empty):
            self.fail(empty[0], SAMPLE, "the name of the sample is empty; fill it in or drop the row")
        codes = pd.factorize(own)[0]
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        again = np.flatnonzero(pd.Series(codes[starts]).duplicated())
        if len(again):
            row = starts[again[0]]
            self.fail(row, SAMPLE, f"{own.iloc[row]} begins again; keep the rows of a sample together, in order")
        if TEXT in self.frame.columns and len(starts) < len(codes):
            row = np.setdiff1d(np.arange(len(codes)), starts)[0]
            self.fail(row, SAMPLE, f"{own.iloc[row]} stands twice; a row with a text is a sample of its own")
        return starts

    @cached_property
    def names(self) -> list[str]:
        """The names of the samples. Where the table has no column of them, they are the numbers of the rows, from 1
        on."""
        if SAMPLE not in self.frame.columns:
            return [str(row + 1) for row in self.starts]
        return [str(name) for name in self.column(SAMPLE).iloc[self.starts]]

    def split(self, rows: np.ndarray) -> list[np.ndarray]:
        """Returns the rows of each sample."""
        return np.split(rows, self.starts[1:])

    def check_steps(self) -> None:
        """Raises DataError where a column `step` does not rise within a sample."""
        if STEP not in self.frame.columns:
            return
        steps = self.numbers([STEP])[:, 0]
        bad = np.flatnonzero(~(np.diff(steps) > 0)) + 1
        bad = np.setdiff1d(bad, self.starts)
        if len(bad):
            self.fail(bad[0], STEP, "it does not rise; put the rows of a sample in order")

    def refuse_empty(self, name: str) -> None:
        """Raises DataError for an empty cell of a column."""
        empty = np.flatnonzero(self.column(name).isna())
        if len(empty):
            self.fail(empty[0], name, "it is empty; fill it in or drop the row")

    def one_each(self, name: str) -> pd.Series:
        """Returns the value that a column has in each sample. Raises DataError for an empty cell, and for a sample with
        two values."""
        self.refuse_empty(name)
        own = self.column(name)
        codes = pd.factorize(own)[0]
        bad = np.setdiff1d(np.flatnonzero(np.diff(codes, prepend=codes[:1]) != 0), self.starts)
        if len(bad):
            self.fail(bad[0], name, "it changes within a sample; give every row of a sample the same")
        return own.iloc[self.starts].reset_index(drop=True)

    def numbers(self, columns: Sequence[str]) -> np.ndarray:
        """Returns the columns as (row, column) float64, NaN for an empty cell. Raises DataError for a cell that is no
        finite number."""
        values = np.empty((len(self.frame), len(columns)))
        for i, name in enumerate(columns):
            values[:, i] = numbers_of(self.frame[name], self.decimal)
            filled = self.frame[name].notna().to_numpy()
            bad = np.flatnonzero((np.isnan(values[:, i]) & filled) | np.isinf(values[:, i]))
            if len(bad):
                cell = str(self.frame[name].iloc[bad[0]])
                self.fail(bad[0], name, f"{cell} is not a finite number{said_of_point(cell, self.decimal)}")
        return values

    def steps(self, columns: list[str]) -> list[np.ndarray]:
        """Returns the steps of each sample, (step, column); rows that are empty in all columns are no step. Raises
        DataError for a row that is empty in some."""
        values = self.numbers(columns)
        empty = np.isnan(values)
        some = np.argwhere(empty & ~empty.all(axis=1, keepdims=True))
        if len(some):
            row, place = some[0].tolist()
            self.fail(row, columns[place], f"it is empty and others of {columns[place][:2]}… are not; fill it in")
        return [values[rows][~empty[rows, 0]] for rows in self.split(np.arange(len(values)))]


def modality_columns(table: UtteranceTable, used: set[str]) -> dict[str, list[str]]:
    """Returns the columns of each modality, by how their names begin. used: columns that are something else.

    Warns of columns that are nothing. Raises DataError for a text beside numbers of text, and where no modality is
    there.
    """
    names = [str(name) for name in table.frame.columns if name not in used]
    columns = {modality: [name for name in names if name.startswith(prefix)] for modality, prefix in PREFIXES.items()}
    columns = {modality: own for modality, own in columns.items() if own}
    if TEXT in table.frame.columns and "text" in columns:
        raise DataError(f"{table.file}: a column {TEXT!r} and {columns['text'][0]!r}; keep the words or the numbers")
    if TEXT not in table.frame.columns and not columns:
        raise DataError(f"{table.file}: no column {TEXT!r}, and none that begins with t_, a_ or v_; name them so")
    taken = {TEXT, SAMPLE, STEP, *(name for own in columns.values() for name in own)}
    spare = [name for name in names if name not in taken]
    if spare:
        warnings.warn(f"{table.file}: columns that are not used: {', '.join(spare)}", stacklevel=3)
    return columns


def contents_of(table: UtteranceTable, numbers: Mapping[str, Sequence[np.ndarray]]) -> list[Hashable]:
    """Returns what each sample holds, the words of its text and its numbers, and None for nothing."""
    said = [tuple(words_of(text)) for text in spoken_texts(table)] if TEXT in table.frame.columns else None
    found = list[Hashable]()
    for sample in range(len(table.starts)):
        own = tuple(steps[sample].tobytes() for steps in numbers.values())
        found.append((said[sample] if said else (), own) if any(own) or (said and said[sample]) else None)
    return found


def parts_of(
    table: UtteranceTable, contents: Sequence[Hashable], group: str | None, shares: Shares
) -> tuple[list[str], Rows]:
    """Returns the group of each sample, by a column or by what it holds, and the samples of each part: of groups in a
    column the parts have shares, else of samples. Warns of samples that hold the same. Raises DataError as
    `Shares.counts`."""
    samples = OwnSamples(contents, table.names, table.file, called="sample", column="group")
    if group is None:
        return samples.groups, samples.drawn(shares, by_name=True)
    groups = [str(name) for name in table.one_each(group)]
    codes, names = pd.factorize(np.array(groups, dtype=object), sort=True)
    rows = drawn(codes, np.ones(len(names), int), shares.counts(len(names), "groups"), shares.seed)
    samples.warn_of_shared(rows)
    return groups, rows


def load_utterances(
    *,
    path: str | None = None,
    label: str = "label",
    labels: str = "auto",
    positive: Annotated[float, Range(at_least=-LARGEST, at_most=LARGEST)] = 0.0,
    group: str | None = None,
    words: str = "auto",
    steps: Count | None = None,
    validation: Share = 0.1,
    test: Share = 0.2,
    seed: Seed = 0,
    delimiter: str | None = None,
    decimal: str = "point",
) -> Utterances:
    """Reads a table of the user's: with a column `text` a row is a sample, else a step of the one named in `sample`.

    Columns t_…, a_… and v_… are numbers of text, audio and video; a row that is empty in all of one modality is no step
    of it. label: the column to predict. labels: score, binary, class, or auto; names of classes are texts as they are
    written, so that 1 and 01 are two. positive: scores from here on count as positive. group: samples of one value stay
    in one part; without it samples that hold the same do, which is warned of. words: see
    `data.multimodal.word_vectors`. steps: of a modality at most. validation, test: shares of the groups, or else of the
    samples, drawn under the seed. delimiter, decimal: of a text file, see `data.files.table_files.TextFormat`.
    Raises DataError (one line: file, row, column) for what cannot be read or split.
    """
    table = UtteranceTable.read(path, TextFormat(delimiter, decimal, texts=(label, *([group] if group else []))))
    columns = modality_columns(table, {label, *([group] if group else [])})
    told = labels_of(table, label, labels)
    numbers = {modality: table.steps(own) for modality, own in columns.items()}
    groups, rows = parts_of(table, contents_of(table, numbers), group, Shares(validation, test, seed))
    texts, known = texts_of(table, rows["train"], words)
    spoken = {} if texts is None or known is None else {"text": word_steps(texts, known, name=str(table.file))}
    whole = Part.of(spoken | numbers, told.values, table.names, groups=groups, texts=texts)
    data = Utterances(
        table.file.name.split(".")[0], {part: whole.pick(own) for part, own in rows.items()}, told.kind,
        f"table:{table.file.name}",
        positive_from=positive, classes=told.classes, words=known,
        columns={modality: tuple(own) for modality, own in columns.items()},
    )  # fmt: skip
    return data.shortened(steps=steps)


def spoken_texts(table: UtteranceTable) -> list[str]:
    """Returns the text of each row, "" for an empty cell."""
    return [str(text) for text in table.column(TEXT).fillna("")]


def texts_of(table: UtteranceTable, train: np.ndarray, words: str) -> tuple[list[str] | None, Words | None]:
    """Returns the texts, "" for an empty cell, and the vectors of their words; None for a table without any."""
    if TEXT not in table.frame.columns:
        return None, None
    texts = spoken_texts(table)
    return texts, make_words(texts, [texts[i] for i in train], choice=words)
