"""Small samples of three modalities of unequal lengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from models.mctn.network import Architecture, SentimentNetwork
from models.mctn.predictor import streams_of
from models.mctn.samples import Samples

WIDTHS = {"t": 4, "v": 3, "a": 2}


def utterances(count: int = 12, *, seed: int = 0, missing: Sequence[int] = (), noise: float = 0.1) -> dict[str, Any]:
    """Text of 2 to 6 steps that tells video (as long) and audio (one step); those of `missing` are text alone.

    noise: of the text, in standard deviations of what it tells."""
    chance = np.random.default_rng(seed)
    latent = [chance.normal(size=(length, 2)) for length in chance.integers(2, 7, count)]
    into = chance.normal(size=(2, 4))
    video = [np.c_[each, each[:, :1] ** 2] for each in latent]
    audio = [each.mean(0, keepdims=True) for each in latent]
    for place in missing:
        video[place], audio[place] = video[place][:0], audio[place][:0]
    text = [each @ into + noise * chance.normal(size=(len(each), 4)) for each in latent]
    return {"text": text, "video": video, "audio": audio, "labels": np.array([each[:, 0].mean() for each in latent])}


def samples(count: int = 12, *, missing: Sequence[int] = ()) -> Samples:
    own = utterances(count, missing=missing)
    streams = streams_of(own, "tva", dtype=torch.float64)
    return Samples(streams, torch.from_numpy(own["labels"]))


def network(arm: str, *, widths: dict[str, int] | None = None, **own: Any) -> SentimentNetwork:
    return SentimentNetwork(Architecture(arm, widths or WIDTHS, units=4, **own), seed=3).double()
