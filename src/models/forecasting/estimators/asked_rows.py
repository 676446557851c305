"""Which rows of a series an index asks for: those that were seen, and those that come after them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from models.forecasting.estimators.following import told_ahead
from models.forecasting.estimators.input import TAIL

if TYPE_CHECKING:
    import pandas as pd

MOST_STEPS = 100_000  # of a forecast, after the last row that was seen


class AskedRows(NamedTuple):
    """Says where the rows of an index lie.

    index: of the rows asked for. seen (row,): their places among the rows seen, -1 for a row to come. ahead (row,): how
    many rows after the last one they lie, 0 for a row seen. coming: the index of the rows to come, up to the furthest.
    """

    index: Any
    seen: np.ndarray
    ahead: np.ndarray
    coming: Any


def asked_rows(index: Any, seen: Any) -> AskedRows:
    """Returns where the rows of an index lie, of the kind of the index `seen` of the rows seen.

    Raises ValueError for a row that is neither among those seen nor among those that come after them.
    """
    coming = rows_to_come(seen, index.max())
    places, ahead = seen.get_indexer(index), coming.get_indexer(index) + 1
    lost = (places < 0) & (ahead < 1)
    if lost.any():
        after = f" nor one of those after them ({', '.join(map(str, coming[:2]))}, …)" if len(coming) else ""
        raise ValueError(
            f"fh asks for {index[int(np.argmax(lost))]}, which is no row of y ({seen[0]} to {seen[-1]}, {len(seen)} "
            f"rows){after}; ask for such rows"
        )
    return AskedRows(index, places, ahead, coming[: int(ahead.max())])


def rows_to_come(seen: Any, last: Any) -> pd.Index:
    """Returns the index of the rows after those seen, up to `last` or further, in the step that they have at their end.

    Numbers and periods without such a step go on by one. Raises ValueError for times without one.
    """
    import pandas as pd

    if last <= seen[-1]:
        return seen[:0]
    count = 1
    while (coming := told_ahead(seen[-TAIL:], count)) is not None and coming[-1] < last and count < MOST_STEPS:
        count = min(2 * count, MOST_STEPS)
    if coming is not None:
        return coming
    if isinstance(seen, pd.DatetimeIndex):
        raise ValueError(
            f"the times of y have no even step at their end, {seen[-1]}, so that no row after it is known; fill y "
            "to even steps before fit, with y.asfreq('B') for working days say"
        )
    if isinstance(seen, pd.PeriodIndex):
        return pd.period_range(seen[-1], last, freq=seen.freq)[1:]
    return pd.RangeIndex(seen[-1] + 1, last + 1)
