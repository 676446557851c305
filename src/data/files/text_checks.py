"""What the lines of a text file tell of a table and pandas does not: blank lines, short rows, unpaired quotation marks
and first lines that are no names."""

from __future__ import annotations

import csv
import gzip
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

FEWEST_ROWS = 4  # beside the names: which tell that each line of a file has two ends


def lines_of(path: Path) -> Iterator[str]:
    """Gives the lines of a file, unpacked where its name ends in .gz. Raises UnicodeDecodeError for bytes that are no
    UTF-8."""
    packed = path.name.lower().endswith(".gz")
    with gzip.open(path, "rt", encoding="utf-8-sig") if packed else path.open(encoding="utf-8-sig") as stream:
        yield from stream


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
    """Returns where blank lines stand. Raises UnicodeDecodeError for bytes that are no UTF-8."""
    start = between = first = run = rows = neighbours = 0
    for place, line in enumerate(lines_of(path), start=1):
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


def warn_of_numbers_for_names(path: Path, header: Any) -> None:
    """Warns of a first line that holds numbers alone, which are taken for the names of columns. Those that count
    columns from 0 on are names that pandas gives."""
    names = header.tolist()
    if len(names) > 1 and names == [str(place) for place in range(len(names))]:
        return
    numbers: Any = pd.to_numeric(header, errors="coerce")
    if numbers.notna().all():
        shown = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
        warnings.warn(
            f"{path}: the first line ({shown}) holds numbers alone and is taken for the names of columns; if it is a "
            "row, put a line of names before it",
            stacklevel=2,
        )


def swallowing(column: Any, delimiter: str, width: int) -> Any:
    """Returns which cells of a column, bool (row,), hold a line break and the delimiter as often as a row of `width`
    cells has it at least; None for a column without texts."""
    if pd.api.types.infer_dtype(column, skipna=True) not in ("string", "mixed"):
        return None
    broken = column.str.contains("\n", regex=False).eq(True)
    return broken & column.str.count(re.escape(delimiter)).ge(max(1, width - 1)) if broken.any() else broken


def check_quotes(path: Path, frame: pd.DataFrame, delimiter: str, *, refuses: bool) -> None:
    """Raises ValueError for a cell with a line break and the delimiters of a row, or else warns of it: a quotation mark
    without a partner takes all rows up to the next one into a cell."""
    for name in frame.columns:
        cells = swallowing(frame[name], delimiter, len(frame.columns))
        if cells is None or not cells.any():
            continue
        place = f"row {int(cells.to_numpy().argmax()) + 2}, column {name!r}"
        where = f"{place}: the cell holds a line break and {delimiter!r}"
        if refuses:
            raise ValueError(f"{where} (unpaired quotation mark?); mend the mark, or write the text in one line")
        warnings.warn(
            f"{path}, {where}; if a quotation mark is unpaired there, the rows up to the next one are lost: mend it",
            stacklevel=3,
        )
        return


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
