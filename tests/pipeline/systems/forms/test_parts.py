"""Parts of readers of forms that runs share: the seconds of their training."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.job.clock import Clock
from pipeline.job.shared import SECONDS
from pipeline.systems.forms.reading import parts


def test_a_run_that_waited_for_a_part_counts_the_making_once(tmp_path: Path, monkeypatch) -> None:
    now, clock = [0.0], Clock()
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    @contextmanager
    def place_of(*_: object, **__: object) -> Iterator[Path]:
        now[0] += 40  # the other run makes the part
        (tmp_path / parts.KEPT).mkdir()
        (tmp_path / parts.SCORE).write_text("0.5")
        (tmp_path / SECONDS).write_text("50.0")
        yield tmp_path

    here: Any = SimpleNamespace(clock=clock, place_of=place_of)
    with clock.stage("detector", said=False):
        now[0] += 1
        assert parts.part_of("detector", "mark", here, pytest.fail, lambda _: None).found
    assert clock.seconds == {"detector": 51}
