"""Writers of what models of forms are compared on: how many are known, and when they are too few for a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pipeline.compare.claims import UNDECIDED, undecided_for

WRITER, FORM = "writer", "form"  # columns
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


def few_in(rows: Any) -> str:
    """Returns why a verdict on some rows is undecided: the number of their writers in words where one to five are
    known; else ""."""
    count = writers_in(rows)
    return counted(count) if 0 < count < LEAST_WRITERS else ""


def counted(writers: int) -> str:
    """Returns a number of writers in words."""
    return f"{writers} writer{'' if writers == 1 else 's'}"


def of_enough_writers(tables: Mapping[str, Any], rows: Any) -> dict[str, Any]:
    """Returns tables with every row of `paired` and `claims` undecided where `rows` are of one to five known
    writers."""
    few, named = few_in(rows), dict(tables)
    for name in ("paired", "claims"):
        if len(own := named[name]):
            named[name] = own.assign(verdict=[undecided_for(known, few) for known in own["verdict"]])
    return named


def with_writers(table: Any, writers: Sequence[str]) -> Any:
    """Returns a table whose column `form` has numbers of forms with a column of who wrote them. writers: by form; none
    where they are not known, and then there is no such column."""
    return table.assign(**{WRITER: [writers[form] for form in table[FORM]]}) if writers else table


def over_forms(rows: Any) -> str:
    """Returns over what the intervals of forms are, in words."""
    return "writers" if writers_in(rows) > 1 else "forms"


def said_of_forms(data: str, rows: Any) -> str:
    """Returns of how many writers the forms of some data are, what is drawn, and what few writers come to, in words; ""
    where writers are not known."""
    count = writers_in(rows)
    if not count:
        return ""
    drawn = "whole writers with all their forms are drawn in place of forms" if count > 1 else "forms are drawn"
    return f"The forms of {data} are of {counted(count)}: {drawn}. {FEW_WRITERS}"
