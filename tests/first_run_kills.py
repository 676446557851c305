"""`python tests/first_run_kills.py --kills 30`: kills first runs at random times, and compares what comes after.

Each first run has an empty store, an empty home and no data. It is killed at a time drawn evenly over the length of an
undisturbed one; then the same command is started again, every other time with `resume=auto`, and must end with the
numbers of the undisturbed run. Exit status 1 where one does not.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from warm_processes import begin, program, server

COMMAND = ("+experiment=mocap", "size=tiny", "data.source=stand_in", "threads=1", "evaluate.horizons=[1,5]")
OFFSETS = {"SIGKILL": -signal.SIGKILL, "SIGTERM": 128 + signal.SIGTERM, "SIGINT": 128 + signal.SIGINT}


class Ended(NamedTuple):
    """status: of the process, negative for the signal that ended it; output: both streams."""

    status: int
    output: str
    seconds: float


def places_of(folder: Path) -> dict[str, str]:
    """The environment in which `folder` is a run's whole world."""
    places = {
        "PIPELINE_MLRUNS": "mlruns",
        "PIPELINE_DATA_ROOT": "data",
        "HOME": "home",
        "XDG_CACHE_HOME": "home/.cache",
    }
    return {name: str(folder / place) for name, place in places.items()}


def start(folder: Path, *extra: str, end_after: float | None = None, number: int = signal.SIGKILL) -> Ended:
    """The command in `folder`; sent the signal after so many seconds, unless it has ended.

    The process is forked from one that has made the imports: it is killed in what it does, not while it reads modules.
    """
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, **places_of(folder)}
    arguments = (program, (*COMMAND, *extra), environment, folder, [folder / "log"])
    process = server().Process(target=begin, args=arguments)
    process.start()
    began = time.monotonic()
    process.join(end_after)
    if process.exitcode is None:
        os.kill(int(process.pid or 0), number)
        process.join()
    return Ended(int(process.exitcode or 0), (folder / "log").read_text(), time.monotonic() - began)


def numbers(folder: Path) -> list[tuple[str, int, float]]:
    """Every metric of the newest run that finished, but for the times."""
    with closing(sqlite3.connect(folder / "mlruns" / "mlflow.db")) as store:
        query = "SELECT run_uuid FROM runs WHERE status = 'FINISHED' ORDER BY end_time DESC LIMIT 1"
        run = store.execute(query).fetchone()
        rows = store.execute("SELECT DISTINCT key, step, value FROM metrics WHERE run_uuid = ?", run).fetchall()
    return sorted(row for row in rows if not row[0].endswith("/seconds"))


def found(folder: Path) -> str:
    """What a killed run left."""
    path = folder / "mlruns" / "mlflow.db"
    if not path.exists():
        return "no store"
    with closing(sqlite3.connect(path)) as store:
        states = [state for (state,) in store.execute("SELECT status FROM runs")]
    return f"store, run {states[0]}" if states else "store without a run"


def trial(folder: Path, seconds: float, number: signal.Signals, again: tuple[str, ...], expected: object) -> str | None:
    """One first run killed and one after it; a line if they end as they should, None where the first was too fast."""
    first = start(folder, end_after=seconds, number=number)
    if first.status == 0:
        return None
    assert first.status in (OFFSETS[number.name], -number), first.output
    left = found(folder)
    second = start(folder, *again)
    assert second.status == 0, second.output
    assert numbers(folder) == expected, f"other numbers: {numbers(folder)}"
    return f"{number.name} after {seconds:5.1f} s: {left:22} {' '.join(again) or 'same command':14} same numbers"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--signals", nargs="+", choices=OFFSETS, default=["SIGKILL"])
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    draw, done, wrong = random.Random(given.seed), 0, 0  # noqa: S311
    with tempfile.TemporaryDirectory() as name:
        start(Path(name) / "imports")
        whole = start(Path(name) / "undisturbed")
        assert whole.status == 0, whole.output
        expected = numbers(Path(name) / "undisturbed")
        print(f"undisturbed: {whole.seconds:.1f} s, {len(expected)} numbers", flush=True)
        for attempt in range(2 * given.kills):
            number = signal.Signals[given.signals[attempt % len(given.signals)]]
            seconds = draw.uniform(0, whole.seconds)
            try:
                line = trial(
                    Path(name) / str(attempt), seconds, number, ("resume=auto",) if attempt % 2 else (), expected
                )
            except AssertionError as error:
                line, wrong = f"{number.name} after {seconds:5.1f} s: WRONG: {error}", wrong + 1
            done += line is not None
            print(line or f"ended before {seconds:.1f} s, drawn anew", flush=True)
            if done == given.kills:
                break
    print(f"{done} kills, {wrong} of them followed by a run that failed or had other numbers")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
