"""Inputs before and after reconfiguration, as t-SNE shows them (thesis, figures 3.2 and 3.3)."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from tqdm import tqdm

from data.files.exact_numbers import EXACT
from pipeline.job.shared import made_once
from pipeline.job.study import Study
from pipeline.plotting import Grid, colour, new_panels
from pipeline.systems.ssgp.checks import LEAST_PICTURE
from pipeline.systems.ssgp.config import SsgpConfig
from pipeline.systems.ssgp.curves import StandardisedPoints
from pipeline.systems.ssgp.inputs import mark_of
from pipeline.tracking.artifacts import tables_by_run

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from mlflow.tracking import MlflowClient

CLUSTERS = "evaluate/clusters.csv"
PERPLEXITY = 30.0
VERSION = 1  # of how points are placed and clustered, raised where the same inputs give another table
MARKERS = ("o", "s", "^", "D", "v", "x", "+", "*")


def pictured(inputs: Tensor, *, kind: str, clusters: int, seed: int) -> pd.DataFrame:
    """Returns a row per point: its place by t-SNE and its cluster by k-means in the inputs (row, input) themselves.

    kind: a name for the column `inputs`. silhouette: of these clusters in the inputs, the same in every row; NaN where
    all points fall into one cluster, or each has its own.
    """
    from sklearn.cluster import KMeans
    from sklearn.manifold import TSNE
    from sklearn.metrics import silhouette_score

    values = inputs.double().cpu().numpy()
    count = min(clusters, len(np.unique(values, axis=0)))
    cluster = KMeans(count, random_state=seed).fit_predict(values)
    place = TSNE(perplexity=min(PERPLEXITY, (len(values) - 1) / 3), init="random", random_state=seed)
    x, y = place.fit_transform(values).T
    known = 1 < len(set(cluster)) < len(values)
    silhouette = float(silhouette_score(values, cluster)) if known else float("nan")
    return pd.DataFrame({"inputs": kind, "x": x, "y": y, "cluster": cluster, "silhouette": silhouette})


def cluster_figure(points: pd.DataFrame, *, title: str) -> Figure:
    """Returns a figure with a panel for the inputs before and after, and a colour and a marker for each cluster.
    points: a table as `both` returns it."""
    kinds = dict(list(points.groupby("inputs", sort=False)))
    names = [f"{kind}; silhouette {rows['silhouette'].iloc[0]:.2f}" for kind, rows in kinds.items()]
    x, y = (f"{which} t-SNE coordinate" for which in ("first", "second"))
    figure, axes = new_panels(names, title, x=x, y=y, grid=Grid(2, size=(4.1, 4.2)))
    for panel, rows in zip(axes.values(), kinds.values(), strict=True):
        for i, (_, members) in enumerate(rows.groupby("cluster")):
            marker = MARKERS[i % len(MARKERS)]
            panel.scatter(members["x"], members["y"], s=8, marker=marker, color=colour(i), linewidths=0.6)
        panel.grid(False)
    return figure


def both(settings: SsgpConfig, given: Tensor, changed: Tensor) -> pd.DataFrame:
    """Returns the tables of the test inputs before and after an autoencoder changed them, as one. given, changed: (row,
    input)."""
    clusters, most, seed = settings.autoencoder.components, settings.ssgp.picture, settings.seed
    tables = [
        pictured(inputs[:most], kind=kind, clusters=clusters, seed=seed)
        for kind, inputs in (("inputs", given), ("reconfigured", changed))
    ]
    return pd.concat(tables, ignore_index=True)


def of_seed(settings: SsgpConfig, given: Tensor, changed: Tensor, here: Study) -> pd.DataFrame:
    """Returns the table of `both`. It is made once for all runs that want it, as the autoencoder is; an untracked run
    makes its own."""
    mark = mark_of(torch.cat([given, changed], 1), settings.autoencoder, settings.seed)
    text = made_once(
        "clusters", f"{settings.ssgp.picture}-{mark}", "clusters.csv",
        lambda: both(settings, given, changed).to_csv(index=False), version=VERSION, kept=here.run.tracked,
    )  # fmt: skip
    return pd.read_csv(StringIO(text), **EXACT)


def log_clusters(settings: SsgpConfig, given: StandardisedPoints, changed: StandardisedPoints, here: Study) -> None:
    """Logs a t-SNE of the test inputs before and after an autoencoder changed them, as a table, and as a figure where
    all details are logged. A test part with fewer than `LEAST_PICTURE` rows has none, which is said."""
    if len(given.test.targets) < LEAST_PICTURE:
        rows = len(given.test.targets)
        tqdm.write(f"the test part has {rows} rows, too few for a t-SNE; figures/clusters is left out")
        return
    table = of_seed(settings, given.test.inputs, changed.test.inputs, here)
    here.run.table(table, CLUSTERS)
    if here.full:
        here.run.figure(cluster_figure(table, title=f"{here.title}: clusters of the test inputs"), "figures/clusters")


def clusters_of(client: MlflowClient, jobs: pd.DataFrame) -> pd.DataFrame:
    """Returns the table of the first of the jobs that has one; its autoencoder is that of the first seed. The table is
    empty where no job has one."""
    tables = (table for _, table in tables_by_run(client, jobs["run_id"], CLUSTERS))
    return next(tables, pd.DataFrame())
