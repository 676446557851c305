"""Orders of tokens in which neighbours have like keys: that of the text, and the leaves of a tree over the page."""

from __future__ import annotations

import math

import numpy as np


def reading_order(count: int) -> np.ndarray:
    """Returns the tokens as they stand."""
    return np.arange(count)


def page_order(centres: np.ndarray, *, leaf: int) -> np.ndarray:
    """Returns the tokens leaf after leaf of a balanced tree over their centres (token, 2).

    A leaf has `leaf` tokens, the last one those that are left. Each cut halves the leaves across the longer side;
    tokens at one height, or one side, stay in their order. Tokens without a centre, NaN, come last.
    """
    known = np.flatnonzero(~np.isnan(centres).any(1))
    rest = np.setdiff1d(np.arange(len(centres)), known)
    parts, waiting = list[np.ndarray](), [known]
    while waiting:
        own = waiting.pop()
        if len(own) <= leaf:
            parts.append(own)
            continue
        spread = np.ptp(centres[own], axis=0)
        own = own[np.argsort(centres[own, int(spread[1] >= spread[0])], kind="stable")]
        leaves = math.ceil(len(own) / leaf)
        cut = leaf * math.ceil(leaves / 2)
        waiting += [own[cut:], own[:cut]]
    return np.concatenate([*parts, rest])
