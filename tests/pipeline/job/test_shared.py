"""Stages that runs share, and jobs that come to the same: one process at a time, under a fingerprint."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from pipeline.job.clock import Clock
from pipeline.job.shared import forget_states, made_once, one_at_a_time, seconds_of, shared_stage, timed
from pipeline.job.study import Study
from pipeline.tracking.off import Untracked
from pipeline.tracking.run_request import RunRequest, without


def together(block: Callable[[], AbstractContextManager[Any]]) -> int:
    """How many threads were in such a block at once, at most; each comes twice, while others wait."""
    inside, most = [0], [0]

    def enter() -> None:
        for _ in range(2):
            with block():
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0.01)
                inside[0] -= 1

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return most[0]


def test_a_stage_is_made_by_one_process_at_a_time_in_a_folder_that_stays(store: Path) -> None:
    assert together(lambda: shared_stage("autoencoder", "a" * 64, version=1)) == 1
    with shared_stage("autoencoder", "a" * 64, version=1) as first:
        (first / "result").touch()
    with (
        shared_stage("autoencoder", "a" * 64, version=1) as again,
        shared_stage("autoencoder", "b" * 64, version=1) as other,
    ):
        assert (again / "result").exists()
        assert not (other / "result").exists()
    assert first.parent == store / "shared"


def test_what_other_code_made_is_made_anew_and_what_is_found_is_said(store: Path, capsys) -> None:
    asked: dict[str, Any] = {"name": "bars", "mark": "a" * 64, "file": "bars.json", "kept": True}
    assert made_once(**asked, make=lambda: "first", version=1) == "first"
    assert capsys.readouterr().out == ""
    assert made_once(**asked, make=lambda: "second", version=1) == "first"
    said = capsys.readouterr().out
    assert said.startswith(f"bars: found, made before ({store / 'shared' / 'bars-'}")
    assert made_once(**asked, make=lambda: "third", version=2) == "third"
    assert made_once(**{**asked, "kept": False}, make=lambda: "fourth", version=2) == "fourth"
    assert capsys.readouterr().out == ""


def test_the_seconds_of_making_are_kept_unless_a_stopped_process_has_begun_it(tmp_path: Path) -> None:
    with timed(tmp_path, begun=False):
        time.sleep(0.02)
    assert 0.02 <= seconds_of(tmp_path) < 5
    with timed(tmp_path, begun=True):
        pass
    assert math.isnan(seconds_of(tmp_path))


def test_a_run_that_is_not_kept_has_a_place_of_its_own(store: Path, tmp_path: Path) -> None:
    own = Study(Untracked("tried"), tmp_path, Clock(), "tried")
    with own.place_of("translator", "a" * 64, version=1) as folder:
        assert folder == tmp_path / "translator"
    assert (own.run.tracked, (store / "shared").exists()) == (False, False)


def test_jobs_that_come_to_the_same_run_one_after_the_other_and_leave_no_file(store: Path) -> None:
    assert together(lambda: one_at_a_time("c" * 64)) == 1
    with pytest.raises(OSError, match="the disk is full"), one_at_a_time("c" * 64):
        raise OSError("the disk is full")
    assert list((store / "shared").iterdir()) == []


@pytest.mark.parametrize(("settings", "same"), [({"seed": 1}, True), ({"model": {"count": 9}}, True),
                                                ({"model": {"units": 9}}, False)])  # fmt: skip
def test_what_is_passed_over_changes_no_fingerprint(settings: dict[str, Any], same: bool) -> None:
    first: dict[str, Any] = {"seed": 0, "model": {"count": 3, "units": 4}}
    second = {"seed": settings.get("seed", 0), "model": {**first["model"], **settings.get("model", {})}}
    marks = {RunRequest(one, "e", "n", "c", {}, ("seed", "model.count")).mark for one in (first, second)}
    assert (len(marks) == 1) is same
    assert without(first, ("seed", "model.count")) == {"model": {"units": 4}}
    assert RunRequest(first, "e", "n", "c", {}).mark != RunRequest(first, "e", "n", "c", {}, content="texts").mark
    assert RunRequest(first, "e", "n", "c", {}).mark != RunRequest(first, "e", "n", "c", {}, ("seed",)).mark


def test_states_of_trainings_are_forgotten_and_the_result_is_kept(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    others = {"lock", "validation.json", "model/weights.npz", "learned.npz"}
    for name in (*others, "base.npz", "base.best3.npz"):
        (tmp_path / name).touch()
    forget_states(tmp_path, result="learned.npz")
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()} == others
    forget_states(tmp_path)
    assert not (tmp_path / "learned.npz").exists()
