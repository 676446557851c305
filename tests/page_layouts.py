"""Documents as places on a page, for tests of who attends to whom."""

from __future__ import annotations

import numpy as np

from models.sequence.patterns import Layout


def layout(count: int, *, seed: int = 0, first_everywhere: bool = True, grid: bool = False) -> Layout:
    """Tokens strewn over a page, or on a grid full of ties; the first has no place and attends to all, if asked for."""
    generator = np.random.default_rng(seed)
    centres = generator.integers(0, 6, (count, 2)).astype(float) if grid else generator.uniform(0, 100, (count, 2))
    everywhere = np.zeros(count, bool)
    if first_everywhere:
        centres[0], everywhere[0] = np.nan, True
    return Layout(centres, everywhere)
