"""What the numbers must be that a model, kernel or sampler is made with: said beside each field, so that it is known
before anything is made."""

from __future__ import annotations

from typing import Annotated, NamedTuple


class Range(NamedTuple):
    """Holds the bounds of a number; None is no bound. It stands in the annotation of a field, as in
    `Annotated[int, Range(at_least=1)]`."""

    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None


Count = Annotated[int, Range(at_least=1)]
Steps = Annotated[int, Range(at_least=0)]
Positive = Annotated[float, Range(above=0)]
NotNegative = Annotated[float, Range(at_least=0)]
Share = Annotated[float, Range(above=0, at_most=1)]
