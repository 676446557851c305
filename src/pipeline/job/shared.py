"""What several runs have in common: results of stages, found by their fingerprint, and jobs that come to the same."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tqdm import tqdm

from pipeline.host.atomic import written_whole
from pipeline.host.locks import file_lock
from pipeline.host.paths import store_folder

SECONDS = "seconds.json"
MARK_LETTERS = 16  # of a fingerprint, in the name of a file


def shared_path(name: str, mark: str) -> Path:
    """Returns a path beside the store, whose folder is there."""
    path = store_folder() / "shared" / f"{name}-{mark[:MARK_LETTERS]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def versioned(mark: str, version: int) -> str:
    """Returns the fingerprint of a result: of what it follows from, `mark`, and of the code that makes it."""
    return hashlib.sha256(repr((version, mark)).encode()).hexdigest()


@contextmanager
def shared_stage(name: str, mark: str, *, version: int) -> Iterator[Path]:
    """Gives the folder of a stage's result, which no other process has meanwhile; other processes that want it wait.

    name: of the stage; mark: of all settings and data that its result follows from; version: of the code that makes it,
    raised where the same settings give another result, so that those of before are not taken. The folder is kept, so
    what is written there must be written whole.
    """
    folder = shared_path(name, versioned(mark, version))
    folder.mkdir(exist_ok=True)
    with file_lock(folder / "lock"):
        yield folder


@contextmanager
def timed(folder: Path, *, begun: bool) -> Iterator[None]:
    """Keeps the seconds of the block, which makes a result, in the folder of that result. begun: whether a process that
    was stopped has begun it; then they are not known, NaN."""
    start = time.monotonic()
    yield
    seconds = math.nan if begun else time.monotonic() - start
    with written_whole(folder / SECONDS) as temporary:
        temporary.write_text(json.dumps(seconds), encoding="utf-8")


def seconds_of(folder: Path) -> float:
    """Returns how many seconds the result of a folder took to make; NaN where that is not known."""
    return float(json.loads((folder / SECONDS).read_text(encoding="utf-8")))


def forget_states(folder: Path, *, result: str | None = None) -> None:
    """Deletes the states of trainings, NPZ files, from the folder of a stage whose result is there. result: the name of
    its file, where that is an NPZ file, too. A process that was stopped meanwhile leaves the rest to the next one."""
    for path in folder.glob("*.npz"):
        if path.name != result:
            path.unlink()


def made_once(name: str, mark: str, file: str, make: Callable[[], str], *, version: int, kept: bool) -> str:
    """Returns a text that the first run that wants it makes; later runs read it from the stage's folder, and say so.

    name, mark, version: as of `shared_stage`. file: the name of the text there. kept: False for a run that is not kept,
    which makes its own.
    """
    if not kept:
        return make()
    with shared_stage(name, mark, version=version) as folder:
        path = folder / file
        if path.exists():
            tqdm.write(f"{name}: found, made before ({folder})")
            return path.read_text(encoding="utf-8")
        text = make()
        with written_whole(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
        return text


@contextmanager
def one_at_a_time(mark: str) -> Iterator[None]:
    """Has other processes that come here with the same mark wait until the block ends."""
    path = shared_path("job", mark)
    with file_lock(path):
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
