"""Inputs before and after reconfiguration, as t-SNE shows them (thesis, figures 3.2 and 3.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from torch import Tensor
from tqdm import tqdm

from pipeline.job.study import Study
from pipeline.plotting import Grid, colour, new_panels
from pipeline.systems.ssgp.checks import LEAST_PICTURE
from pipeline.systems.ssgp.config import SsgpConfig
from pipeline.systems.ssgp.curves import StandardisedPoints

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PERPLEXITY = 30.0
MARKERS = ("o", "s", "^", "D", "v", "x", "+", "*")


def pictured(inputs: Tensor, *, kind: str, clusters: int, seed: int) -> pd.DataFrame:
    """A row per point: its place by t-SNE and its cluster by k-means in the inputs themselves.

    silhouette: of these clusters in the inputs, the same in every row; NaN where all points fall into one.
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
    """A panel for the inputs before and after, a colour and a marker for each cluster."""
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


def log_clusters(settings: SsgpConfig, given: StandardisedPoints, changed: StandardisedPoints, here: Study) -> None:
    """t-SNE of test inputs before and after an autoencoder changed them."""
    if len(given.test.targets) < LEAST_PICTURE:
        rows = len(given.test.targets)
        tqdm.write(f"the test part has {rows} rows, too few for a t-SNE; figures/clusters is left out")
        return
    clusters, most, seed = settings.autoencoder.components, settings.ssgp.picture, settings.seed
    tables = [
        pictured(points.test.inputs[:most], kind=kind, clusters=clusters, seed=seed)
        for kind, points in (("inputs", given), ("reconfigured", changed))
    ]
    table = pd.concat(tables, ignore_index=True)
    here.run.table(table, "evaluate/clusters.csv")
    here.run.figure(cluster_figure(table, title=f"{here.title}: clusters of the test inputs"), "figures/clusters")
