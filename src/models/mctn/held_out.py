"""Which samples are learned from and which are held out: samples that hold the same are in one of the two."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import torch

from models.mctn.samples import Samples, Stream
from models.runtime.seeding import generator

LEAST_HELD_OUT = 5  # samples of a validation part; with fewer there is none


def split(streams: Mapping[str, Stream], labels: torch.Tensor, *, share: float, seed: int) -> tuple[Samples, Samples]:
    """Returns the samples that are learned from and those that are held out, both in a random order.

    Samples with the same steps in all of the streams stay in one part, as one that was learned says nothing of new
    ones; groups of them that are larger than what is held out are learned from. Where fewer than `LEAST_HELD_OUT` would
    be held out, all are learned from. Warns of how many repeat another.
    """
    order = torch.randperm(len(labels), generator=generator(seed, "mctn/held_out"))
    firsts, wanted = first_equal(streams), int(share * len(labels))
    if wanted >= LEAST_HELD_OUT:
        chosen = drawn(firsts[order], wanted)
        chosen &= chosen.sum() >= LEAST_HELD_OUT
        warn_of_repeats(firsts, int(chosen.sum()))
    else:
        chosen = torch.zeros(len(labels), dtype=torch.bool)
    parts = order[~chosen], order[chosen]
    first, second = (Samples({k: v.take(rows) for k, v in streams.items()}, labels[rows]) for rows in parts)
    return first, second


def first_equal(streams: Mapping[str, Stream]) -> torch.Tensor:
    """Returns the number of the first sample with the same steps as each, its own where it has none, (sample,)."""
    steps = [stream.steps.unpack() for stream in streams.values()]
    first = dict[tuple[bytes, ...], int]()
    return torch.tensor([
        first.setdefault(tuple(part.numpy().tobytes() for part in own), place) if any(map(len, own)) else place
        for place, own in enumerate(zip(*steps, strict=True))
    ])  # fmt: skip


def drawn(groups: torch.Tensor, wanted: int) -> torch.Tensor:
    """Returns which samples are held out, at most `wanted`: whole groups in the order in which they come, those that
    still fit. groups: of each sample, (sample,)."""
    sizes = dict(zip(*(own.tolist() for own in groups.unique(return_counts=True)), strict=True))
    chosen = set[int]()
    for group in dict.fromkeys(groups.tolist()):
        if sizes[group] <= wanted:
            chosen.add(group)
            wanted -= sizes[group]
    return torch.isin(groups, torch.tensor(sorted(chosen), dtype=groups.dtype))


def warn_of_few(share: float, count: int) -> None:
    """Warns where a share of so many samples is too small a validation part, unless none is wanted."""
    if share > 0 and int(share * count) < LEAST_HELD_OUT:
        warnings.warn(
            f"held_out={share:g} of {count} samples is fewer than {LEAST_HELD_OUT}: no epoch is chosen, and the last "
            "is kept; give more samples, a larger held_out, or 0 for none",
            stacklevel=3,
        )


def warn_of_repeats(firsts: torch.Tensor, held_out: int) -> None:
    """Warns of how many samples hold the same as another, if there are any. firsts: as `first_equal` has them."""
    again = int((firsts != torch.arange(len(firsts))).sum())
    if again:
        needed = f", too few to choose an epoch by; {LEAST_HELD_OUT} are needed, and the last is kept"
        few = "" if held_out >= LEAST_HELD_OUT else needed
        warnings.warn(
            f"{again} of {len(firsts)} samples hold the same as another; each stays in one part with it, "
            f"{len(firsts) - held_out} are learned from and {held_out} held out{few}",
            stacklevel=4,
        )
