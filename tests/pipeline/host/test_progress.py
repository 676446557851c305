"""Bars of long stages: on a terminal, after a while, and of what models report."""

from __future__ import annotations

import io
import sys
import threading
import time

import pytest
import torch

from models.forecasting.filtering import filter_sequences
from models.forecasting.rolling import forecast_from_everywhere
from models.psrnn.cell import PSRNN
from models.runtime.progress import advanced, heard
from pipeline.host import progress
from pipeline.host.progress import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def written(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, *, patience: float) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", patience)
    with progress_bar("evaluate", 200):
        for _ in range(4):
            time.sleep(0.06)  # a bar is drawn again when a tenth of a second has passed
            advanced(50)
    return stream.getvalue()


def test_a_stage_that_takes_long_has_a_bar_which_is_cleared_away(monkeypatch: pytest.MonkeyPatch) -> None:
    found = written(Terminal(), monkeypatch, patience=1e-9)
    assert "evaluate" in found
    assert "/200" in found
    assert found.rpartition("\r")[0].rpartition("\r")[2].strip() == ""


def test_a_short_one_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert written(Terminal(), monkeypatch, patience=60.0) == ""


def test_none_where_standard_error_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert written(io.StringIO(), monkeypatch, patience=1e-9) == ""


def test_filtering_and_forecasting_report_every_row() -> None:
    model, rows = PSRNN(frequencies=3, dimension=2, state=4).double(), list[int]()
    values = torch.zeros(2, 9, 2, dtype=torch.float64)
    with torch.no_grad(), heard(rows.append):
        states = filter_sequences(model, values, torch.ones_like(values, dtype=torch.bool)).states
        assert sum(rows) == 2 * 9
        forecast_from_everywhere(model, states, [1, 5])
    assert sum(rows) == 2 * 9 + 2 * 9 * 5
    advanced(3)
    assert sum(rows) == 2 * 9 + 2 * 9 * 5


def test_a_listener_hears_its_own_thread_and_the_outer_one_hears_again() -> None:
    outer, inner = list[int](), list[int]()
    with heard(outer.append):
        with heard(inner.append):
            advanced(1)
            other = threading.Thread(target=advanced, args=(2,))
            other.start()
            other.join()
        advanced(4)
    assert (outer, inner) == ([4], [1])
