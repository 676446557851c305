"""Which samples are learned from and which are held out: samples of a group, and those that hold the same, are in one
of the two."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping

import numpy as np
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from models.mctn.samples import Samples, Stream
from models.runtime.held_out import warn_of_few_held_out
from models.runtime.seeding import generator

LEAST_HELD_OUT = 5  # samples of a validation part; with fewer there is none


def split(
    streams: Mapping[str, Stream], labels: torch.Tensor, *, share: float, seed: int, groups: torch.Tensor | None = None
) -> tuple[Samples, Samples]:
    """Returns the samples that are learned from and those that are held out, both in a random order.

    Samples of a group, and those with the same steps in all of the streams, stay in one part, as one that was learned
    says nothing of new ones; where these are more than what is held out they are learned from, and so is a group that
    has all samples of a class. Where fewer than `LEAST_HELD_OUT` would be held out, all are learned from. Warns of how
    many samples repeat another, and of groups that are too large.

    labels: scores, or whole numbers of classes, (sample,). groups: the number of each sample's, (sample,).
    """
    order = torch.randperm(len(labels), generator=generator(seed, "mctn/held_out"))
    firsts, wanted = first_equal(streams), int(share * len(labels))
    if wanted >= LEAST_HELD_OUT:
        together = firsts if groups is None else joined(firsts, groups)
        classes = torch.zeros_like(order) if labels.is_floating_point() else labels[order]
        chosen = drawn(together[order], classes, wanted)
        chosen &= chosen.sum() >= LEAST_HELD_OUT
        if groups is None or chosen.any() or len(firsts.unique()) < len(firsts):
            warn_of_repeats(firsts, int(chosen.sum()))
        else:
            warn_of_large_groups(share)
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


def joined(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Returns the numbers of the finest groups (sample,) that hold together what is together by one of two numberings,
    (sample,) each."""
    places, numbers = np.arange(len(one)), [own.unique(return_inverse=True)[1].numpy() for own in (one, other)]
    ends = np.concatenate([numbers[0] + len(places), numbers[1] + 2 * len(places)])
    edges = coo_array((np.ones(len(ends)), (np.tile(places, 2), ends)), shape=(3 * len(places),) * 2)
    return torch.from_numpy(connected_components(edges, directed=False)[1][: len(places)]).long()


def drawn(groups: torch.Tensor, classes: torch.Tensor, wanted: int) -> torch.Tensor:
    """Returns which samples are held out, at most `wanted`: whole groups in the order in which they come, those that
    still fit and leave a sample of every class. groups, classes: of each sample, (sample,)."""
    names, members = classes.tolist(), dict[int, list[int]]()
    for place, group in enumerate(groups.tolist()):
        members.setdefault(group, []).append(place)
    left, chosen = Counter(names), torch.zeros(len(groups), dtype=torch.bool)
    for places in members.values():
        own = Counter(names[place] for place in places)
        if len(places) <= wanted and all(left[name] > count for name, count in own.items()):
            chosen[places] = True
            wanted -= len(places)
            left -= own
    return chosen


def warn_of_few(share: float, count: int) -> None:
    """Warns where a share of so many samples is too small a validation part, unless none is wanted."""
    if share > 0 and int(share * count) < LEAST_HELD_OUT:
        warn_of_few_held_out(share, count, "samples", least=LEAST_HELD_OUT)


def warn_of_large_groups(share: float) -> None:
    """Warns that no part of at least `LEAST_HELD_OUT` samples can be made of whole groups."""
    warnings.warn(
        f"held_out={share:g} has room for too few whole groups of samples: no epoch is chosen, and the last is kept; "
        "give more groups, or smaller ones",
        stacklevel=4,
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
