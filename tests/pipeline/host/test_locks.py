"""Locks on files that whoever holds them may delete."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.host import locks
from pipeline.host.locks import file_lock, goes_on, holder_of, opened_locked, sign


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


def test_a_lock_names_the_process_that_signed_it_last(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert holder_of(path) == "another process"
    path.write_text("1 elsewhere-with-a-longer-name-than-this-host-has\n", encoding="utf-8")
    assert holder_of(path) == "process 1 on elsewhere-with-a-longer-name-than-this-host-has"
    with opened_locked(path) as lock:
        sign(lock)
        assert holder_of(path) == f"process {os.getpid()} on {socket.gethostname()}"
    path.write_text("", encoding="utf-8")
    assert holder_of(path) == "another process"


def test_a_process_of_this_host_that_has_ended_is_not_named(tmp_path: Path) -> None:
    """The one that follows it has the lock a moment before it signs."""
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    for number, named in ((ended.pid, "another process"), (1, f"process 1 on {socket.gethostname()}")):
        assert goes_on(number) is (number == 1)
        (tmp_path / "lock").write_text(f"{number} {socket.gethostname()}\n", encoding="utf-8")
        assert holder_of(tmp_path / "lock") == named
