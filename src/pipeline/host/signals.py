"""Signals that are to end a process."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

ENDING = (signal.SIGINT, signal.SIGTERM)
OF_SIGNALS = 128  # exit statuses above it are those of signals: 130 of SIGINT, 143 of SIGTERM
AGAIN = 0.05  # seconds until what was dropped is raised again


def by_signal(end: BaseException) -> bool:
    """Returns whether a process was told to end so: by Ctrl-C, or by a signal such as SIGTERM."""
    if isinstance(end, SystemExit):
        return isinstance(end.code, int) and end.code > OF_SIGNALS
    return isinstance(end, KeyboardInterrupt)


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


@contextmanager
def first_left_aside(said: str) -> Iterator[None]:
    """Leaves the first SIGINT or SIGTERM in the block aside, and says the line `said` on standard error; the second one
    does what it did before. It is for an end that is soon reached: what is half written to a store may keep the store
    locked. For the main thread; a signal that is ignored already stays so."""
    handlers = {number: signal.getsignal(number) for number in ENDING}
    handlers = {number: handler for number, handler in handlers.items() if handler not in (signal.SIG_IGN, None)}

    def restore() -> None:
        for number, handler in handlers.items():
            signal.signal(number, handler)

    def leave_aside(*_: Any) -> None:
        restore()
        os.write(2, f"{said}\n".encode())  # print may be at work in the code that the signal came in

    for number in handlers:
        signal.signal(number, leave_aside)
    try:
        yield
    finally:
        restore()
