"""One seed, and named generators derived from it: adding a use of chance never changes another one's numbers."""

from __future__ import annotations

import hashlib

import torch


def derived(seed: int, name: str) -> int:
    """A seed of 63 bits for one named use of the run's seed."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator(seed: int, name: str) -> torch.Generator:
    """A CPU generator for one named use (for example "frequencies/history") of the run's seed."""
    return torch.Generator().manual_seed(derived(seed, name))
