"""A method that fails once, in the middle of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

SAID = "the disk is full"


def full_disk_at(call: int, owner: type, name: str, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Has a method raise OSError when it is called for the time `call`; returns a list that grows with each call."""
    calls, method = list[int](), getattr(owner, name)

    def breaks(self: Any, *given: Any, **named: Any) -> Any:
        calls.append(1)
        if len(calls) == call:
            raise OSError(SAID)
        return method(self, *given, **named)

    monkeypatch.setattr(owner, name, breaks)
    return calls


def stopped_and_resumed(
    run_pipeline: Callable, asked: Sequence[str], owner: type, call: int, monkeypatch: pytest.MonkeyPatch
) -> list[int]:
    """Has a run stop where `owner.loss` is called for the time `call`, and go on to its end; returns a list that grows
    with each call."""
    losses = full_disk_at(call, owner, "loss", monkeypatch)
    assert SAID in run_pipeline(*asked).error
    assert run_pipeline(*asked, "resume=true").status == 0
    return losses
