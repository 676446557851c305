"""How far a long computation has come, for whoever wants to show it; nobody has to listen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

CountListener = Callable[[int], object]
_listener: ContextVar[CountListener | None] = ContextVar("listener", default=None)


@contextmanager
def heard(listener: CountListener) -> Iterator[None]:
    """Lets `listener` be told, within the block and in its thread alone, by every `advanced` how many rows are done."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def advanced(rows: int) -> None:
    """Tells the listener that so many more rows were filtered, forecast by one step, or added up."""
    listener = _listener.get()
    if listener is not None:
        listener(rows)
