"""The embeddings of tasks of a multirun's jobs: how alike those of two tasks are, by arm."""

from __future__ import annotations

from typing import Any

import pandas as pd
from mlflow.tracking import MlflowClient

from pipeline.systems.experts.figures import cosine_maps
from pipeline.systems.experts.labels import asked_pairs, of_most_pairs, with_data
from pipeline.tracking.artifacts import tables_by_run

EMBEDDINGS = "embeddings.csv"
READ: Any = {"dtype": {"task": str}, "keep_default_na": False, "na_values": [""]}  # a cosine may be missing, no name


def embeddings_of(client: MlflowClient, jobs: Any) -> pd.DataFrame:
    """Returns the table of `mean_cosines` of those jobs that logged cosines; an empty one where none did."""
    return mean_cosines(jobs, dict(tables_by_run(client, jobs["run_id"], EMBEDDINGS, **READ)))


def mean_cosines(jobs: Any, found: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Returns a row per data set, arm and ordered pair of tasks: the cosine of their embeddings, mean over jobs, and
    its standard deviation over them; jobs counts those whose cosine is a number.

    A task has the same name in all jobs, which numbers of experts do not have. Where data.seed is the seed of a job, as
    in the experiments on generated languages, each job draws languages of its own. Then a name stands for another
    language in each job, and only its family stays.

    found: cosines by run, a row a task, which column task names, and a column a task.
    """
    rows = []
    for job in jobs[jobs["run_id"].isin(list(found))].to_dict("records"):
        own = found[str(job["run_id"])].melt(id_vars="task", var_name="other", value_name="cosine")
        rows.append(own.assign(data=job["data"], arm=job["arm"], asked=asked_pairs(job)))
    if not rows:
        return pd.DataFrame()
    groups = pd.concat(rows).groupby(["data", "arm", "asked", "task", "other"], sort=False)["cosine"]
    return groups.agg(jobs="count", cosine="mean", cosine_sd="std").reset_index()


def embedding_figures(cosines: Any, title: str) -> dict[str, Any]:
    """Returns the figure of the cosines, a panel for each data set and arm. Where new tasks were learned from several
    numbers of pairs, it has the panels of the most. cosines: as `mean_cosines` gives them."""
    if not len(cosines):
        return {}
    drawn: Any = of_most_pairs(cosines)
    panels = {}
    for (data, arm), own in drawn.groupby(["data", "arm"], sort=False):
        tasks = own["task"].unique()
        table = own.pivot_table(index="task", columns="other", values="cosine").reindex(index=tasks, columns=tasks)
        panels[with_data(cosines, data, arm)] = table
    counts = sorted(set(drawn["jobs"]))
    over = f"mean over {' or '.join(map(str, counts))} job{'' if counts == [1] else 's'}"
    return {"figures/embeddings": cosine_maps(panels, title=f"{title}: cosines of embeddings of tasks, {over}")}
