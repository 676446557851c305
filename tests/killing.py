"""A command line in a process of its own that ends itself by a signal in the middle of a stage."""

from __future__ import annotations

import importlib
import os
import signal
from pathlib import Path
from typing import Any

from warm_processes import ended, program


def run_until(place: str, number: int, calls: int, *arguments: str) -> None:
    """`python -m pipeline …`, ended by a signal. place: "module:attribute" of the function that sends it when it is
    called for the time `calls`, before it does its work."""
    end_in(place, number, calls)
    program(*arguments)


def end_in(place: str, number: int, calls: int) -> None:
    module, _, attribute = place.partition(":")
    owner: Any = importlib.import_module(module)
    *path, name = attribute.split(".")
    for part in path:
        owner = getattr(owner, part)
    original, left = getattr(owner, name), [calls]

    def ending(*positional: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), number)
        return original(*positional, **named)

    setattr(owner, name, ending)


def stop_in(place: str, store: Path, *arguments: str, number: signal.Signals = signal.SIGKILL, calls: int = 1) -> None:
    """A run with this store, and no data, in a process of its own that the signal ends there."""
    environment = {"PIPELINE_MLRUNS": str(store), "PIPELINE_DATA_ROOT": str(store.parent), "OMP_NUM_THREADS": "1"}
    found = ended(run_until, place, int(number), calls, *arguments, folder=Path.cwd(), **environment)
    assert found.status == (-number if number == signal.SIGKILL else 128 + number), found.out + found.err
