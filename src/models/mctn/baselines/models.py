"""Simple baselines by their names: the median, and ridge regressions whose penalty is chosen on the validation part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self

import numpy as np
from scipy import sparse

from models.mctn.baselines.features import Features, Lexicon, Steps, Terms, Together
from models.mctn.baselines.ridges import applied, dense_maps, sparse_maps
from models.mctn.baselines.samples import OWN_WORDS, Observed
from models.numerics.ridge import AffineMap
from models.numerics.ties import WORTH

RIDGES = tuple(10.0**power for power in range(4, -4, -1))  # eight trials, from the largest

FEATURES: dict[str, Callable[[], Features]] = {
    "tfidf": Terms,
    "vader": Lexicon,
    "word_vectors": lambda: Steps("text"),
    "words_and_vader": lambda: Together((Steps("text"), Lexicon())),
    "own_vectors": lambda: Steps(OWN_WORDS),
    **{name: lambda name=name: Steps(name, deviations=True) for name in ("audio", "video", "text")},
}
NAMES = ("median", *FEATURES)


class Baseline(Protocol):
    """Is fitted to training samples, with a validation part to choose by, and predicts."""

    @property
    def parameters(self) -> int:
        """Returns how many numbers predictions are made with."""
        ...

    def fit(self, train: Observed, validation: Observed) -> Self:
        """Learns from samples with labels. Raises ValueError for samples that lack what is read."""
        ...

    def predict(self, part: Observed) -> np.ndarray:
        """Returns scores (sample,), or probabilities (sample, class)."""
        ...


@dataclass
class Median:
    """Predicts the median of the training scores; the shares of the training classes."""

    values: np.ndarray = field(default_factory=lambda: np.zeros(0), init=False)

    @property
    def parameters(self) -> int:
        """Returns how many numbers predictions are made with."""
        return len(self.values)

    def fit(self, train: Observed, validation: Observed) -> Self:  # noqa: ARG002
        """Learns from the training labels alone."""
        targets = train.targets()
        self.values = targets.mean(0) if train.classes else np.median(targets, 0)
        return self

    def predict(self, part: Observed) -> np.ndarray:
        """Returns the same for each sample."""
        return shaped(np.tile(self.values, (len(part), 1)))


@dataclass
class Ridge:
    """Regresses scores, or ones and zeros of classes, on features.

    The penalty is that of `RIDGES` with the least error on the validation part, of near ties the largest: the mean
    absolute error of scores, the mean squared one of classes. A sample without a step of what the features read counts
    for nothing, and has no prediction: NaN. chosen: that penalty. map: what is predicted with.
    """

    features: Features
    chosen: float = field(default=np.nan, init=False)
    map: AffineMap | None = field(default=None, init=False)

    @property
    def parameters(self) -> int:
        """Returns how many numbers predictions are made with."""
        return 0 if self.map is None else self.map.weight.numel() + self.map.bias.numel()

    def fit(self, train: Observed, validation: Observed) -> Self:
        """Learns from the training samples. Raises ValueError for samples that lack what the features read."""
        train, validation = (part.pick(part.readable(self.features.reads)) for part in (train, validation))
        rows = self.features.fit(train).rows(train)
        maps = (sparse_maps if sparse.issparse(rows) else dense_maps)(rows, train.targets(), RIDGES)
        if not len(validation):
            raise ValueError(f"no validation sample has a step of {', '.join(self.features.reads)}; give some")
        held_out, wanted = self.features.rows(validation), validation.targets()
        power = 2 if train.classes else 1
        errors = [float(np.mean(np.abs(applied(fit, held_out) - wanted) ** power)) for fit in maps]
        best = largest_of_least(errors)
        self.chosen, self.map = RIDGES[best], maps[best]
        return self

    def predict(self, part: Observed) -> np.ndarray:
        """Returns scores (sample,), or probabilities (sample, class), NaN for a sample without a step. Raises
        ValueError before `fit`."""
        if self.map is None:
            raise ValueError("the baseline is not fitted; call fit first")
        known, outputs = part.readable(self.features.reads), np.full((len(part), len(self.map.bias)), np.nan)
        if len(known):
            outputs[known] = applied(self.map, self.features.rows(part.pick(known)))
        return shaped(outputs)


def largest_of_least(errors: Sequence[float]) -> int:
    """Returns the place of the least error; a later one has to be less by more than the share `WORTH`, so that rounding
    does not choose."""
    best = 0
    for place, error in enumerate(errors):
        if error < (1 - WORTH) * errors[best]:
            best = place
    return best


def shaped(outputs: np.ndarray) -> np.ndarray:
    """Returns scores (sample,) of one output; of several, cut at 0 and divided by their sum."""
    if outputs.shape[1] == 1:
        return outputs[:, 0]
    positive = outputs.clip(min=0)
    return positive / positive.sum(1, keepdims=True)


def baseline(name: str) -> Baseline:
    """Returns the baseline of a name, one of `NAMES`, not fitted. Raises ValueError for another one."""
    if name not in NAMES:
        raise ValueError(f"baseline {name!r} is not known: give {', '.join(NAMES)}")
    return Median() if name == "median" else Ridge(FEATURES[name]())


def reads(name: str) -> tuple[str, ...]:
    """Returns the modalities that a baseline looks at to predict. Raises ValueError as `baseline`."""
    found = baseline(name)
    if not isinstance(found, Ridge):
        return ()
    return tuple("text" if modality == OWN_WORDS else modality for modality in found.features.reads)
