"""Errors that are nearly equal: how large a difference has to be to count, so that none is left to rounding."""

from __future__ import annotations

NEAR_TIE = 1.001  # times an error, up to which another one is no worse
WORTH = 1e-4  # share of an error that another ridge, or another kind of forecast, has to save to be taken
