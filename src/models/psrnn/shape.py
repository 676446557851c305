"""The numbers that a cell of a PSRNN is built by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class CellShape:
    """Holds the size of every tensor of a cell, and the choices that its recursion depends on.

    The cell takes observations of `dimension` = d features, maps the last `delay` = j of them to cosines and sines of
    `frequencies` many products, keeps `projected` directions of these (None: all of them) and moves a state of
    `state` = s numbers. With `whitened` the j·d numbers are whitened first, with `linear` they are features themselves
    beside the cosines and sines (`models.features.metric`). The readout sees the state and the last `lags`
    observations. With `keep_sign` a state keeps the sign that fits the first one, so that it cannot lock on to its own
    negative; with `learn_frequencies` a gradient moves the frequencies too. Raises ValueError for a delay below 1.
    """

    frequencies: int
    dimension: int
    state: int
    projected: int | None = None
    lags: int = 0
    keep_sign: bool = True
    learn_frequencies: bool = False
    delay: int = 1
    whitened: bool = False
    linear: bool = False

    def __post_init__(self) -> None:
        if self.delay < 1:
            raise ValueError(f"delay must be at least 1, got {self.delay}")

    @property
    def inputs(self) -> int:
        """Returns j·d, the numbers that the features are taken of."""
        return self.delay * self.dimension

    @property
    def unprojected(self) -> int:
        """Returns the number of observation features before a projection."""
        return 2 * self.frequencies + (self.inputs if self.linear else 0)

    @property
    def features(self) -> int:
        """Returns the number w of observation features that the cell sees."""
        return self.unprojected if self.projected is None else self.projected
