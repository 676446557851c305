"""Bars for stages that take long, and lines in their place where standard error is a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeAlias

from tqdm import tqdm

from models.runtime.progress import heard

PATIENCE = 5.0  # seconds that a stage may take without a bar
SHARES = 10  # of the whole, after each of which a log has a line
SECONDS = 30.0  # after which a log has one in any case


class Lines:
    """Is a bar that writes whole lines to standard error: after each tenth of the whole, or after half a minute, and at
    the end. A line has the time that was taken and, before the end, where the whole is known, the time that is left at
    the same pace. total: None where it is not known. clock: gives seconds."""

    def __init__(
        self, total: int | None, done: int, title: str, unit: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.total, self.n, self.title, self.unit, self.clock = total, done, title, unit, clock
        self.told, self.shown, self.begun = done, "", done
        self.start = self.last = clock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.n != self.told:
            self._write(goes_on=False)

    def update(self, n: int = 1) -> None:
        """Says that so much more is done."""
        self.n += n
        if self.n != self.told and (self._tenths(self.n) > self._tenths(self.told) or self._waited()):
            self._write(goes_on=True)

    def set_postfix(self, ordered_dict: Mapping[str, str]) -> None:
        """Shows these values from now on."""
        self.set_postfix_str(", ".join(f"{name}={value}" for name, value in ordered_dict.items()))

    def set_postfix_str(self, s: str) -> None:
        """Shows this text from now on."""
        self.shown = s

    def _tenths(self, done: int) -> int:
        return SHARES * done // self.total if self.total else 0

    def _waited(self) -> bool:
        return self.clock() - self.last >= SECONDS

    def _write(self, *, goes_on: bool) -> None:
        self.told, self.last = self.n, self.clock()
        of_all = f"/{self.total} {self.unit}s, {self.n / self.total:.0%}" if self.total else f" {self.unit}s"
        shown = f", {self.shown}" if self.shown else ""
        tqdm.write(f"{self.title}: {self.n}{of_all}, {self._times(goes_on)}{shown}", file=sys.stderr)

    def _times(self, goes_on: bool) -> str:
        taken = self.last - self.start
        if not goes_on or not self.total or self.n >= self.total:
            return tqdm.format_interval(taken)
        left = taken * (self.total - self.n) / (self.n - self.begun)
        return f"{tqdm.format_interval(taken)}, {tqdm.format_interval(left)} left"


Bar: TypeAlias = "tqdm[Any] | Lines"


def training_bar(total: int | None, title: str, *, done: int = 0, unit: str) -> Bar:
    """Returns a bar of long work, which has `Lines` where standard error is no terminal; without a title it shows
    nothing. total: None where it is not known."""
    if not title or sys.stderr.isatty():
        return tqdm(total=total, initial=done, desc=title, unit=unit, disable=not title)
    return Lines(total, done, title, unit)


@contextmanager
def progress_bar(what: str, rows: int | None = None) -> Iterator[None]:
    """Shows a bar on standard error of the rows that models are done with in the block (`models.runtime.progress`).

    It appears after `PATIENCE` seconds, is cleared away at the end, and stays away where standard error is no terminal.
    rows: how many there will be; None where that is not known, and they are counted.
    """
    settings = {"unit": "row", "unit_scale": True, "leave": False, "disable": None}
    with tqdm(total=rows, desc=what, delay=PATIENCE, **settings) as bar, heard(bar.update):
        yield
