"""The scaling curves at tiny sizes: what a point measures, what is left out, what is written."""

from __future__ import annotations

import importlib
import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.psrnn.two_stage import TwoStageParameters

FOLDER = Path(__file__).parents[1] / "benchmarks"
pytestmark = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="reads Linux's /proc")


@pytest.fixture
def scaling(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("scaling")


@pytest.fixture
def point(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("scaling_point")


def power_laws(scaling: Any) -> list[Any]:
    """Seconds N and m³ and 1/processes, bytes 1000 N and 1000 m²; the first point of each curve lies off it."""
    found = []
    for p in scaling.grid():
        seconds = p.place ** {"steps": 1, "features": 3, "processes": -1}[p.axis]
        memory = 1000 * p.place ** {"steps": 1, "features": 2, "processes": 0}[p.axis]
        off = p.place == min(q.place for q in scaling.grid() if (q.axis, q.spot) == (p.axis, p.spot))
        found.append(scaling.Measured(p, 1e-3 * seconds * (7 if off and p.axis != "processes" else 1), memory))
    return found


def test_slopes_are_those_of_the_upper_part(scaling: Any) -> None:
    found = scaling.slopes(power_laws(scaling))
    assert len(found) == len(scaling.AXES) * len(scaling.NAMES)
    for slope in found:
        expected = {"steps": (1, 1), "features": (3, 2), "processes": (-1, 0)}[slope.axis]
        assert (slope.time, slope.memory) == pytest.approx(expected, abs=1e-9)


def test_points_come_back_from_the_file(scaling: Any, tmp_path: Path) -> None:
    rows = power_laws(scaling)
    scaling.write(tmp_path / "x.csv", rows)
    again = scaling.read(tmp_path / "x.csv")
    assert [row.point for row in again] == [row.point for row in rows]
    assert [row.seconds for row in again] == pytest.approx([row.seconds for row in rows], rel=1e-5)
    assert scaling.read(tmp_path / "none.csv") == []


def test_only_missing_points_are_measured(scaling: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = power_laws(scaling)
    scaling.write(tmp_path / "x.csv", rows[:-2])
    asked: list[Any] = []
    monkeypatch.setattr(scaling, "free_bytes", lambda: 2**60)
    monkeypatch.setattr(scaling, "measure", lambda p: asked.append(p) or scaling.Measured(p, 1.0, 1.0))
    found, left_out = scaling.all_points(tmp_path / "x.csv")
    assert asked == [row.point for row in rows[-2:]]
    assert (len(found), left_out) == (len(rows), [])
    assert len(scaling.read(tmp_path / "x.csv")) == len(rows)


def test_a_report_measures_nothing_and_names_what_is_missing(scaling: Any, tmp_path: Path) -> None:
    rows = power_laws(scaling)
    scaling.write(tmp_path / "x.csv", rows[:-1])
    found, missing = scaling.points_of_file(tmp_path / "x.csv")
    assert len(found) == len(rows) - 1
    assert missing == [f"{rows[-1].point}, not measured"]


def test_what_may_not_fit_into_memory_is_left_out_and_named(
    scaling: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scaling.write(tmp_path / "x.csv", [row for row in power_laws(scaling) if row.point.features < 1000])
    monkeypatch.setattr(scaling, "free_bytes", lambda: 5 * 10**9)
    _, left_out = scaling.all_points(tmp_path / "x.csv")
    assert len(left_out) == 3
    assert left_out[-1] == "two-stage regression at N = 500, m = 1000 may need 9 GB, of which 5 GB were free"


def test_the_page_and_the_figure(scaling: Any, tmp_path: Path) -> None:
    rows = power_laws(scaling)
    figure = importlib.import_module("scaling_figure")
    figure.draw(rows, scaling.slopes(rows), tmp_path / "x.svg")
    drawn = (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert "<svg" in drawn
    text = scaling.page(rows, ["something"], figure="x.svg")
    for part in ("](x.svg)", "| BPTT step | features m | 400 | 1,000 | 3.00 | 2.00 |", "Left out: something."):
        assert part in text
    assert "matplotlib is not installed" in scaling.page(rows, [], figure=None)


@pytest.mark.parametrize("spot", ["regression", "filtering", "bptt"])
def test_every_hot_spot_runs(spot: str, point: Any) -> None:
    assert point.processor_seconds(point.SPOTS[spot](160, 6), 0.01) > 0


def test_regression_streams_its_features(point: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two batches of 50 steps are not held together."""
    monkeypatch.setattr(point, "CHUNK", 50)
    lengths: list[int] = []
    original = point.walk_features
    monkeypatch.setattr(point, "walk_features", lambda steps, w: lengths.append(len(steps)) or original(steps, w))
    found = point.regression(120, 6)()
    assert isinstance(found, TwoStageParameters)
    assert lengths == [50, 50, 20] * 2


def touch(size: int) -> None:
    """Takes so many bytes of the system and gives them back, whatever the allocator keeps for itself."""
    memory = mmap.mmap(-1, size)
    np.frombuffer(memory, np.uint8)[:] = 1
    memory.close()


def test_the_peak_is_that_of_the_work_alone(point: Any) -> None:
    touch(2**27)  # forgotten
    point.forget_peak()
    before = point.resident("VmRSS")
    touch(2**26)
    assert 60 * 2**20 < point.resident("VmHWM") - before < 80 * 2**20


@pytest.mark.parametrize("processes", [1, 2])
def test_a_point_has_processes_of_its_own(processes: int, scaling: Any) -> None:
    found = scaling.measure(scaling.Point("steps", "regression", 200, 6, processes=processes))
    assert found.seconds > 0
    assert found.bytes > 0


def test_a_point_that_fails_is_an_error(point: Any) -> None:
    with pytest.raises(ChildProcessError, match="regression with 0 steps and 6 features failed"):
        point.measured_apart("regression", steps=0, features=6, processes=1)
