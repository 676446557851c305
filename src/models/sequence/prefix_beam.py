"""Texts from frames by a beam of prefixes, of which each has the sum over the paths that say it (Graves et al. 2006;
Hannun et al. 2014)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from models.sequence.ctc import BLANK, Said

Prefix = tuple[int, ...]
Rates = Callable[[Prefix], Sequence[float]]


class Paths(NamedTuple):
    """Holds ln p of the paths of a prefix that end in blank, and of those that end in its last symbol, and what its
    symbols are rated."""

    blank: float
    symbol: float
    rated: float

    @property
    def log_p(self) -> float:
        return log_sum(self.blank, self.symbol)


def log_sum(one: float, other: float) -> float:
    """Returns ln(exp(one) + exp(other))."""
    less, more = (one, other) if one < other else (other, one)
    return more if less == -math.inf else more + math.log1p(math.exp(less - more))


def prefix_beam(log_p: np.ndarray, *, size: int, rates: Rates | None = None, reach: float = math.inf) -> Said:
    """Returns the text y of largest ln p(y) + Σ rates that a beam of `size` prefixes finds, and ln p(y): the sum over
    those of its paths that the beam follows, all where it leaves none out.

    log_p: float64 (frame, symbol), blank is symbol 0. rates: gives what each symbol adds after a prefix, number 0 what
    the end of the text adds; None adds nothing. In each frame a prefix grows by at most `size` symbols, the most
    probable ones, and by none whose ln p lies farther than `reach` beneath the largest. With as many prefixes as there
    are, and no limit of reach, it is the best text of all. Of equals the shorter one stays, then the one of lower
    symbols. Raises ValueError for a size below 1.
    """
    if size < 1:
        raise ValueError(f"a beam needs a size of at least 1, got {size}")
    beam: dict[Prefix, Paths] = {(): Paths(0.0, -math.inf, 0.0)}
    for row in log_p:
        found = moved(beam, row, grown_by(row, size, reach), rates)
        beam = dict(sorted(found.items(), key=lambda item: (-item[1].log_p - item[1].rated, *ranked(item[0])))[:size])

    def worth(prefix: Prefix) -> float:
        return beam[prefix].log_p + beam[prefix].rated + (rates(prefix)[BLANK] if rates else 0.0)

    best = min(beam, key=lambda prefix: (-worth(prefix), *ranked(prefix)))
    return Said(best, beam[best].log_p)


def ranked(prefix: Prefix) -> tuple[int, Prefix]:
    """Returns what orders equals."""
    return len(prefix), prefix


def grown_by(row: np.ndarray, most: int, reach: float) -> list[int]:
    """Returns the symbols by which prefixes grow in a frame, the most probable first."""
    order = np.argsort(-row, kind="stable")[: most + 1].tolist()
    return [symbol for symbol in order if symbol != BLANK and row[symbol] >= row[order[0]] - reach][:most]


def moved(
    beam: dict[Prefix, Paths], row: np.ndarray, symbols: Sequence[int], rates: Rates | None
) -> dict[Prefix, Paths]:
    """Returns the prefixes of a beam after one more frame, and those that grow by one of these symbols."""
    said = row.tolist()
    found = dict[Prefix, Paths]()
    for prefix, own in beam.items():
        last, log_p = prefix[-1] if prefix else BLANK, own.log_p
        join(found, prefix, Paths(log_p + said[BLANK], own.symbol + said[last], own.rated))
        rated = rates(prefix) if rates else [0.0] * len(said)
        for symbol in symbols:
            before = own.blank if symbol == last else log_p
            join(found, (*prefix, symbol), Paths(-math.inf, before + said[symbol], own.rated + rated[symbol]))
    return found


def join(found: dict[Prefix, Paths], prefix: Prefix, more: Paths) -> None:
    """Adds paths to those of a prefix."""
    own = found.get(prefix)
    found[prefix] = more if own is None else Paths(
        log_sum(own.blank, more.blank), log_sum(own.symbol, more.symbol), own.rated
    )  # fmt: skip
