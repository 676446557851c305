"""Predictions where modalities are missing at test, or hold anything else."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from models.mctn.network import SentimentNetwork
from models.mctn.samples import Samples, holding, without
from pipeline.systems.mctn.scores import outputs_of


def is_the_same(network: SentimentNetwork, test: Samples, letters: str, *, terms: frozenset[str]) -> bool | None:
    """Returns whether a network has the same outputs, bit by bit, whatever the modalities of these letters hold: their
    own numbers, none, random ones and NaN. It translates into them all the while. None for a network that reads one of
    them, of which that is not asked.

    terms: of the loss that it learned from, which say what it translates.
    """
    if set(letters) & set(network.plan.read):
        return None
    own = bits(network, test, terms)
    return all(bits(network, other, terms) == own for other in variants(test, letters))


def bits(network: SentimentNetwork, samples: Samples, terms: frozenset[str]) -> bytes:
    """Returns the outputs as they lie in memory."""
    outputs, _ = outputs_of(network, samples, terms=terms)
    return np.ascontiguousarray(outputs).tobytes()


def variants(samples: Samples, letters: str) -> Iterator[Samples]:
    """Yields the samples without steps of the modalities of these letters, then with random numbers and with NaN in
    all of their steps."""
    chance = torch.Generator().manual_seed(0)
    yield without(samples, letters)
    yield holding(samples, letters, lambda own: torch.randn(own.shape, generator=chance, dtype=own.dtype))
    yield holding(samples, letters, lambda own: torch.full_like(own, torch.nan))
