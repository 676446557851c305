"""Signals that are to end a process."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

AGAIN = 0.05  # seconds until what was dropped is raised again


@contextmanager
def raised_again() -> Iterator[None]:
    """Raises a SystemExit or KeyboardInterrupt again that Python dropped, since the signal came inside a callback of a
    weak reference or a `__del__`, of which all errors are ignored. Without it the process would go on as if no signal
    had come. For the main thread, where handlers of signals run."""
    before = sys.unraisablehook

    def dropped(ignored: Any) -> None:
        error = ignored.exc_value
        if isinstance(error, SystemExit | KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGALRM, lambda *_: fail(error))
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
        else:
            before(ignored)

    sys.unraisablehook = dropped
    try:
        yield
    finally:
        sys.unraisablehook = before


def fail(error: BaseException) -> None:
    raise error
