"""One seed, and named generators derived from it: adding a use of chance never changes another one's numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import torch

Generators = Callable[[str], torch.Generator]  # of a name, each time at its beginning


def derived(seed: int, name: str) -> int:
    """Returns a seed of 63 bits for one named use of the seed."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator(seed: int, name: str) -> torch.Generator:
    """Returns a CPU generator for one named use (for example "frequencies/history") of the seed."""
    return torch.Generator().manual_seed(derived(seed, name))


def generators_of(seed: int) -> Generators:
    """Returns the function that gives each named use of the seed its `generator`."""
    return partial(generator, seed)


@contextmanager
def drawn(seed: int, name: str) -> Iterator[None]:
    """Has the block draw from torch's global generators, those of CUDA devices too where CUDA is in use, as seeded for
    one named use of the seed; afterwards these generators are as they were."""
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []
    with torch.random.fork_rng(devices):
        torch.default_generator.manual_seed(derived(seed, name))
        if devices:
            torch.cuda.manual_seed_all(derived(seed, name))
        yield
