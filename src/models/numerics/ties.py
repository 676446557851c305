"""Errors that are nearly equal: how large a difference has to be to count, so that none is left to rounding."""

from __future__ import annotations

from collections.abc import Sequence

NEAR_TIE = 1.001  # times an error, up to which another one is no worse
WORTH = 1e-4  # share of an error that another ridge, or another kind of forecast, has to save to be taken


def first_of_least(errors: Sequence[float], rounding: float, *, within: float = NEAR_TIE) -> int:
    """Returns the place of the first error that is at most `within` times the least one. None of them is NaN.

    rounding: the error below which all are alike, see `models.numerics.held_out.least_error`.
    """
    limit = within * max(min(errors), rounding)
    return next(place for place, error in enumerate(errors) if error <= limit)
