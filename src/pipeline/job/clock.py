"""Seconds per stage."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tqdm import tqdm

if TYPE_CHECKING:
    from pipeline.tracking.run import Run


@dataclass
class Clock:
    """Holds the seconds of each stage. They are logged as `<stage>/seconds` when the stage ends; those of stages before
    the run began are logged at its begin.

    begun: when the stages that run now began, by the clock of the process, the innermost last.
    """

    run: Run | None = None
    title: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    begun: list[float] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str, *, said: bool = True) -> Iterator[None]:
        """Times the block as a stage, which is named on the screen where it is to be said."""
        self.begun.append(time.monotonic())
        if said:
            tqdm.write(f"{name} …")
        try:
            yield
        finally:
            start = self.begun.pop()
        self.seconds[name] = time.monotonic() - start
        self.log()

    def spent_before(self, seconds: float) -> None:
        """Counts, to the stages that run now, seconds that another process spent on what they would have made; negative
        ones are left out of them, as those of waiting for it."""
        self.begun = [start - seconds for start in self.begun]

    @contextmanager
    def left_out(self) -> Iterator[None]:
        """Leaves the seconds of the block out of the stages that run now."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self.spent_before(begun - time.monotonic())

    def add(self, seconds: Mapping[str, float]) -> None:
        """Adds the seconds of stages that had a clock of their own to those of the stages here."""
        for name, value in seconds.items():
            self.seconds[name] = self.seconds.get(name, 0.0) + value

    def begin(self, run: Run, title: str) -> None:
        self.run, self.title = run, title
        self.log()

    def log(self) -> None:
        if self.run is None:
            return
        for name, value in self.seconds.items():
            self.run.metric(f"{name}/seconds", value)
