"""What several runs have in common: results of stages, found by their fingerprint, and jobs that come to the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.host.paths import store_folder
from pipeline.tracking.store import file_lock

MARK_LETTERS = 16  # of a fingerprint, in the name of a file


def shared_path(name: str, mark: str) -> Path:
    """Returns a path beside the store, whose folder is there."""
    path = store_folder() / "shared" / f"{name}-{mark[:MARK_LETTERS]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def shared_stage(name: str, mark: str) -> Iterator[Path]:
    """Gives the folder of a stage's result, which no other process has meanwhile; those that want it too wait.

    name: of the stage; mark: of all that its result follows from. The folder is kept, so that what is written there
    must be written whole.
    """
    folder = shared_path(name, mark)
    folder.mkdir(exist_ok=True)
    with file_lock(folder / "lock"):
        yield folder


@contextmanager
def one_at_a_time(mark: str) -> Iterator[None]:
    """Has other processes that come here with the same mark wait until the block ends."""
    path = shared_path("job", mark)
    with file_lock(path):
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
