"""Writers of what models of forms are compared on: how many are known, and when they are too few for a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from pipeline.compare.claims import UNDECIDED, undecided_for

WRITER = "writer"  # a column
# With five writers, all five on one side are chance with p = 2 / 2^5 = 0.06, and an interval over draws of them is far
# too narrow. One writer says nothing of others, however many images or forms are drawn.
LEAST_WRITERS = 6
FEW_WRITERS = (  # of a caption
    f"Intervals over fewer than {LEAST_WRITERS} writers are too narrow, and one writer says nothing of others, so of "
    f"one to five writers the verdict is *{UNDECIDED}*."
)


def writers_in(rows: Any) -> int:
    """Returns how many writers the rows of a table name; 0 where a row has none."""
    writers = rows.get(WRITER, pd.Series([np.nan])).replace("", np.nan)
    return writers.nunique() if writers.notna().all() else 0


def unit_of(rows: Any, case: str) -> str:
    """Returns the column that says what is drawn: writers, whose cases are alike, where every row has one and there are
    several; else `case`, as "image"."""
    return WRITER if writers_in(rows) > 1 else case


def of_enough_writers(tables: Mapping[str, Any], rows: Any) -> dict[str, Any]:
    """Returns the tables of `arms.compared_arms`, every pair and claim undecided where the rows are of one to five
    known writers."""
    count, named = writers_in(rows), dict(tables)
    few = f"{count} writer{'s' if count > 1 else ''}" if 0 < count < LEAST_WRITERS else ""
    for name in ("paired", "claims"):
        if len(own := named[name]):
            named[name] = own.assign(verdict=[undecided_for(known, few) for known in own["verdict"]])
    return named
