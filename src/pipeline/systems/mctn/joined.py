"""The encodings of the jobs of a multirun side by side: the thesis's figure 2.6, for the arms that ran."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from mlflow.tracking import MlflowClient

from pipeline.systems.mctn import figures
from pipeline.systems.mctn.joint import Encodings
from pipeline.tracking.artifacts import fetched
from pipeline.tracking.run import scratch_folder

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
    found = dict[str, Encodings]()
    with scratch_folder() as scratch:
        for job in jobs.to_dict("records"):
            if len(found) == MOST_PANELS:
                break
            path = fetched(client, str(job["run_id"]), ENCODINGS, scratch)
            if path is not None:
                with np.load(path, allow_pickle=False) as arrays:
                    found[str(job["arm"])] = Encodings.of(arrays)
    return found
