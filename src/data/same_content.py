"""Samples of one's own that hold the same: a draw keeps them in one part, and given parts that share them are told."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

Contents = Sequence[Hashable]  # of each sample what it holds, None for nothing


def groups_of_content(contents: Contents, names: Sequence[str], *, where: object, called: str) -> list[str]:
    """Returns for each sample the name of the first one that holds the same, its own where no other does, or where it
    holds nothing. Warns, beginning with `where`, of how many hold what another does. called: as "documents"."""
    first = dict[Hashable, str]()
    groups = [name if own is None else first.setdefault(own, name) for own, name in zip(contents, names, strict=True)]
    again = sum(group != name for group, name in zip(groups, names, strict=True))
    if again:
        warnings.warn(
            f"{where}: {again} of {len(names)} {called} hold the same as another; each stays in one part with it",
            stacklevel=3,
        )
    return groups


def warn_of_shared(
    contents: Contents, names: Sequence[str], parts: Mapping[str, np.ndarray], *, where: object, called: str
) -> None:
    """Warns, beginning with `where`, of how many samples of a part hold the same as one of a part before it: what is
    tested was learned then. parts: the places of the samples of each, the training part first."""
    seen, found = set[Hashable](), list[int]()
    for rows in parts.values():
        found += [int(row) for row in rows if contents[int(row)] in seen]
        seen |= {contents[int(row)] for row in rows} - {None}
    if found:
        held = len(contents) - len(next(iter(parts.values())))
        warnings.warn(
            f"{where}: {len(found)} of {held} held-out {called} hold the same as one of another part, the first is "
            f"{names[found[0]]}; errors on them say little of new ones, so leave them out",
            stacklevel=3,
        )
