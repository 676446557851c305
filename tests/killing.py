"""A command line in a process of its own that ends itself by a signal in the middle of a stage."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import sys
from pathlib import Path
from typing import Any

# What a run imports on its way, made once; `pipeline` comes first, which keeps MLflow from sending telemetry.
PRELOADED = [
    "pipeline.systems.psrnn.recipe", "hydra", "torch._dynamo", "pandas", "scipy.stats", "mlflow.pyfunc.scoring_server",
    "mlflow.store.tracking.sqlalchemy_workspace_store", "pipeline.tracking.database",
]  # fmt: skip


def run_until(
    arguments: list[str], environment: dict[str, str], output: Path, place: str | None, number: int, calls: int
) -> None:
    """What the process does. place: "module:attribute" of the function that sends the signal when it is called for the
    time `calls`, before it does its work; None: nothing does."""
    os.environ.pop("MLFLOW_TRACKING_URI", None)  # what this process's parent has set by using MLflow
    os.environ.update(environment)
    stream = output.open("w")
    os.dup2(stream.fileno(), 1)
    os.dup2(stream.fileno(), 2)
    if place is not None:
        end_in(place, number, calls)
    sys.argv = ["pipeline", *arguments]
    importlib.import_module("pipeline.__main__").main()


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


def end_of(
    arguments: tuple[str, ...],
    environment: dict[str, str],
    output: Path,
    place: str | None = None,
    number: signal.Signals = signal.SIGKILL,
    calls: int = 1,
) -> int:
    """The exit code of such a process, −9 for SIGKILL. The imports are made once, in the server it is forked from."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    job = context.Process(target=run_until, args=(list(arguments), environment, output, place, int(number), calls))
    job.start()
    job.join(120)
    assert job.exitcode is not None, "it did not end in 120 s"
    return job.exitcode


def stop_in(place: str, store: Path, *arguments: str, number: signal.Signals = signal.SIGKILL, calls: int = 1) -> None:
    """A run with this store, and no data, in a process of its own that the signal ends there."""
    environment = {"PIPELINE_MLRUNS": str(store), "PIPELINE_DATA_ROOT": str(store.parent), "OMP_NUM_THREADS": "1"}
    log = store.parent / "log"
    ended = end_of(arguments, environment, log, place, number, calls)
    assert ended == (-number if number == signal.SIGKILL else 128 + number), log.read_text()
