"""Data sets as records of their settings, in place of functions with many parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class Source(ABC):
    """Is a data set by its settings: `load` returns the data.

    A section `data` names such a class, a frozen dataclass, as it names a function that returns the data: the keys of
    the section are its fields, and what `load` says it returns tells which recipes take it.
    """

    @abstractmethod
    def load(self) -> Any:
        """Returns the data. Raises DataError for settings out of range, and for data that cannot be had."""
