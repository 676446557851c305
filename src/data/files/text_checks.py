"""What the lines of a text file tell of a table and pandas does not: blank lines, short rows, unpaired quotation marks
and first lines that are no names."""

from __future__ import annotations

import csv
import gzip
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO, cast

import numpy as np
import pandas as pd

FEWEST_ROWS = 4  # beside the names: which tell that each line of a file has two ends
CHUNK = 1 << 20
BLANK_LINE = re.compile(r"\n\s*\n")


@contextmanager
def opened(path: Path) -> Iterator[TextIO]:
    """Opens a file of text for the block, unpacked where its name ends in .gz."""
    packed = path.name.lower().endswith(".gz")
    with gzip.open(path, "rt", encoding="utf-8-sig") if packed else path.open(encoding="utf-8-sig") as stream:
        yield cast("TextIO", stream)


def lines_of(path: Path) -> Iterator[str]:
    """Gives the lines of a file. Raises UnicodeDecodeError for bytes that are no UTF-8."""
    with opened(path) as stream:
        yield from stream


def rows_of(path: Path, delimiter: str) -> Iterator[str]:
    """Gives the rows of a file as they are written, with all lines of a row whose cells hold line breaks. Raises
    csv.Error for a cell that the csv module finds too long."""
    lines: list[str] = []

    def noted() -> Iterator[str]:
        for line in lines_of(path):
            lines.append(line)
            yield line

    for _ in csv.reader(noted(), delimiter=delimiter, skipinitialspace=True):
        yield "".join(lines)
        lines.clear()


def may_have_blank_lines(path: Path) -> bool:
    """Returns false only for a file in which no line is blank. Raises UnicodeDecodeError for bytes that are no
    UTF-8."""
    end = "\n"  # of the file so far, with what is blank before it
    with opened(path) as stream:
        while chunk := stream.read(CHUNK):
            text = end + chunk
            if BLANK_LINE.search(text):
                return True
            end = text[len(text.rstrip()) :]
    return len(end) > 1


def is_blank(line: str, delimiter: str) -> bool:
    """Returns true for a line without any cell."""
    return line.isspace() and delimiter not in line


class BlankLines(NamedTuple):
    """Counts the blank lines of a file: before the first line that is not blank, between such lines, and at the end.

    first: the number of the first one between, from 1 on. doubled: whether no two rows are neighbours, as where each
    line has two ends. Four rows tell it.
    """

    start: int = 0
    between: int = 0
    end: int = 0
    first: int = 0
    doubled: bool = False


def blank_lines(path: Path, delimiter: str) -> BlankLines:
    """Returns where blank lines stand; those within quotation marks are part of a cell. Raises UnicodeDecodeError for
    bytes that are no UTF-8."""
    if not may_have_blank_lines(path):
        return BlankLines()
    try:
        return counted(rows_of(path, delimiter), delimiter)
    except csv.Error:
        return counted(lines_of(path), delimiter)


def counted(lines: Iterable[str], delimiter: str) -> BlankLines:
    """Returns where the blank ones of some lines stand."""
    start = between = first = run = rows = neighbours = 0
    for place, line in enumerate(lines, start=1):
        if is_blank(line, delimiter):
            run += 1
            continue
        rows += 1
        if rows == 1:
            start = run
        else:
            first = first or (place - run if run else 0)
            between += run
            neighbours += rows > 2 and not run
        run = 0
    return BlankLines(start, between, run, first, rows > FEWEST_ROWS and not neighbours)


def rise_evenly(numbers: np.ndarray) -> bool:
    """Returns true for three numbers or more, (column,), that rise by one step, up to a millionth of it."""
    steps = np.diff(numbers)
    return len(numbers) > 2 and bool((steps > 0).all()) and bool((np.abs(steps - steps[0]) <= 1e-6 * steps[0]).all())


def warn_of_numbers_for_names(path: Path, header: Any, frame: pd.DataFrame) -> None:
    """Warns of a first line that holds numbers alone, which are taken for the names of columns. Those that count
    columns from 0 on are names that pandas gives; those that rise evenly, as years do, are names too where the first
    row does not."""
    names = header.tolist()
    if len(names) > 1 and names == [str(place) for place in range(len(names))]:
        return
    numbers: Any = pd.to_numeric(header, errors="coerce")
    if numbers.isna().any():
        return
    row: Any = frame.head(1).T.iloc[:, 0] if len(frame) else pd.Series(dtype=float)
    below: Any = pd.to_numeric(row, errors="coerce")
    if not rise_evenly(numbers.to_numpy(np.float64)) or rise_evenly(below.to_numpy(np.float64)):
        shown = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
        warnings.warn(
            f"{path}: the first line ({shown}) holds numbers alone and is taken for the names of columns; if it is a "
            "row, put a line of names before it",
            stacklevel=2,
        )


