"""How well an encoding tells kinds of samples apart: nearest neighbours, silhouette, and a plane to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

NEIGHBOURS, FOLDS = 5, 5
PERPLEXITY = 30.0


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


def plane(own: Encodings, *, seed: int = 0) -> np.ndarray:
    """Returns a place in the plane for each sample by t-SNE (van der Maaten and Hinton 2008) of the standardised
    encodings, from their first two principal components on: (sample, 2)."""
    from sklearn.manifold import TSNE

    perplexity = min(PERPLEXITY, (len(own.kind) - 1) / 3)
    model = TSNE(2, perplexity=perplexity, init="pca", random_state=seed, n_jobs=1)
    return model.fit_transform(own.standardised)


def words_of(found: Separation | None) -> str:
    """Returns the numbers in a few words, for the title of a panel."""
    if found is None:
        return "too few samples to count neighbours"
    return f"5-NN {found.neighbours:.2f} (majority {found.majority:.2f}), silhouette {found.silhouette:.2f}"


def table_of(arms: Sequence[str], seeds: Sequence[int], found: Sequence[Separation | None]) -> Any:
    """Returns mean and standard deviation over seeds of each arm's separation, a row an arm in the order they come."""
    import pandas as pd

    rows = [
        {"arm": arm, "seed": seed, **each.__dict__}
        for arm, seed, each in zip(arms, seeds, found, strict=True)
        if each is not None
    ]
    if not rows:
        return pd.DataFrame()
    groups = pd.DataFrame(rows).groupby("arm", sort=False)
    named = groups.agg(
        runs=("seed", "size"), neighbours=("neighbours", "mean"), neighbours_sd=("neighbours", "std"),
        majority=("majority", "mean"), silhouette=("silhouette", "mean"), silhouette_sd=("silhouette", "std"),
    )  # fmt: skip
    return named.reset_index()
