"""Data of a job, kept for the next one of the same multirun."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

_last: dict[str, Any] = {}


def load_once(asked: Any, work: Callable[[], Any]) -> Any:
    """Returns what `work` gives, kept for the next job while that asks for the same. Where it asks for other data, the
    ones before are let go first. asked: what tells data apart, as JSON and texts can say it."""
    key = json.dumps(asked, sort_keys=True, default=str)
    if key not in _last:
        _last.clear()
        _last[key] = work()
    return _last[key]
