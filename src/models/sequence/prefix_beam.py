"""Texts from frames by a beam of prefixes, of which each has the sum over the paths that say it (Graves et al. 2006;
Hannun et al. 2014)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from models.sequence.ctc import BLANK, DecodedSymbols

Prefix = tuple[int, ...]
Rates = Callable[[Prefix], Sequence[float]]
Grown = tuple[
    float, Prefix, int, float, float
]  # cost, prefix, its new symbol, ln p of the paths, what its symbols are rated


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


def prefix_beam(log_p: np.ndarray, *, size: int, rates: Rates | None = None, reach: float = math.inf) -> DecodedSymbols:
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
        beam = best_of(*moved(beam, row, grown_by(row, size, reach), rates), size)

    def worth(prefix: Prefix) -> float:
        return beam[prefix].log_p + beam[prefix].rated + (rates(prefix)[BLANK] if rates else 0.0)

    best = min(beam, key=lambda prefix: (-worth(prefix), *ranked(prefix)))
    return DecodedSymbols(best, beam[best].log_p)


def ranked(prefix: Prefix) -> tuple[int, Prefix]:
    """Returns what orders equals."""
    return len(prefix), prefix


def grown_by(row: np.ndarray, most: int, reach: float) -> list[int]:
    """Returns the symbols by which prefixes grow in a frame, the most probable first."""
    order = np.argsort(-row, kind="stable")[: most + 1].tolist()
    return [symbol for symbol in order if symbol != BLANK and row[symbol] >= row[order[0]] - reach][:most]


def moved(
    beam: dict[Prefix, Paths], row: np.ndarray, symbols: Sequence[int], rates: Rates | None
) -> tuple[dict[Prefix, Paths], list[Grown]]:
    """Returns the prefixes of a beam after one more frame, and those that grow out of it by one of these symbols: each
    in one way, as what grows into a prefix of the beam is joined to it."""
    said = row.tolist()
    stay, grown = dict[Prefix, Paths](), list[Grown]()
    for prefix, own in beam.items():
        last = prefix[-1] if prefix else BLANK
        stay[prefix] = Paths(own.log_p + said[BLANK], own.symbol + said[last], own.rated)
    children = children_of(beam)
    for prefix, own in beam.items():
        last, log_p, of_beam = prefix[-1] if prefix else BLANK, own.log_p, children.get(prefix, ())
        rated = rates(prefix) if rates else [0.0] * len(said)
        for symbol in symbols:
            value = (own.blank if symbol == last else log_p) + said[symbol]
            if symbol in of_beam:
                whole = (*prefix, symbol)
                stay[whole] = stay[whole]._replace(symbol=log_sum(stay[whole].symbol, value))
            else:
                worth = own.rated + rated[symbol]
                grown.append((-value - worth, prefix, symbol, value, worth))
    return stay, grown


def children_of(beam: dict[Prefix, Paths]) -> dict[Prefix, set[int]]:
    """Returns the last symbols of the prefixes of a beam, by what stands before them."""
    children = dict[Prefix, set[int]]()
    for prefix in beam:
        if prefix:
            children.setdefault(prefix[:-1], set()).add(prefix[-1])
    return children


def best_of(stay: dict[Prefix, Paths], grown: list[Grown], size: int) -> dict[Prefix, Paths]:
    """Returns the prefixes of largest worth, the best first. What cannot be among them is not made."""
    costs = {prefix: -own.log_p - own.rated for prefix, own in stay.items()}
    most = sorted([*costs.values(), *(own[0] for own in grown)])[:size][-1]
    found = {prefix: own for prefix, own in stay.items() if costs[prefix] <= most}
    for cost, prefix, symbol, value, rated in grown:
        if cost <= most:
            whole = (*prefix, symbol)
            found[whole], costs[whole] = Paths(-math.inf, value, rated), cost
    return dict(sorted(found.items(), key=lambda item: (costs[item[0]], *ranked(item[0])))[:size])
