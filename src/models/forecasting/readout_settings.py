"""What a readout is asked for: its lags, and the ridges that validation chooses from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple


class ReadoutSettings(NamedTuple):
    """Says what a readout is asked for.

    lags: recent observations beside the state; ridges: to choose from on validation; scale: see `per_sample_ridge`.

    state_ridges: those of the state's weights, each tried with each of `ridges`, which are then those of the lags
    alone: numbers of a state and of an observation may differ in size by far. None: one ridge for both. Without lags
    they take the place of `ridges`.

    choices: numbers of lags of which validation takes the best once the readout without lags is solved
    (`models.forecasting.lags.settle_lags`); `lags` is 0 then. None: `lags` it is.
    """

    lags: int
    ridges: Sequence[float]
    scale: str
    state_ridges: Sequence[float] | None = None
    choices: Sequence[int] | None = None

    def candidates(self) -> list[dict[str, float]]:
        """Returns the ridges that validation chooses from, by the names of their settings."""
        if self.state_ridges is None or not self.lags:
            return [{"readout.ridge": ridge} for ridge in self.state_ridges or self.ridges]
        pairs = product(self.ridges, self.state_ridges)
        return [{"readout.ridge": ridge, "readout.state_ridge": of_state} for ridge, of_state in pairs]

    def with_lags(self, lags: int) -> ReadoutSettings:
        """Returns the settings of a readout with so many lags, which are no longer to be chosen."""
        return self._replace(lags=lags, choices=None)

    def only(self, chosen: Mapping[str, Any]) -> ReadoutSettings:
        """Returns the settings that leave no choice but `chosen`, one of the candidates."""
        of_state = chosen.get("readout.state_ridge")
        return self._replace(ridges=[chosen["readout.ridge"]], state_ridges=None if of_state is None else [of_state])
