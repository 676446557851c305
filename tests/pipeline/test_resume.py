"""A run that is killed goes on in the same MLflow run and ends with the same numbers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.tracking.store import file_lock

ARGUMENTS = (
    "+experiment=mocap", "size=tiny", "size.epochs=60", "refine.epochs=60", "refine.learning_rate=0.02",
    "data.source=stand_in", "threads=1", "tracking.log_model=false",
)  # fmt: skip
CURVES = [f"bptt/{part}_mse" for part in ("train", "validation", "test")] + ["bptt/learning_rate", "bptt/accepted"]


def runs(client):
    return client.search_runs([e.experiment_id for e in client.search_experiments()])


def curve(client, run_id: str) -> dict[str, list[tuple[int, float]]]:
    return {key: sorted((m.step, m.value) for m in client.get_metric_history(run_id, key)) for key in CURVES}


def kill_in_the_middle(folder: Path, client) -> int:
    """Start in a process of its own, SIGKILL it after some epochs; returns how many it had logged."""
    process = subprocess.Popen([sys.executable, "-m", "pipeline", *ARGUMENTS], cwd=folder, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            assert process.poll() is None, "it ended before it could be killed"
            found = runs(client)
            logged = len(client.get_metric_history(found[0].info.run_id, "bptt/train_mse")) if found else 0
            if logged >= 5:
                os.kill(process.pid, signal.SIGKILL)
                return logged
            time.sleep(0.05)
        raise AssertionError("no epoch was logged in 90 s")
    finally:
        process.kill()
        process.wait()


def test_killed_and_resumed_equals_undisturbed(run_pipeline, client, tmp_path: Path) -> None:
    logged = kill_in_the_middle(tmp_path, client)
    assert logged < 60
    (killed,) = runs(client)
    assert killed.info.status == "RUNNING"
    result = run_pipeline(*ARGUMENTS, "resume=true")
    assert result.status == 0, result.err
    (resumed,) = runs(client)
    assert resumed.info.run_id == killed.info.run_id
    assert resumed.info.status == "FINISHED"
    assert run_pipeline(*ARGUMENTS).status == 0
    (whole,) = [run for run in runs(client) if run.info.run_id != killed.info.run_id]
    steps = [step for step, _ in curve(client, killed.info.run_id)["bptt/train_mse"]]
    assert steps == list(range(61))
    assert curve(client, killed.info.run_id) == curve(client, whole.info.run_id)
    for name, value in whole.data.metrics.items():
        if not name.endswith("/seconds"):
            assert resumed.data.metrics[name] == value, name
    assert "no unfinished run" in run_pipeline(*ARGUMENTS, "resume=true").error


def test_resume_refuses_a_run_that_goes_on_elsewhere(run_pipeline, client, store: Path, monkeypatch) -> None:
    tiny = ("+experiment=mocap", "size=tiny", "data.source=stand_in", "refine=none")
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.recipes.psrnn.baselines", fail)
        assert "stopped on purpose" in run_pipeline(*tiny).error
    (run,) = runs(client)
    assert run.info.status == "FAILED"
    assert run.data.tags["error"] == "stopped on purpose"
    with file_lock(store / "checkpoints" / run.info.run_id / "lock", wait=False):
        assert "still goes on in another process" in run_pipeline(*tiny, "resume=true").error
    assert run_pipeline(*tiny, "resume=true").status == 0
    assert runs(client)[0].info.status == "FINISHED"


def fail(*_: object) -> None:
    raise ValueError("stopped on purpose")


def test_a_damaged_checkpoint_is_named(run_pipeline, client, store: Path, monkeypatch) -> None:
    tiny = ("+experiment=mocap", "size=tiny", "data.source=stand_in")
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.recipes.psrnn.baselines", fail)
        assert run_pipeline(*tiny).status != 0
    path = store / "checkpoints" / runs(client)[0].info.run_id / "bptt.npz"
    path.write_bytes(path.read_bytes()[:500])
    assert "is not a complete checkpoint" in run_pipeline(*tiny, "resume=true").error


@pytest.mark.parametrize("arguments", [("resume=true", "tracking=off"), ("resume=true",)])
def test_nothing_to_resume(arguments: tuple[str, ...], run_pipeline) -> None:
    error = run_pipeline("+experiment=mocap", "size=tiny", "data.source=stand_in", *arguments).error
    assert "resume=true" in error
