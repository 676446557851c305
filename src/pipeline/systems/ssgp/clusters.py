"""Inputs before and after reconfiguration, as t-SNE shows them (thesis, figures 3.2 and 3.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from torch import Tensor

from pipeline.plotting import COLOURS, entitle, new_figure

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
    found = min(clusters, len(np.unique(values, axis=0)))
    cluster = KMeans(found, random_state=seed).fit_predict(values)
    place = TSNE(perplexity=min(PERPLEXITY, (len(values) - 1) / 3), init="random", random_state=seed)
    x, y = place.fit_transform(values).T
    known = 1 < len(set(cluster)) < len(values)
    silhouette = float(silhouette_score(values, cluster)) if known else float("nan")
    return pd.DataFrame({"inputs": kind, "x": x, "y": y, "cluster": cluster, "silhouette": silhouette})


def cluster_figure(points: pd.DataFrame, *, title: str) -> Figure:
    figure = new_figure(8.2, 4.2)
    entitle(figure, title)
    for place, (kind, rows) in enumerate(points.groupby("inputs", sort=False)):
        panel = figure.add_subplot(1, 2, place + 1)
        for i, (_, members) in enumerate(rows.groupby("cluster")):
            panel.scatter(
                members["x"], members["y"], s=8, marker=MARKERS[i % len(MARKERS)], color=COLOURS[i % len(COLOURS)],
                linewidths=0.6,
            )  # fmt: skip
        panel.set_title(f"{kind}; silhouette {rows['silhouette'].iloc[0]:.2f}", fontsize=9)
        panel.set_xlabel("first t-SNE coordinate", fontsize=8)
        panel.set_ylabel("second t-SNE coordinate", fontsize=8)
    return figure
