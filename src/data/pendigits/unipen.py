"""Reader of pen strokes in the UNIPEN format (Guyon 1994) as the UCI pen digits use it; plain text or compressed .Z.

A digit is `.SEGMENT DIGIT 0 ? "8"`, `.COMMENT 8 WRITER SAMPLE` and then, for every stroke, `.PEN_DOWN`, lines `x y`,
`.PEN_UP` and `.DT 100`: the pen is off the tablet for one sampling interval of 100 ms.
"""

from __future__ import annotations

import io
import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import unlzw3

from data.base import DataError
from data.files.textfile import Line, fail

MOST_BYTES = 16 * 2**20
LARGEST_COORDINATE = 1e6
INTERVAL = "100"
COMPRESSED = b"\x1f\x9d"
# Documentation for human readers and other programs. All else is refused, as it may change what the points mean
# (.COORD, .POINTS_PER_SECOND) or whose they are (.WRITER_ID).
IGNORED = {
    ".INCLUDE",
    ".LEXICON",
    ".HIERARCHY",
    ".VERSION",
    ".DATA_SOURCE",
    ".DATA_ID",
    ".DATA_CONTACT",
    ".DATA_INFO",
    ".SETUP",
    ".PAD",
    ".DATE",
}
SEGMENT = re.compile(r'\.SEGMENT\s+DIGIT\s+\S+\s+\S+\s+"([^"\s]+)"')
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?")


class Digit(NamedTuple):
    """Holds one digit. label: what was written; writer: who wrote it; strokes: (point, 2) tablet units each, pen on
    the tablet."""

    label: str
    writer: str
    strokes: list[np.ndarray]


@dataclass
class _Segment:
    """Holds the digit that is being read. points: x and y in turn while the pen is down. lifted: a .DT has to
    follow."""

    line: int
    label: str
    writer: str = ""
    strokes: list[np.ndarray] = field(default_factory=list)
    points: array | None = None
    lifted: bool = False


def read_digits(path: Path) -> list[Digit]:
    """Reads all digits of a file in its order. Raises DataError, naming file and line, for anything malformed."""
    content = read_bytes(path)
    try:
        text = content.decode("ascii")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        fail(path, line, f"byte 0x{content[error.start]:02x} is not text; put the original file there")
    digits = list(_digits(path, io.StringIO(text, newline=None)))
    if not digits:
        raise DataError(f"{path}: no .SEGMENT in the file; put the original file there")
    return digits


def read_bytes(path: Path) -> bytes:
    """Returns the file's text, decompressed. Raises DataError for a file that is missing, too large or a damaged .Z."""
    try:
        with path.open("rb") as stream:
            content = _limited(path, stream.read(MOST_BYTES + 1))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error}); put the original file there") from error
    return _limited(path, _decompressed(path, content)) if content.startswith(COMPRESSED) else content


def _decompressed(path: Path, content: bytes) -> bytes:
    try:
        return unlzw3.unlzw(content)
    except ValueError as error:
        raise DataError(
            f"{path}, of {len(content)} bytes: damaged .Z ({error}); put the original file there"
        ) from error


def _limited(path: Path, content: bytes) -> bytes:
    if len(content) > MOST_BYTES:
        raise DataError(f"{path}: more than {MOST_BYTES} bytes of text or .Z; cut the file into parts")
    return content


def _digits(path: Path, rows: Iterable[str]) -> Iterator[Digit]:
    segment, number = None, 0
    for number, row in enumerate(rows, start=1):
        line = Line(number, row.split())
        if not line.tokens or line.tokens[0] in IGNORED or (segment is None and line.tokens[0] == ".COMMENT"):
            continue
        if line.tokens[0] == ".SEGMENT":
            if segment is not None:
                yield _finished(path, number, segment)
            segment = _Segment(number, _label(path, number, row))
        elif segment is None:
            fail(path, number, f"{_shown(line.tokens)} before the first .SEGMENT; put the original file there")
        else:
            _read_statement(path, line, segment)
    if segment is not None:
        yield _finished(path, number, segment)