class Swallowed(NamedTuple):
    """Holds a cell that may have swallowed rows: its row, from 0 on, its column, and whether this is certain."""

    row: int
    column: str
    certain: bool


def is_swallowing(cell: str, delimiter: str, before: int, width: int) -> bool | None:
    """Returns whether a cell with line breaks looks like rows that an unpaired quotation mark took into it: true where
    this is certain, false where it may be so, None where it does not.

    Its first line ends a row of `width` cells that has `before` of them in front, its last line begins one, and each
    line between is one. It is certain with a line between and no blank behind a delimiter, as prose has it.
    """
    lines = cell.split("\n")
    lines = [lines[0], *(line for line in lines[1:-1] if line.strip()), lines[-1]]
    between = len(lines) - 2
    if [line.count(delimiter) for line in lines] != [width - 1 - before, *[width - 1] * between, before]:
        return None
    tight = f"{delimiter} " not in cell
    if tight and between:
        return True
    return False if width > 2 and (tight or between) else None


def swallowed_in(frame: pd.DataFrame, delimiter: str) -> Iterator[Swallowed]:
    """Gives the cells of a table that look like rows which a quotation mark took into them."""
    width = len(frame.columns)
    for before, name in enumerate(frame.columns if width > 1 else ()):
        column: Any = frame[name]
        if pd.api.types.infer_dtype(column, skipna=True) not in ("string", "mixed"):
            continue
        broken = np.flatnonzero(column.str.contains("\n", regex=False).eq(True).to_numpy())
        for row, cell in zip(broken.tolist(), column.iloc[broken].tolist(), strict=True):
            certain = is_swallowing(cell, delimiter, before, width)
            if certain is not None:
                yield Swallowed(row, name, certain)


def check_quotes(path: Path, frame: pd.DataFrame, delimiter: str, *, refuses: bool) -> None:
    """Raises ValueError for a cell that certainly holds rows, or else warns of one that may: a quotation mark without a
    partner takes all rows up to the next one into a cell, whatever the column is for."""
    found = sorted(swallowed_in(frame, delimiter), key=lambda cell: not cell.certain)
    if not found:
        return
    where = f"row {found[0].row + 2}, column {found[0].column!r}: the cell holds lines that look like rows"
    if refuses and found[0].certain:
        raise ValueError(f"{where} (unpaired quotation mark?); mend the mark, or write the text in one line")
    warnings.warn(
        f"{path}, {where}; if a quotation mark is unpaired there, the rows up to the next one are lost: mend it",
        stacklevel=3,
    )


def short_rows(path: Path, delimiter: str, width: int, *, skips_blank: bool) -> list[int]:
    """Returns the rows, from 0 on after the first line, that have fewer cells than `width`. Blank lines are none; they
    are counted as rows unless they are skipped. A file with a cell that the csv module finds too long tells none."""
    if not any('"' in line or line.count(delimiter) < width - 1 for line in lines_of(path)):
        return []
    reader = csv.reader(lines_of(path), delimiter=delimiter, skipinitialspace=True)
    try:
        lengths = [0 if len(cells) < 2 and not "".join(cells).strip() else len(cells) for cells in reader]
    except csv.Error:
        return []
    first = next((place for place, length in enumerate(lengths) if length), 0)
    rows = [length for length in lengths[first + 1 :] if length or not skips_blank]
    return [row for row, length in enumerate(rows) if 0 < length < width]


def warn_of_short_rows(path: Path, frame: pd.DataFrame, delimiter: str, *, skips_blank: bool) -> None:
    """Warns of rows with fewer cells than there are columns, whose last cells are taken as empty."""
    last = frame.iloc[:, -1] if len(frame.columns) > 1 else pd.Series(dtype=float)
    if not bool((last.isna() | last.eq("")).any()):
        return
    short = short_rows(path, delimiter, len(frame.columns), skips_blank=skips_blank)
    if short:
        warnings.warn(
            f"{path}, row {short[0] + 2}: it has fewer cells than the first line has names, as {len(short)} of "
            f"{len(frame)} rows have; the last cells are taken as empty",
            stacklevel=3,
        )
