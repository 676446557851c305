"""`data=text_pairs`: a table of the user's own, a pair of sentences a row with the languages of both."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from data.base import DataError, check_whole_numbers
from data.files.table_files import TextFormat, existing_file, read_frame
from data.files.textfile import read_rows
from data.ranges import Seed, Share
from data.source import Source
from data.text_pairs import Pair, Pairs, Removed, Task, TextPairs, fault_of, tidied
from data.translation.overlaps import TWICE, scored_once, split_connected

TEXT, TRANSLATION, FROM, TO = COLUMNS = ("text", "translation", "from", "to")
TEXT_FILES = (".csv", ".csv.gz", ".tsv")
MOST_TASKS = 1000


def read_table(path: str | None, delimiter: str | None) -> tuple[Path, pd.DataFrame]:
    """Returns a file and its columns, every cell as it is written.

    Raises DataError for a file that is missing or cannot be read, naming the line of bytes that are no UTF-8, and for a
    column that is missing.
    """
    file = existing_file(path)
    if file.name.lower().endswith(TEXT_FILES):
        read_rows(file)  # to name the line of bytes that are no text
    frame = read_frame(file, TextFormat(delimiter, as_written=True))[0]
    missing = [name for name in COLUMNS if name not in frame.columns]
    if missing:
        there = ", ".join(map(str, frame.columns))
        raise DataError(f"{file}: no column {missing[0]!r}; there are {there}; needed are {', '.join(COLUMNS)}")
    return file, frame


def cell(file: Path, row: int, column: str, value: Any) -> str:
    """Returns a cell's text, tidied. Raises DataError, naming the row as an editor does: the header is row 1."""
    missing = value is None or (isinstance(value, float) and math.isnan(value))  # of Parquet
    text = value if isinstance(value, str) else ""
    fault = fault_of(text) if missing or isinstance(value, str) else f"{value!r} is no text; write it as text"
    if fault:
        raise DataError(f"{file}, row {row + 2}, column {column!r}: {fault}")
    return tidied(text)


def pairs_of(file: Path, frame: pd.DataFrame) -> dict[Task, list[Pair]]:
    """Returns the pairs of each task, in the order of the rows. Raises DataError, naming the row, for a cell that is no
    text, for languages that make no task, and for more than a thousand tasks."""
    pairs: dict[Task, list[Pair]] = defaultdict(list)
    for row, values in enumerate(zip(*(frame[name] for name in COLUMNS), strict=True)):
        text, translation, source, target = (
            cell(file, row, column, value) for column, value in zip(COLUMNS, values, strict=True)
        )
        task = Task(source, target)
        if task not in pairs:
            task.check(f"{file}, row {row + 2}")
        pairs[task].append((text, translation))
    if len(pairs) > MOST_TASKS:
        raise DataError(f"{file}: {len(pairs)} tasks; {MOST_TASKS} are the most: check the columns {FROM} and {TO}")
    return pairs


def chosen_tasks(file: Path, known: Mapping[Task, object], names: Sequence[str] | None) -> list[Task]:
    """Returns the tasks of these names, in their order; None takes all. Raises DataError, naming those known, for
    another name."""
    by_name = {task.name: task for task in known}
    if isinstance(names, str) or names == []:
        raise DataError(f"{file}: tasks={names} must be a list of tasks, as", give={"tasks": [next(iter(by_name))]})
    for name in names or ():
        if name not in by_name:
            raise DataError(f"{file}: there is no pair of task {name} (tasks); there are {', '.join(by_name)}")
    return list(known) if names is None else [by_name[name] for name in dict.fromkeys(names)]


@dataclass(frozen=True, kw_only=True)
class PairTable(Source):
    """Is the section `data=text_pairs`: a table (CSV, TSV or Parquet) with columns `text`, `translation`, `from`, `to`.

    path: the file. tasks: those to take, as ["de-en"]; None takes all, in the order of their first rows.
    validation, test: shares of the pairs of each task, drawn under the seed. Pairs that share a text of a language,
    directly or by way of others, of whatever task, are in one part; of those in validation and test with a side in
    common one is kept.
    delimiter: of a text file, see `data.files.table_files.TextFormat`.
    Raises DataError (one line: file, row, column) for what cannot be read or split.
    """

    path: str | None = None
    tasks: Sequence[str] | None = None
    validation: Share = 0.1
    test: Share = 0.1
    seed: Seed = 0
    delimiter: str | None = None

    def load(self) -> TextPairs:
        """Returns the data. Raises DataError as the class says."""
        self.check()
        file, frame = read_table(self.path, self.delimiter)
        read = pairs_of(file, frame)
        tasks = chosen_tasks(file, read, self.tasks)
        pairs: list[Pairs] = [tuple(dict.fromkeys(read[task])) for task in tasks]
        twice = [len(read[task]) - len(own) for task, own in zip(tasks, pairs, strict=True)]
        shares = {"validation": self.validation, "test": self.test}
        split = split_connected(tasks, pairs, shares, name=str(file), seed=[self.seed])
        parts, removed = scored_once(tasks, split)
        lost = (Removed(task, "train", TWICE, count) for task, count in zip(tasks, twice, strict=True) if count)
        name, source = file.name.split(".")[0], f"table:{file.name}"
        return TextPairs(name, tuple(tasks), parts, source, removed=(*lost, *removed))

    def check(self) -> None:
        """Raises DataError for shares that leave no training part, and a seed below 0."""
        check_whole_numbers("text_pairs", {"seed": self.seed}, least=0)
        shares = self.validation, self.test
        if not (min(shares) > 0 and sum(shares) < 1):
            raise DataError(
                f"text_pairs: validation={shares[0]} and test={shares[1]} must lie above 0 and leave a training part"
            )
