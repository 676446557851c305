"""Reading text formats so that every complaint names the file and the line."""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from data.base import DataError
from data.files.table_files import check_gzip

MARK = "\ufeff"  # a byte order mark


class Line(NamedTuple):
    """Holds one line that is neither blank nor a comment, split at white space; `number` counts from 1."""

    number: int
    tokens: list[str]


def fail(path: Path, line: int, what: str) -> NoReturn:
    """Raises DataError("<file>, line <number>: <what>")."""
    raise DataError(f"{path}, line {line}: {what}")


def read_bytes(path: Path) -> bytes:
    """Returns what a file holds, unpacked where its name ends in .gz. Raises DataError for one that cannot be read."""
    try:
        if path.suffix != ".gz":
            return path.read_bytes()
        check_gzip(path)
        return gzip.decompress(path.read_bytes())
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read ({error}); put the original file there") from error


def read_rows(path: Path) -> list[str]:
    """Returns the lines of a text file in UTF-8, parted by line feeds alone, without carriage returns before them.

    A file whose name ends in .gz is unpacked; a byte order mark in front is passed over. Raises DataError for a file
    that cannot be read or is empty, and, naming the line, for bytes that are no UTF-8.
    """
    content = read_bytes(path)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        fail(path, content.count(b"\n", 0, error.start) + 1, f"no UTF-8 ({error.reason}); save the file as UTF-8")
    rows = text.removeprefix(MARK).removesuffix("\n").split("\n")
    if rows == [""]:
        raise DataError(f"{path}: the file is empty; put the original file there")
    return [row.removesuffix("\r") for row in rows]


def read_lines(path: Path, *, comment: str = "#") -> list[Line]:
    """Returns all lines with content; any line end will do, and a byte order mark in front is passed over. Raises
    DataError for a file that is missing, empty or no text."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as text ({error}); put the original file there") from error
    split = ((number, row.split()) for number, row in enumerate(text.splitlines(), start=1))
    lines = [Line(number, tokens) for number, tokens in split if tokens and not tokens[0].startswith(comment)]
    if not lines:
        raise DataError(f"{path}: the file is empty; put the original file there")
    return lines


def read_numbers(path: Path, line: int, tokens: Sequence[str], count: int) -> list[float]:
    """Returns exactly `count` finite numbers. Raises DataError otherwise."""
    if len(tokens) != count:
        fail(path, line, f"expected {count} numbers, found {len(tokens)}; the file may be cut short")
    try:
        values = [float(token) for token in tokens]
    except ValueError as error:
        fail(path, line, f"expected numbers, found other text ({error})")
    if not math.isfinite(sum(values)):
        fail(path, line, "a number that is not finite")
    return values
