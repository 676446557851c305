"""Error against seconds of training: which models no other one beats in both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pipeline.compare import figures, statistics
from pipeline.compare.comparison import Comparison
from pipeline.compare.horizons import by_horizon, drawn
from pipeline.compare.words import Summary, heading, means_in_words

EPOCHS = "epochs"
FRONT = (
    "`front` says that no other row of the same data set and horizon has both a smaller error and fewer seconds. "
    "Seconds are the median over seeds, of all stages between data and evaluation."
)

UNKNOWN = (
    " Jobs that were stopped and gone on with are left out of that; where all of them were, seconds are not known and "
    "the row is not on the front."
)


def on_front(means: Any) -> np.ndarray:
    """Returns, for the rows of one data set and horizon, whether no other row is at least as good in error and in
    seconds and better in one of them; false where an error or its seconds are missing."""
    error, seconds = (means[name].to_numpy(dtype=np.float64) for name in ("error", "seconds"))
    as_good = (error[None] <= error[:, None]) & (seconds[None] <= seconds[:, None])
    better = (error[None] < error[:, None]) | (seconds[None] < seconds[:, None])
    return ~(as_good & better).any(1) & np.isfinite(error) & np.isfinite(seconds)


def with_front(means: Any) -> pd.DataFrame:
    """Returns the means with `on_front` of each data set and horizon in a column `front`."""
    front = pd.Series(False, index=means.index)
    for _, rows in means.groupby(["data", "horizon"]):
        front[rows.index] = on_front(rows)
    return means.assign(front=front)


def front_in_words(jobs: Any) -> str:
    """Says what `front` is, and whether the seconds of some jobs are not known."""
    return FRONT + UNKNOWN * bool(jobs["seconds"].isna().any())


def means_by_epochs(jobs: Any, comparison: Comparison) -> pd.DataFrame:
    """Returns geometric means and median seconds per data set, horizon, arm and epochs of training."""
    parts = []
    for epochs, here in jobs.groupby(EPOCHS, sort=True):
        means = statistics.geometric_means(by_horizon(here, comparison)).rename(columns={"count": "horizon"})
        seconds = here.groupby(["data", "arm"], as_index=False)[["seconds"]].median()
        parts.append(means.merge(seconds, on=["data", "arm"]).assign(epochs=epochs))
    first = ["data", "horizon", "arm", EPOCHS]
    table = pd.concat(parts, ignore_index=True).sort_values(first, ignore_index=True)
    return with_front(table[[*first, *table.columns.drop(first)]])


def by_seconds(jobs: Any, comparison: Comparison) -> Summary:
    """Shows the error of each arm, trained for each number of epochs, against its seconds of training."""
    means = means_by_epochs(jobs if EPOCHS in jobs else jobs.assign(epochs=0), comparison)
    title = heading(f"test {comparison.word} against seconds of training", jobs)
    figure = figures.error_by_seconds(drawn(means), comparison, title=title)
    return Summary(
        {"means.csv": means},
        {"figures/seconds": figure},
        f"{means_in_words(means, comparison)}\n\n{front_in_words(jobs)}",
    )
