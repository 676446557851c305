"""Locks on files that whoever holds them may delete."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from pipeline.host import locks
from pipeline.host.locks import file_lock


def test_a_file_deleted_while_its_lock_was_waited_for_is_locked_anew(tmp_path: Path, monkeypatch) -> None:
    """Without that, whoever comes next makes a file of the same name, and holds its lock at the same time."""
    path, flock, calls = tmp_path / "lock", locks.fcntl.flock, []

    def deleted_before(file, operation) -> None:
        calls.append(operation)
        if len(calls) == 1:  # by the process that held the lock until now
            path.unlink()
        flock(file, operation)

    monkeypatch.setattr(locks.fcntl, "flock", deleted_before)
    with file_lock(path), pytest.raises(BlockingIOError), file_lock(path, wait=False):
        pass
    with file_lock(path, wait=False):
        assert path.exists()


def test_a_file_that_another_machine_has_deleted_is_locked_anew(tmp_path: Path, monkeypatch) -> None:
    """A network file system says ESTALE of it."""
    flock, calls = locks.fcntl.flock, []

    def stale_at_first(file, operation) -> None:
        calls.append(operation)
        if len(calls) == 1:
            raise OSError(errno.ESTALE, "Stale file handle")
        flock(file, operation)

    monkeypatch.setattr(locks.fcntl, "flock", stale_at_first)
    with file_lock(tmp_path / "lock"):
        assert len(calls) == 2
