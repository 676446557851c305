"""Tables in Markdown."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd


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


def missing(value: Any) -> bool:
    """Returns whether there is no such number or word."""
    return value is None or value != value
