"""Sets of jobs that are compared apart: their tables below one another, and panels in words."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pipeline.compare.bootstrap import CLAIMED
from pipeline.compare.panels import panels_in_words, tables_of_sets, with_names


def test_tables_of_sets_stand_below_one_another_and_are_read_by_panel() -> None:
    sets = []
    for data, ceiling in (("own", 0.75), ("other", np.nan)):
        names = {"data": data, "part": "test"}
        means = pd.DataFrame({"arm": ["a"], "error": [1 / 3], "ceiling": [ceiling]})
        claims = pd.DataFrame({"claim": [f"of {data}"]})
        tables = {"means": means, "paired": pd.DataFrame(), "claims": claims}
        sets.append({name: with_names(table, names, f"{data}: test") for name, table in tables.items()})
    tables = tables_of_sets(sets)
    assert list(tables) == ["means.csv", "claims.csv"]
    assert list(tables["means.csv"].columns) == ["data", "part", "panel", "arm", "error", "ceiling"]
    assert tables["means.csv"]["panel"].tolist() == ["own: test", "other: test"]
    assert panels_in_words(tables, ("data", "part")) == [
        "own: test\n\n| arm | error | ceiling |\n|---|---|---|\n| a | 0.3333 | 0.75 |",
        "other: test\n\n| arm | error |\n|---|---|\n| a | 0.3333 |",
        CLAIMED,
        "own: test\n\n| claim |\n|---|\n| of own |",
        "other: test\n\n| claim |\n|---|\n| of other |",
    ]
