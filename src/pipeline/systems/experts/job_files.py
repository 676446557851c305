"""Tables that jobs of a multirun logged as CSV files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
from mlflow.tracking import MlflowClient

from data.files.exact_numbers import EXACT
from pipeline.tracking.artifacts import fetched
from pipeline.tracking.run import scratch_folder


def tables_of(client: MlflowClient, runs: Iterable[Any], name: str, **read: Any) -> dict[str, pd.DataFrame]:
    """Returns the table of that name by run, of the runs that logged it. read: as `pandas.read_csv` takes it."""
    found = {}
    with scratch_folder() as scratch:
        for run in map(str, runs):
            path = fetched(client, run, name, scratch)
            if path is not None:
                found[run] = pd.read_csv(path, **EXACT, **read)
    return found
