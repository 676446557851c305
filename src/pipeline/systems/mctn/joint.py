"""How well an encoding tells kinds of samples apart: nearest neighbours, silhouette, and a plane to look at."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

NEIGHBOURS, FOLDS = 5, 5
PERPLEXITY, SEED = 30.0, 0  # of the places in the plane
METRIC = "joint_"  # begins the names of the metrics


@dataclass(frozen=True, eq=False)
class Encodings:
    """Holds what a model makes of test samples: encoding, E averaged over steps (sample, unit); kind (sample,), the
    number of each one's kind among `kinds`, as "negative" and "positive"; group (sample,), samples of which, as those
    of a video, are not independent."""

    encoding: np.ndarray
    kind: np.ndarray
    group: np.ndarray
    kinds: tuple[str, ...]

    @classmethod
    def of(cls, arrays: Any) -> Encodings:
        """Returns what a file of arrays by name holds, without the samples that have no step to read (NaN)."""
        encoding = np.asarray(arrays["encoding"], np.float64)
        known = np.isfinite(encoding).all(1)
        kind, group = (np.asarray(arrays[name])[known] for name in ("kind", "group"))
        return cls(encoding[known], kind, group, tuple(map(str, arrays["kinds"])))

    def spread(self, most: int) -> Encodings:
        """Returns at most so many samples, spread evenly over all."""
        count = len(self.kind)
        chosen = np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(int))
        return replace(self, encoding=self.encoding[chosen], kind=self.kind[chosen], group=self.group[chosen])

    @property
    def standardised(self) -> np.ndarray:
        """Returns the encodings with mean 0 and variance 1 of each unit; a constant unit is 0."""
        spread = self.encoding.std(0)
        return (self.encoding - self.encoding.mean(0)) / np.where(spread > 0, spread, 1)


@dataclass(frozen=True)
class Separation:
    """Holds how far kinds are apart. neighbours: the accuracy of the vote of five nearest neighbours of other groups.
    majority: the share of the most frequent kind, which is reached by chance alone. silhouette: its mean over samples,
    from −1 to 1, 0 where kinds lie in one another."""

    neighbours: float
    majority: float
    silhouette: float


def separation(own: Encodings) -> Separation | None:
    """Returns how far the kinds are apart in the space of the encodings, each unit in its standard deviations; None
    where there are fewer than two kinds or groups, or no more than five samples outside a fold.

    The neighbours of a sample are looked for among the folds that do not hold its group.
    """
    from sklearn.metrics import silhouette_score
    from sklearn.model_selection import GroupKFold, cross_val_predict
    from sklearn.neighbors import KNeighborsClassifier

    places, counts = own.standardised, np.unique(own.kind, return_counts=True)[1]
    folds = min(FOLDS, len(set(own.group.tolist())))
    if len(counts) < 2 or folds < 2 or len(places) - len(places) // folds <= NEIGHBOURS or counts.min() < 2:
        return None
    voting = KNeighborsClassifier(NEIGHBOURS)
    voted = cross_val_predict(voting, places, own.kind, groups=own.group, cv=GroupKFold(folds))
    return Separation(
        float(np.mean(voted == own.kind)), float(counts.max() / len(places)), float(silhouette_score(places, own.kind))
    )


def plane(own: Encodings) -> np.ndarray:
    """Returns a place in the plane for each sample by t-SNE (van der Maaten and Hinton 2008) of the standardised
    encodings, from their first two principal components on: (sample, 2). Fewer than three samples, and encodings that
    are all the same, have no such plane: 0."""
    from sklearn.manifold import TSNE

    places = own.standardised
    if len(places) < 3 or not places.any():
        return np.zeros((len(places), 2))
    perplexity = min(PERPLEXITY, (len(own.kind) - 1) / 3)
    model = TSNE(2, perplexity=perplexity, init="pca", random_state=SEED, n_jobs=1)
    return model.fit_transform(places)


def words_of(found: Separation | None) -> str:
    """Returns the numbers in a few words, for the title of a panel."""
    if found is None:
        return "too few samples to count neighbours"
    return f"5-NN {found.neighbours:.2f} (majority {found.majority:.2f}), silhouette {found.silhouette:z.2f}"


def metrics_of(found: Separation | None) -> dict[str, float]:
    """Returns the numbers by the names of metrics; none where nothing could be counted."""
    return {} if found is None else {f"{METRIC}{name}": value for name, value in asdict(found).items()}


def separations_of(jobs: Any) -> pd.DataFrame:
    """Returns a row per data set and arm: mean and standard deviation over jobs of how far kinds are apart. jobs: with
    the columns of `metrics_of`; without them the table is empty."""
    if f"{METRIC}neighbours" not in jobs:
        return pd.DataFrame()
    groups = jobs.dropna(subset=f"{METRIC}neighbours").groupby(["data", "arm"], sort=False)
    scores = {
        name: (f"{METRIC}{name.removesuffix('_sd')}", "std" if name.endswith("_sd") else "mean")
        for name in ("neighbours", "neighbours_sd", "majority", "silhouette", "silhouette_sd")
    }
    return groups.agg(jobs=("seed", "size"), **scores).reset_index()
