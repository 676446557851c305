"""What the numbers must be that a loader is given: said beside each parameter, so that it is known before any file is
read."""

from __future__ import annotations

from typing import Annotated, NamedTuple


class Range(NamedTuple):
    """Holds the bounds of a number; None is no bound.

    It stands in the annotation of a parameter, as in `Annotated[int, Range(at_least=1)]`. Who reads settings refuses by
    it what no loader should be called with; the loader itself checks what hangs on the data and on other parameters.
    """

    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None


Seed = Annotated[int, Range(at_least=0)]
Count = Annotated[int, Range(at_least=1)]
Held = Annotated[int, Range(at_least=0)]  # how many are held out of training, which may be none
Share = Annotated[float, Range(above=0, below=1)]
Deviation = Annotated[float, Range(at_least=0)]
