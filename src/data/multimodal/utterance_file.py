"""The file of a table of utterances: its rows, those of a sample together, and what its columns hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from data.base import DataError
from data.files.cells import numbers_of, said_of_point
from data.files.table_files import TextFormat, existing_file, read_frame

SAMPLE, STEP, TEXT = "sample", "step", "text"


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
