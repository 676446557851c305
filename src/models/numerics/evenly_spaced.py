"""Some rows of many, evenly spaced."""

from __future__ import annotations

from torch import Tensor, arange


def evenly_spaced(places: Tensor, most: int) -> Tensor:
    """Returns at most `most` of the rows of `places` (place, …), evenly spaced, the first and the last among them."""
    if len(places) <= most:
        return places
    return places[arange(most, device=places.device) * (len(places) - 1) // (most - 1)]
