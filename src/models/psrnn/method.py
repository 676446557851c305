"""`model=psrnn` as a section of the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, kw_only=True)
class Psrnn:
    """window: k, observations in history and future. Features and regression are stages of their own.

    Raises ValueError for a window below 1.
    """

    trained: ClassVar[bool] = True
    window: int = 2

    def __post_init__(self) -> None:
        if self.window < 1:
            raise ValueError(f"model.window must be at least 1, got {self.window}")
