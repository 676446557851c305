"""What the lines of a text file tell of a table and pandas does not: blank lines, short rows, unpaired quotation marks
and first lines that are no names."""

from __future__ import annotations

import csv
import gzip
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd


def lines_of(path: Path) -> Iterator[str]:
    """Gives the lines of a file, unpacked where its name ends in .gz. Raises UnicodeDecodeError for bytes that are no
    UTF-8."""
    packed = path.name.lower().endswith(".gz")
    with gzip.open(path, "rt", encoding="utf-8-sig") if packed else path.open(encoding="utf-8-sig") as stream:
        yield from stream


def is_blank(line: str, delimiter: str) -> bool:
    """Returns true for a line without any cell."""
    return line.isspace() and delimiter not in line


def blank_at_start(path: Path, delimiter: str) -> int:
    """Returns how many blank lines stand before the first other one."""
    return next((place for place, line in enumerate(lines_of(path)) if not is_blank(line, delimiter)), 0)


def without_blank_end(frame: pd.DataFrame, path: Path, delimiter: str) -> pd.DataFrame:
    """Returns a table of which each blank line is a row, without those at the end of its file."""
    if not len(frame) or not frame.iloc[-1].isna().all():
        return frame
    blank = 0
    for line in lines_of(path):
        blank = blank + 1 if is_blank(line, delimiter) else 0
    return frame.iloc[: len(frame) - blank]


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


def swallowing(column: Any, delimiter: str) -> Any:
    """Returns which cells of a column, bool (row,), hold a line break and the delimiter; None for a column without
    texts."""
    if pd.api.types.infer_dtype(column, skipna=True) not in ("string", "mixed"):
        return None
    broken = column.str.contains("\n", regex=False).eq(True)
    return broken & column.str.contains(delimiter, regex=False).eq(True) if broken.any() else broken


def check_quotes(path: Path, frame: pd.DataFrame, delimiter: str, *, refuses: bool) -> None:
    """Raises ValueError for a cell with a line break and the delimiter, or else warns of it: a quotation mark without a
    partner takes all rows up to the next one into a cell."""
    for name in frame.columns:
        cells = swallowing(frame[name], delimiter)
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
