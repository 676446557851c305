"""`model=psrnn` and `model=psrnn_cp` as sections of the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from models.ranges import Count


@dataclass(frozen=True, kw_only=True)
class Psrnn:
    """Is the section `model=psrnn` of the configuration.

    window: k, observations in history and future; history, future: other numbers than k. delay: j, the observations
    by which the state takes a step, the newest and those before it. Features and regression are stages of their own.
    name: of the model, in tables and figures.
    Raises ValueError for a number below 1.
    """

    trained: ClassVar[bool] = True
    name: ClassVar[str] = "psrnn"
    window: Count = 2
    history: Count | None = None
    future: Count | None = None
    delay: Count = 1

    def __post_init__(self) -> None:
        for name in ("window", "history", "future", "delay"):
            rows = getattr(self, name)
            if rows is not None and rows < 1:
                raise ValueError(f"{name} must be at least 1, got {rows}")

    @property
    def terms(self) -> int | None:
        """Returns how many outer products the update tensor is a sum of; None where it is held whole."""
        return None


@dataclass(frozen=True, kw_only=True)
class FactorisedPsrnn(Psrnn):
    """Is the section `model=psrnn_cp` of the configuration.

    rank: outer products that the update tensor is a sum of. Raises ValueError for a rank below 1.
    """

    name: ClassVar[str] = "psrnn_cp"
    rank: Count = 80

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rank < 1:
            raise ValueError(f"rank must be at least 1, got {self.rank}")

    @property
    def terms(self) -> int | None:
        return self.rank
