"""References to numbers in the result files: `{{ results/beyond-mocap/means.csv; arm=psrnn; error; .3g }}`.

A reference names a file beside the page, the row by its columns, the columns to show and their format. Three columns
are a value with its interval, "0.94 (0.73–1.24)"; a fourth is the number of pairs, "0.94 (0.73–1.24; 19)". Numbers that
are read from files cannot differ from them.
"""

from __future__ import annotations

import csv
import math
import re
import shlex
from functools import lru_cache
from pathlib import Path

REFERENCE = re.compile(
    r"\{\{\s*(?P<path>[\w./-]+\.csv)\s*;(?P<where>[^;}]*);(?P<columns>[^;}]*)(?:;(?P<format>[^;}]*))?\}\}"
)
ANY = re.compile(r"\{\{[^}]*\.csv[^}]*\}\}")


@lru_cache
def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def row_of(path: Path, where: str) -> dict[str, str]:
    """The one row whose columns have these values, as in `arm=psrnn "claim=ahead of all"`.

    Raises ValueError where none or several do, or the file is missing.
    """
    if not path.is_file():
        raise ValueError(f"{path} is missing")
    wanted = dict(pair.split("=", 1) for pair in shlex.split(where))
    found = [row for row in rows_of(path) if all(row.get(name) == value for name, value in wanted.items())]
    if len(found) != 1:
        raise ValueError(f"{path}: {len(found)} rows with {where.strip()}, and a reference wants one")
    return found[0]


def number(text: str, form: str) -> str:
    """A number in the format of Python (".2f"), without an exponent and with as many digits as .3g asks for; other text
    as it is."""
    try:
        value = float(text or "nan")
    except ValueError:
        return text
    if not form.endswith("g") or value == 0 or not math.isfinite(value):
        return format(value, form)
    digits = int(form.strip(".g"))
    rounded = float(f"{value:.{digits}g}")
    return f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(rounded))))}f}"


def resolved(path: Path, where: str, columns: str, form: str) -> str:
    """What a reference stands for. Raises ValueError for a file, row or column that is not there."""
    row = row_of(path, where)
    names = columns.split()
    lacking = [name for name in names if name not in row]
    if lacking or not names:
        raise ValueError(f"{path} has no column {', '.join(lacking)}; it has {', '.join(row)}")
    shown = [number(row[name], form) for name in names[:3]]
    pairs = [row[name] for name in names[3:]]
    if len(shown) == 1:
        return shown[0]
    inside = [f"{shown[1]}–{shown[2]}"] if row[names[1]] else []
    notes = "; ".join(inside + pairs)
    return f"{shown[0]} ({notes})" if notes else shown[0]


def with_numbers(text: str, folder: Path) -> str:
    """The page with all references replaced. folder: that its paths begin at. Raises ValueError as `resolved` does."""

    def number_of(found: re.Match[str]) -> str:
        form = (found["format"] or ".3g").strip()
        return resolved(folder / found["path"], found["where"], found["columns"], form)

    done = REFERENCE.sub(number_of, text)
    left = ANY.search(done)
    if left:
        raise ValueError(f"{left[0]} is no reference; write {{{{ file.csv; column=value; column; format }}}}")
    return done
