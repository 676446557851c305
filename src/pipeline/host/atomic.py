"""Files that appear under their final name only when they are whole; folders: `models.runtime.whole_folder`."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def remove_leftovers(path: Path) -> None:
    """Deletes what killed writers of `path` left under temporary names; it is to be called where nobody else writes
    it."""
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*.partial*"):
        leftover.unlink(missing_ok=True)


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Gives a temporary name beside `path` to write to; it takes the final name when the block ends without an
    error."""
    from models.runtime.whole_folder import beside  # when it is known that nothing hides `models`

    temporary = beside(path)
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