def _read_statement(path: Path, line: Line, segment: _Segment) -> None:
    """Reads one line inside a segment. Raises DataError for a statement that is not known."""
    word = line.tokens[0]
    if word == ".COMMENT":
        segment.writer = _writer(path, line, segment.label)
    elif word == ".PEN_DOWN":
        _begin_stroke(path, line.number, segment)
    elif word == ".PEN_UP":
        _end_stroke(path, line.number, segment)
    elif word == ".DT":
        _read_pause(path, line, segment)
    elif word.startswith("."):
        fail(path, line.number, f"{_shown(line.tokens)} is no statement that this reader knows; take it out")
    else:
        _read_point(path, line, segment)


def _label(path: Path, number: int, row: str) -> str:
    statement = SEGMENT.fullmatch(row.strip())
    if statement is None:
        fail(path, number, f'expected .SEGMENT DIGIT 0 ? "8" or the like, found {_shown(row.split())}')
    return statement[1]


def _writer(path: Path, line: Line, label: str) -> str:
    if len(line.tokens) != 4 or line.tokens[1] != label:
        fail(path, line.number, f"expected .COMMENT {label} WRITER SAMPLE, found {_shown(line.tokens)}")
    return line.tokens[2]


def _begin_stroke(path: Path, number: int, segment: _Segment) -> None:
    if segment.points is not None:
        fail(path, number, ".PEN_DOWN while the pen is down; a .PEN_UP is missing")
    if segment.lifted:
        fail(path, number, f".PEN_DOWN right after .PEN_UP; a .DT {INTERVAL} is missing")
    segment.points = array("d")


def _read_point(path: Path, line: Line, segment: _Segment) -> None:
    if len(line.tokens) != 2 or not all(NUMBER.fullmatch(token) for token in line.tokens):
        fail(path, line.number, f"expected two numbers x y, found {_shown(line.tokens)}")
    if segment.points is None:
        fail(path, line.number, "a point while the pen is up; a .PEN_DOWN is missing")
    point = [float(token) for token in line.tokens]
    if max(map(abs, point)) > LARGEST_COORDINATE:
        fail(path, line.number, f"{_shown(line.tokens)} is beyond any tablet (at most {LARGEST_COORDINATE:g})")
    segment.points.extend(point)


def _end_stroke(path: Path, number: int, segment: _Segment) -> None:
    if segment.points is None:
        fail(path, number, ".PEN_UP while the pen is up; a .PEN_DOWN is missing")
    if not segment.points:
        fail(path, number, ".PEN_UP after a stroke without a point; lines may be missing")
    segment.strokes.append(np.array(segment.points).reshape(-1, 2))
    segment.points, segment.lifted = None, True


def _read_pause(path: Path, line: Line, segment: _Segment) -> None:
    if not segment.lifted or line.tokens[1:] != [INTERVAL]:
        fail(path, line.number, f"expected one .DT {INTERVAL} after each .PEN_UP, found {_shown(line.tokens)}")
    segment.lifted = False


def _finished(path: Path, number: int, segment: _Segment) -> Digit:
    """Returns the digit of a segment that ends at line `number`. Raises DataError for a segment without a complete
    stroke or without a writer."""
    ends = f"the segment of line {segment.line} ends here"
    if segment.points is not None or segment.lifted or not segment.strokes:
        fail(path, number, f"{ends} without a stroke that is complete up to its .DT; the file may be cut short")
    if not segment.writer:
        fail(path, number, f"{ends} without .COMMENT {segment.label} WRITER SAMPLE; the writer is not known")
    return Digit(segment.label, segment.writer, segment.strokes)


def _shown(tokens: list[str]) -> str:
    """Returns the words quoted and cut to 40 characters at most, so that a message stays one line."""
    return repr(" ".join(tokens)[:40])
