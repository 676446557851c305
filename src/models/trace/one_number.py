"""How sure an estimate of one number is, relative to its size: what estimates of traces and of log det A share."""

from __future__ import annotations

from typing import Protocol

from models.trace.standard_errors import Terms, share_of_estimate
from models.trace.unfinished import Left

FEW_ROUNDINGS = 10  # times what the rounding of each eigenvalue leaves at least: an error of no more is none


class Parts(Protocol):
    """Has an estimate, its standard error, the terms of an exact one, and what more queries do not lower."""

    @property
    def estimate(self) -> float: ...

    @property
    def standard_error(self) -> float: ...

    @property
    def terms(self) -> Terms: ...

    @property
    def left(self) -> Left: ...


class OneNumber:
    """Is what estimates of a trace and of log det A inherit: how sure they are, from their `Parts`."""

    def __float__(self: Parts) -> float:
        """Returns the estimate."""
        return self.estimate

    @property
    def relative_error(self: Parts) -> float:
        """Returns the standard error over |estimate|; infinite for an estimate of 0 with an error."""
        return share_of_estimate(self.standard_error, self.estimate)

    @property
    def lacking(self: Parts) -> str:
        """Returns what lowers most of the error, as `models.trace.unfinished.Left.lacking` has it."""
        return self.left.lacking(self.standard_error)

    def is_within(self: Parts, tolerance: float) -> bool:
        """Returns whether the standard error is at most `tolerance` of |estimate|, or of the terms that an exact one
        sums: these may cancel to 0, of which no error is a share. One of ten roundings is within any tolerance."""
        most = max(tolerance * max(abs(self.estimate), self.terms.size), FEW_ROUNDINGS * self.terms.rounding)
        return self.standard_error <= most
