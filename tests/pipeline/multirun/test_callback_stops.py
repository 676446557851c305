"""What becomes of the parent of a multirun when the process ends before its jobs."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.multirun.callback import OPEN_PARENTS, parents_closed


class Parent:
    """Notes what it is closed with."""

    def __init__(self) -> None:
        self.closed: list[str] = []

    def close(self, status: str) -> None:
        self.closed.append(status)


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (KeyboardInterrupt(), "KILLED"),
        (SystemExit(143), "KILLED"),  # of SIGTERM
        (SystemExit(1), "FAILED"),  # of a job that failed
        (SystemExit("error: a line"), "FAILED"),
        (RuntimeError("a fault"), "FAILED"),
    ],
)
def test_a_multirun_that_was_stopped_did_not_fail(end: BaseException, status: str) -> None:
    parent: Any = Parent()
    OPEN_PARENTS.append(parent)
    with pytest.raises(type(end), match=f"{end}.*"), parents_closed():
        raise end
    assert parent.closed == [status]
    assert OPEN_PARENTS == []
