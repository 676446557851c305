"""Bars of long stages: on a terminal, after a while, and of what models report."""

from __future__ import annotations

import io
import sys
import threading
import time
from contextlib import suppress

import pytest
import torch

from models.forecasting.filtering import filter_sequences
from models.forecasting.rolling import forecast_from_everywhere
from models.psrnn.cell import PSRNN
from models.runtime.progress import advanced, heard
from pipeline.host import progress
from pipeline.host.progress import Lines, progress_bar, training_bar


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


class Seconds:
    """A clock that goes on by so much whenever it is read."""

    def __init__(self, each: float) -> None:
        self.each, self.now = each, -each

    def __call__(self) -> float:
        self.now += self.each
        return self.now


@pytest.mark.parametrize(
    ("total", "each", "units", "told"),
    [
        (1000, 0.0, 1000, list(range(100, 1001, 100))),  # a line a tenth
        (4, 0.0, 4, [1, 2, 3, 4]),
        (1000, 0.0, 250, [100, 200, 250]),  # it ends early
        (1000, 31.0, 3, [1, 2, 3]),  # each takes longer than half a minute
        (None, 0.0, 3, [3]),
        (None, 31.0, 2, [1, 2]),
    ],
)
def test_a_log_has_a_whole_line_after_each_tenth_or_half_a_minute(
    total: int | None, each: float, units: int, told: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    with Lines(total, 0, "draws", "draw", Seconds(each)) as bar:
        for _ in range(units):
            bar.update()
    lines = capsys.readouterr().err.splitlines()
    assert [int(line.removeprefix("draws: ").partition(" ")[0].partition("/")[0]) for line in lines] == told
    assert not any("\r" in line for line in lines)


def test_a_line_has_what_is_shown_and_begins_where_a_stopped_run_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    with training_bar(10, "fit", done=8, unit="epoch") as bar:
        bar.set_postfix({"train": "0.5", "cer": "3"})
        bar.update()
    assert capsys.readouterr().err == "fit: 9/10 epochs, 90%, 00:00, 00:00 left, train=0.5, cer=3\n"


def test_a_line_says_how_long_the_rest_takes_at_the_pace_of_what_this_process_did(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Lines(8, 2, "fit", "epoch", Seconds(60.0)) as bar:
        for _ in range(6):
            bar.update()
    with Lines(None, 0, "fit", "epoch", lambda: 0.0) as bar:
        bar.update()
    assert capsys.readouterr().err.splitlines() == [
        "fit: 3/8 epochs, 38%, 01:00, 05:00 left",
        "fit: 4/8 epochs, 50%, 02:00, 04:00 left",
        "fit: 5/8 epochs, 62%, 03:00, 03:00 left",
        "fit: 6/8 epochs, 75%, 04:00, 02:00 left",
        "fit: 7/8 epochs, 88%, 05:00, 01:00 left",
        "fit: 8/8 epochs, 100%, 06:00",
        "fit: 1 epochs, 00:00",
    ]


@pytest.mark.parametrize("stopped", [False, True])
def test_the_line_of_an_early_end_promises_no_time(stopped: bool, capsys: pytest.CaptureFixture[str]) -> None:
    with suppress(KeyboardInterrupt), Lines(4000, 0, "BPTT", "epoch", Seconds(1.0)) as bar:
        bar.update(23)
        if stopped:
            raise KeyboardInterrupt
    assert capsys.readouterr().err == "BPTT: 23/4000 epochs, 1%, 00:02\n"


@pytest.mark.parametrize(("title", "drawn"), [("fit", True), ("", False)])
def test_a_terminal_has_a_bar_where_there_is_a_title(title: str, drawn: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with training_bar(2, title, unit="epoch") as bar:
        bar.update(2)
    assert ("fit: 100%|" in stream.getvalue()) is drawn


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
