"""The jobs of a multirun of `recipe=ssgp` as its parent shows them: their curves, read from the store, and the tables,
figures and claims made from these."""

from __future__ import annotations

from typing import Any

import pandas as pd
from mlflow.tracking import MlflowClient

from pipeline.compare.comparison import stored_error
from pipeline.compare.summary import with_varied
from pipeline.compare.words import Summary
from pipeline.systems.ssgp.clusters import cluster_figure, clusters_of
from pipeline.systems.ssgp.curves import best_place
from pipeline.systems.ssgp.report import DataSet, claims_of, curve_figure, has_curves, in_words, means_of

FRONT = ("arm", "count", "seed", "seconds", "stopped", "seeded")
SCORES = ("loss", "validation_rmse", "validation_nlpd", "test_rmse", "test_nlpd")


def curve_of(client: MlflowClient, run_id: str) -> pd.DataFrame:
    """Returns the curve of a job, a row per point. The column `chosen` is true for the point that is kept."""
    histories = {
        name: {point.step: stored_error(point.value) for point in client.get_metric_history(run_id, f"fit/{name}")}
        for name in SCORES
    }
    table = pd.DataFrame(histories, columns=list(SCORES)).rename_axis("iteration").sort_index().reset_index()
    return table.assign(chosen=table.index == best_place(table["validation_nlpd"].to_list()))


def curves_of(client: MlflowClient, jobs: Any) -> pd.DataFrame:
    """Returns the curves of all jobs, in the order in which these were planned."""
    tables = []
    for job in jobs.sort_values("job").to_dict("records"):
        front = {("p" if name == "count" else name): job[name] for name in FRONT}
        curve = curve_of(client, str(job["run_id"]))
        tables.append(pd.DataFrame([front] * len(curve)).join(curve))
    return pd.concat(tables, ignore_index=True)


def autoencoders_of(client: MlflowClient, jobs: Any) -> pd.DataFrame:
    """Returns what the autoencoder of each seed has come to; empty where no job had one."""
    runs = {int(job["seed"]): client.get_run(str(job["run_id"])).data.metrics for job in jobs.to_dict("records")}
    names = ("radius", "explained")
    rows = [
        {"seed": seed, **{name: metrics[f"autoencoder/{name}"] for name in names}}
        for seed, metrics in runs.items()
        if "autoencoder/radius" in metrics
    ]
    return pd.DataFrame(rows)


def of_one(client: MlflowClient, jobs: Any, title: str) -> Summary:
    """Returns the tables, the figure where there are curves, and the words of jobs on one data set."""
    curves, first = curves_of(client, jobs), jobs.iloc[0]
    points = DataSet(str(first["data"]), str(first["target"]), bool(first["stand_in"]))
    chosen = curves[curves["chosen"]]
    means, (paired, claims) = means_of(chosen), claims_of(chosen, points)
    reconfigured = autoencoders_of(client, jobs[jobs["arm"].str.match("revisited|vae_ridge")])
    tables = {"curves.csv": curves, "means.csv": means, "paired.csv": paired, "claims.csv": claims}
    clusters = clusters_of(client, jobs[jobs["arm"].str.startswith("revisited")].sort_values("job"))
    tables |= {"autoencoders.csv": reconfigured, "clusters.csv": clusters}
    figures = {}
    if len(clusters):
        figures["figures/clusters"] = cluster_figure(clusters, title=f"{title}: clusters of the test inputs")
    if has_curves(curves):
        figures["figures/rmse"] = curve_figure(curves, points, title=f"{title}: error over training")
    return Summary(
        {path: table for path, table in tables.items() if len(table)}, figures, in_words(means, paired, claims)
    )


def summarise(client: MlflowClient, jobs: Any, title: str) -> Summary:
    """Returns what the parent shows of its jobs. The jobs on each data set, and with each value of what else was
    varied, are shown apart."""
    labels, _ = with_varied(jobs)
    parts = {
        str(label): of_one(client, rows.assign(data=label), title) for label, rows in jobs.groupby(labels, sort=False)
    }
    if len(parts) == 1:
        (only,) = parts.values()
        return only
    tables: dict[str, list[pd.DataFrame]] = {}
    for label, part in parts.items():
        for path, table in part.tables.items():
            rest = table.drop(columns="data", errors="ignore")
            rest.insert(0, "data", label)
            tables.setdefault(path, []).append(rest)
    figures = {f"{path}_{label}": figure for label, part in parts.items() for path, figure in part.figures.items()}
    text = "\n\n".join(f"## {label}\n\n{part.text}" for label, part in parts.items())
    return Summary({path: pd.concat(by_data, ignore_index=True) for path, by_data in tables.items()}, figures, text)
