"""The encodings of the jobs of a multirun side by side: the thesis's figure 2.6, for the arms that ran."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from mlflow.tracking import MlflowClient

from pipeline.systems.mctn import figures
from pipeline.systems.mctn.joint import Encodings
from pipeline.tracking.artifacts import read_by_run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENCODINGS = "encodings.npz"
MOST_PANELS = 9  # arms of a picture
THESIS = ("simple-t-v", "cyclic-t-v", "cyclic-t-v-a")  # figure 2.6: without and with the way back, three modalities


def joint_figures(client: MlflowClient, jobs: Any, *, title: str) -> dict[str, Figure]:
    """Returns a picture per data set of the encodings of its first arms, each by the job of the least seed. The arms of
    the thesis's figure come first, side by side. There is no picture where no job logged its encodings."""
    found = {}
    for place, (data, own) in enumerate(jobs.sort_values("seed", kind="stable").groupby("data", sort=False)):
        panels = encodings_of(client, in_order(own.drop_duplicates("arm")))
        if panels:
            name = "figures/joint" if not place else f"figures/joint_{place}"
            found[name] = figures.joint(panels, title=f"{title}: encodings of the test part, {data}")
    return found


def in_order(jobs: pd.DataFrame) -> pd.DataFrame:
    """Returns the jobs with the arms of the thesis's figure first."""
    places = [THESIS.index(arm) if arm in THESIS else len(THESIS) for arm in jobs["arm"]]
    return jobs.assign(place=places).sort_values("place", kind="stable")


def encodings_of(client: MlflowClient, jobs: Any) -> dict[str, Encodings]:
    """Returns the encodings of the first `MOST_PANELS` arms that logged some, by arm."""
    arms = dict(zip(jobs["run_id"], jobs["arm"], strict=True))
    found = islice(read_by_run(client, jobs["run_id"], ENCODINGS, read_encodings), MOST_PANELS)
    return {str(arms[run]): encodings for run, encodings in found}


def read_encodings(file: Path) -> Encodings:
    """Returns the encodings that a job logged as a file."""
    with np.load(file, allow_pickle=False) as arrays:
        return Encodings.of(arrays)
