"""Parquet files of pandas, whose index is no column of theirs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


def counts(index: Any) -> bool:
    """Returns true for an index without a name whose whole numbers rise by one from row to row."""
    plain = index.nlevels == 1 and index.name is None and index.dtype.kind in "iu"
    return plain and bool((np.diff(index.to_numpy().astype(np.int64)) == 1).all())


def read_with_index(path: Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Returns the table of a file with the levels of its index as columns, and their names; an index that counts rows
    and has no name is left out.

    A level without a name is called index, or level_0, level_1, … where there are several. One that is called as a
    column is left out. Raises ValueError for columns with names of several levels.
    """
    frame = pd.read_parquet(path)
    if frame.columns.nlevels > 1:
        raise ValueError(
            f"its columns have names of {frame.columns.nlevels} levels; make one name of each, by frame.columns = "
            "['_'.join(map(str, names)) for names in frame.columns]"
        )
    index: Any = frame.index
    if counts(index):
        return frame, ()
    taken = {str(name) for name in frame.columns}
    unnamed = [f"level_{place}" if index.nlevels > 1 else "index" for place in range(index.nlevels)]
    names = [own if name is None else str(name) for name, own in zip(index.names, unnamed, strict=True)]
    levels = {name: index.get_level_values(place) for place, name in enumerate(names) if name not in taken}
    return pd.concat([pd.DataFrame(levels), frame.reset_index(drop=True)], axis=1), tuple(levels)
