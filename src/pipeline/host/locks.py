"""Locks on files, by which processes wait for each other; they end with the process, even with a killed one."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, TextIO


def opened_locked(path: Path, mode: Literal["a", "r+"] = "a", *, wait: bool = True) -> TextIO:
    """Returns the file, open and locked until it is closed.

    Whoever holds the lock may delete the file: another process that waited for it opens the path again, so that never
    two hold it. mode: both write, as network file systems lock no file that is open to read alone. These may say ESTALE
    of a file that another machine has deleted.

    Raises BlockingIOError without `wait`, and with "r+" FileNotFoundError where there is no file.
    """
    while True:
        file, held = path.open(mode, encoding="utf-8"), False
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = is_at(file, path)
        except OSError as error:
            if error.errno != errno.ESTALE:
                raise
        finally:
            if not held:
                file.close()
        if held:
            return file


def is_at(file: TextIO, path: Path) -> bool:
    """Returns whether the path names the open file still."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


@contextmanager
def file_lock(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Holds the lock of a file, which is made if need be, during the block. Raises BlockingIOError without `wait`."""
    with opened_locked(path, wait=wait):
        yield


def sign(file: TextIO) -> None:
    """Writes the number of this process and the name of its host into a file whose lock it holds, in place of what
    stood there."""
    file.truncate(0)
    file.write(f"{os.getpid()} {socket.gethostname()}\n")
    file.flush()


def holder_of(path: Path) -> str:
    """Returns, as words of a message, who has signed a file that is locked: "process NUMBER on HOST".

    Returns "another process" where nobody has signed it yet, or where a process of this host did that has ended: the
    one that holds the lock now is about to sign.
    """
    words = list[str]()
    with suppress(FileNotFoundError):
        words = path.read_text(encoding="utf-8").split()
    if len(words) != 2 or (words[1] == socket.gethostname() and not goes_on(int(words[0]))):
        return "another process"
    return f"process {words[0]} on {words[1]}"


def goes_on(process: int) -> bool:
    """Returns whether there is a process of this number on this host."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it belongs to somebody else
        return True
    return True
