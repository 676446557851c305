"""The numbers that a cell of a PSRNN is built by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class CellShape:
    """Holds the size of every tensor of a cell, and the two choices that its recursion depends on.

    The cell takes observations of `dimension` = d features, maps them to cosines and sines of `frequencies` many
    products, keeps `projected` directions of these (None: all of them) and moves a state of `state` = s numbers. Its
    readout sees the state and the last `lags` observations. With `keep_sign` a state keeps the sign that fits the first
    one, so that it cannot lock on to its own negative; with `learn_frequencies` a gradient moves the frequencies too.
    """

    frequencies: int
    dimension: int
    state: int
    projected: int | None = None
    lags: int = 0
    keep_sign: bool = True
    learn_frequencies: bool = False

    @property
    def features(self) -> int:
        """Returns the number w of observation features that the cell sees."""
        return 2 * self.frequencies if self.projected is None else self.projected
