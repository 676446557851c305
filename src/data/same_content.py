"""Samples of one's own that hold the same: a draw keeps them in one part, and given parts that share them are told."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from data.drawn_parts import Rows, Shares, drawn

MOST_TIMES = 2  # a part may hold as many times what was asked for, or as many times less
OTHERWISE = "part or group them otherwise"


@dataclass(frozen=True)
class OwnSamples:
    """Holds what each sample holds, None for nothing, and its name. where: begins warnings. called: as "document".
    column: of the table, by which a person parts or groups them."""

    contents: Sequence[Hashable]
    names: Sequence[str]
    where: object
    called: str
    column: str

    @cached_property
    def groups(self) -> list[str]:
        """The name of the first sample that holds the same as each, its own where no other does, or where it holds
        nothing."""
        first = dict[Hashable, str]()
        return [
            name if own is None else first.setdefault(own, name)
            for own, name in zip(self.contents, self.names, strict=True)
        ]

    def drawn(self, shares: Shares, *, by_name: bool = False) -> Rows:
        """Returns the places of the samples of each part, those that hold the same in one; groups of them that are
        larger than what is held out are trained on. Where no part would come near its share so, each sample is drawn
        by itself.

        by_name: samples are drawn in the order of their names, not of the table. Warns of how many hold what another
        does. Raises DataError as `Shares.counts`.
        """
        wanted = shares.counts(len(self.names), f"{self.called}s")
        codes = pd.factorize(np.array(self.groups, dtype=object), sort=by_name)[0]
        rows = drawn(codes, np.bincount(codes), wanted, shares.seed)
        if all(near(len(rows[part]), count) for part, count in wanted.items()):
            self.warn_of_repeats(rows)
            return rows
        codes = pd.factorize(np.array(self.names, dtype=object), sort=by_name)[0]
        rows = drawn(codes, np.ones_like(codes), wanted, shares.seed)
        kinds = len(set(self.groups))
        reason = f"{len(codes)} {self.called}s hold only {kinds} different content{'s' * (kinds != 1)}, which cannot be"
        advice = f"give a column `{self.column}`"
        self.warn_of_shared(rows, reason=f"{reason} drawn whole into parts of these shares: ", advice=advice)
        return rows

    def warn_of_repeats(self, rows: Rows) -> None:
        """Warns of how many samples hold the same as another, and of how large the parts are, if there are any."""
        again = sum(group != name for group, name in zip(self.groups, self.names, strict=True))
        if again:
            train, validation, test = (len(own) for own in rows.values())
            warnings.warn(
                f"{self.where}: {again} of {len(self.names)} {self.called}s hold the same as another; each stays in "
                f"one part with it, {train} in the training part, {validation} in validation and {test} in test",
                stacklevel=4,
            )

    def warn_of_shared(self, rows: Rows, *, reason: str = "", advice: str = OTHERWISE) -> None:
        """Warns of how many samples of a part hold the same as one of a part before it: what is tested was learned
        then. rows: the places of the samples of each part, the training part first. reason: stands before it. advice:
        what to do where a part would have none left."""
        seen, found, none_left = set[Hashable](), list[int](), bool(reason)
        for own in rows.values():
            shared = [int(row) for row in own if self.contents[int(row)] in seen]
            none_left |= 0 < len(shared) == len(own)
            found += shared
            seen |= {self.contents[int(row)] for row in own} - {None}
        if found:
            held = len(self.contents) - len(next(iter(rows.values())))
            warnings.warn(
                f"{self.where}: {reason}{len(found)} of {held} held-out {self.called}s hold the same as one of another "
                f"part, the first is {self.called} {self.names[found[0]]}; errors on them say little of new ones, so "
                f"{advice if none_left else 'leave them out'}",
                stacklevel=4,
            )


def near(held: int, wanted: int) -> bool:
    """Returns whether a part holds about as many as were asked for."""
    return wanted <= MOST_TIMES * held and held <= MOST_TIMES * wanted
