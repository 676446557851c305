"""Numbers of the result files in the pages: `<!-- results/ett/means.csv; arm=psrnn; mse; .3f -->0.362<!-- / -->`.

The first comment names a file beside the page, the row by its columns, the columns to show and their format; what it
stands for is between the two comments, which no reader of a page sees. Three columns are a value with its interval,
"0.94 (0.73–1.24)"; a fourth is the number of pairs, "0.94 (0.73–1.24; 19)".

    python docs/extensions/numbers_from_files.py

writes the numbers of all pages anew. Tests compare the pages with the files, so a page cannot differ from them.
"""

from __future__ import annotations

import csv
import math
import re
import shlex
from functools import lru_cache
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent
END = "<!-- / -->"
REFERENCE = re.compile(
    r"(?P<begin><!-- (?P<path>[\w./-]+\.csv)\s*;(?P<where>[^;<>]*);(?P<columns>[^;<>]*?)(?:;(?P<format>[^;<>]*?))? -->)"
    rf"(?P<shown>[^<]*){END}"
)
ANY = re.compile(r"<!--[^>]*\.csv[^>]*-->|\{\{[^}]*\.csv[^}]*\}\}")
BLOCK = re.compile(r"^ *(?:[*-] |\d+\. )?<!--(?= [\w./-]+\.csv)", re.MULTILINE)  # Markdown takes the line for HTML


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
    """The page with the numbers of the files behind all references. folder: that its paths begin at.

    Raises ValueError as `resolved` does, for a comment that names a file and is no reference, and for a reference at
    the beginning of a line, which Markdown takes for a block of HTML.
    """

    def number_of(found: re.Match[str]) -> str:
        form = (found["format"] or ".3g").strip()
        shown = resolved(folder / found["path"], found["where"], found["columns"], form)
        return f"{found['begin']}{shown}{END}"

    left = ANY.search(REFERENCE.sub("", text))
    if left:
        raise ValueError(f"{left[0]} is no reference; write <!-- file.csv; column=value; column; format -->{END}")
    if BLOCK.search(text):
        raise ValueError("a reference stands at the beginning of a line; put a word of the sentence in front of it")
    return REFERENCE.sub(number_of, text)


def main() -> None:
    """Writes the numbers of all pages anew."""
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        try:
            page.write_text(with_numbers(text, DOCS), encoding="utf-8")
        except ValueError as error:
            raise SystemExit(f"{page}: {error}") from None


if __name__ == "__main__":
    main()
