"""How many tokens a second a training meets, by a clock that the test sets."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.job.pace import Paced


def test_tokens_are_counted_from_the_first_batch_on_after_each_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [10.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    objective: Any = SimpleNamespace(model=None, loss=lambda batch: f"loss of {batch}")
    paced = Paced(objective, len)
    assert paced.pace() == {}
    now[0] = 15.0  # before the first batch, as of reading a checkpoint
    assert paced.loss([1, 2, 3]) == "loss of [1, 2, 3]"
    paced.loss([1])
    now[0] = 17.0
    assert paced.pace() == {"tokens_per_second": 2.0}
    now[0] = 90.0  # of the evaluation
    paced.begin()
    assert paced.pace() == {}
    paced.loss([1] * 6)
    now[0] = 93.0
    assert paced.pace() == {"tokens_per_second": 2.0}
