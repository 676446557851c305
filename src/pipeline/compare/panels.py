"""Sets of jobs that are compared apart, as those of each data set: their tables, and the panels these are read in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pipeline.compare.bootstrap import CLAIMED
from pipeline.compare.markdown import markdown_table


def joined(tables: Sequence[Any]) -> Any:
    """Returns tables one below the other. One without a row has no say in what kind of values columns hold: read from a
    file, its columns hold none."""
    told = [table for table in tables if len(table)] or tables
    return pd.concat(told, ignore_index=True) if told else pd.DataFrame()


def tables_of_sets(sets: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the tables of all sets, each by its name in every one, by the names of their files; one without a row is
    left out."""
    tables = {f"{name}.csv": joined([own[name] for own in sets]) for name in sets[0]}
    return {name: table for name, table in tables.items() if len(table)}


def with_names(table: Any, names: Mapping[str, Any], panel: str) -> Any:
    """Returns a table with the names of its set in front, and what the set is called where it is shown."""
    for place, (name, value) in enumerate({**names, "panel": panel}.items() if len(table) else ()):
        table.insert(place, name, value)
    return table


def panels_in_words(tables: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Returns the rows of each panel of each table as Markdown, claims beneath a sentence about them. The names of the
    set, and columns that are empty in it, are left out."""
    parts = []
    for file, table in tables.items():
        parts += [CLAIMED] if file == "claims.csv" else []
        for panel, own in table.groupby("panel", sort=False):
            shown = own.drop(columns=["panel", *names]).dropna(axis="columns", how="all")
            parts.append(f"{panel}\n\n{markdown_table(shown, digits=4)}")
    return parts
