"""A method that fails once, in the middle of a run."""

from __future__ import annotations

from typing import Any

import pytest

SAID = "the disk is full"


def full_disk_at(call: int, owner: type, name: str, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Has a method raise OSError when it is called for the time `call`; returns a list that grows with each call."""
    calls, method = list[int](), getattr(owner, name)

    def breaks(self: Any, *given: Any) -> Any:
        calls.append(1)
        if len(calls) == call:
            raise OSError(SAID)
        return method(self, *given)

    monkeypatch.setattr(owner, name, breaks)
    return calls
