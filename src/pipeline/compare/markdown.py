"""Tables in Markdown."""

from __future__ import annotations

import html
import math
import re
from typing import Any

import numpy as np
import pandas as pd

SIGNS = re.compile(r"[\\`*_\[\]~$]")  # of Markdown, within a line
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def markdown_table(frame: pd.DataFrame, *, digits: int = 3) -> str:
    """Returns a Markdown table; numbers with `digits` significant digits, NaN as an empty cell, | escaped.

    Ratios have one digit more, so that it can be seen on which side of 1 an interval ends.
    """

    def cell(name: Any, value: Any) -> str:
        if isinstance(value, float | np.floating):
            return "" if math.isnan(value) else f"{value:.{digits + str(name).startswith('ratio')}g}"
        return str(value).replace("|", "\\|")

    header = f"| {' | '.join(str(name) for name in frame.columns)} |\n|{'---|' * len(frame.columns)}"
    rows = frame.itertuples(index=False, name=None)
    lines = [f"| {' | '.join(map(cell, frame.columns, row))} |" for row in rows]
    return "\n".join([header, *lines])


def escaped(text: str) -> str:
    """Returns a text of others as Markdown shows it letter by letter in one line: signs of Markdown stand behind a
    backslash, those of HTML are entities, white space is a single space, and for controls, as those that turn the
    direction of writing, stands U+FFFD. A | is left to `markdown_table`."""
    visible = CONTROLS.sub("\ufffd", " ".join(text.split()))
    return SIGNS.sub(r"\\\g<0>", html.escape(visible, quote=False))


def missing(value: Any) -> bool:
    """Returns whether there is no such number or word."""
    return value is None or value != value
