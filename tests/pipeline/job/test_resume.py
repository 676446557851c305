"""A run that is killed goes on in the same MLflow run and ends with the same numbers."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

from killing import stop_in
from pipeline.host.locks import file_lock

EPOCHS, CALLS = 8, 20  # of the loss, of which each epoch makes several
ARGUMENTS = (
    "+experiment=mocap", "size=tiny", f"size.epochs={EPOCHS}", f"refine.epochs={EPOCHS}", "refine.learning_rate=0.02",
    "data.source=stand_in", "threads=1", "tracking.log_model=false", "tracking.detail=summary",
)  # fmt: skip
CURVES = [f"bptt/{part}_mse" for part in ("train", "validation", "test")] + ["bptt/learning_rate", "bptt/accepted"]


def runs(client):
    return client.search_runs([e.experiment_id for e in client.search_experiments()])


def curve(client, run_id: str) -> dict[str, list[tuple[int, float]]]:
    return {key: sorted((m.step, m.value) for m in client.get_metric_history(run_id, key)) for key in CURVES}


def test_killed_within_an_epoch_and_resumed_equals_undisturbed(run_pipeline, client, store: Path) -> None:
    stop_in("models.forecasting.bptt:TruncatedBPTT.loss", store, *ARGUMENTS, calls=CALLS)
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
    assert steps == list(range(EPOCHS + 1))
    assert curve(client, killed.info.run_id) == curve(client, whole.info.run_id)
    for name, value in whole.data.metrics.items():
        if not name.endswith("/seconds"):
            assert resumed.data.metrics[name] == value, name


def test_resume_refuses_a_run_that_goes_on_elsewhere(run_pipeline, client, store: Path, monkeypatch) -> None:
    told = (*TINY, "tracking.detail=full", "evaluate.horizons=[1]")
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.systems.psrnn.evaluate.evaluate", fail)
        assert "stopped on purpose" in run_pipeline(*told).error
    (run,) = runs(client)
    assert run.info.status == "FAILED"
    assert run.data.tags["error"] == "stopped on purpose"
    with file_lock(store / "checkpoints" / run.info.run_id / "lock", wait=False):
        for typed in ("true", "auto"):
            error = run_pipeline(*told, f"resume={typed}").error
            here = f"process {os.getpid()} on {socket.gethostname()}"  # which has signed the lock before it failed
            assert error.startswith(f"error: run {run.info.run_id} still goes on in {here}; wait or stop it")
    resumed = run_pipeline(*told, "resume=true", "run_name=typed_now")
    assert resumed.status == 0, resumed.err
    assert runs(client)[0].info.status == "FINISHED"
    assert f"run: {run.info.run_name} (data not real) ({run.info.run_id})" in resumed.out
    assert "typed_now" not in resumed.out


def fail(*_: object) -> None:
    raise ValueError("stopped on purpose")


def test_a_damaged_checkpoint_is_named(run_pipeline, client, store: Path, monkeypatch) -> None:
    damaged = (*TINY, "refine=bptt")
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.systems.psrnn.evaluate.evaluate", fail)
        assert run_pipeline(*damaged).status != 0
    path = store / "checkpoints" / runs(client)[0].info.run_id / "bptt.npz"
    path.write_bytes(path.read_bytes()[:500])
    assert "is not a complete checkpoint" in run_pipeline(*damaged, "resume=true").error


TINY = (
    "+experiment=mocap", "size=tiny", "data.source=stand_in", "refine=none", "tracking.log_model=false",
    "tracking.detail=summary",
)  # fmt: skip
SWEEP = ("-m", *TINY, "sampler=iid,orthogonal")
NOTHING = "resume=auto: no {} of these settings is there to go on with; a new one begins"


def test_what_has_finished_says_so_and_auto_begins_or_goes_on(run_pipeline, client, monkeypatch) -> None:
    first = run_pipeline(*TINY, "resume=auto")
    assert (first.status, first.out.count(NOTHING.format("run"))) == (0, 1), first.err
    (finished,) = runs(client)
    assert (finished.info.status, "resumed" in finished.data.tags) == ("FINISHED", False)
    told = run_pipeline(*TINY, "resume=true")
    assert told.status == 0, told.err
    assert f"({finished.info.run_id}) has finished already, and nothing is left to do" in told.out
    assert len(runs(client)) == 1
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.systems.psrnn.evaluate.evaluate", fail)
        again = run_pipeline(*TINY, "resume=auto")
    assert "stopped on purpose" in again.error
    name = finished.info.run_name
    assert f"resume=auto: the run {name} ({finished.info.run_id}) has finished already; a new one begins" in again.out
    gone_on = run_pipeline(*TINY, "resume=auto")
    assert (gone_on.status, "resume=auto:" in gone_on.out) == (0, False)
    resumed, former = runs(client)
    assert former.info.run_id == finished.info.run_id
    assert (resumed.info.status, resumed.data.tags["resumed"]) == ("FINISHED", "true")


def test_a_study_that_has_finished_says_so(run_pipeline, client) -> None:
    study = ("+experiment=trace", "size=tiny", "timing.trials=0", "timing.queries=[10]", "estimate.queries=[10]")
    assert run_pipeline(*study).status == 0
    told = run_pipeline(*study, "resume=true")
    assert told.status == 0, told.err
    assert "has finished already" in told.out
    assert len(runs(client)) == 1


def test_a_multirun_that_has_finished_says_so_and_auto_begins(run_pipeline, client) -> None:
    first = run_pipeline(*SWEEP, "resume=auto")
    assert (first.status, first.out.count("resume=auto:"), NOTHING.format("multirun") in first.out) == (0, 1, True)
    assert len(runs(client)) == 3
    told = run_pipeline(*SWEEP, "resume=true")
    assert told.status == 0, told.err
    assert "resume=true: the multirun STAND-IN-multirun-mocap (data not real) (" in told.out
    assert len(runs(client)) == 3


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("arguments", [TINY, SWEEP], ids=["run", "multirun"])
def test_a_signal_names_resume_where_there_is_something_to_resume(
    arguments: tuple[str, ...], number: int, status: int, run_pipeline, client, monkeypatch
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.systems.psrnn.evaluate.evaluate", lambda *_, **__: signal.raise_signal(number))
        stopped = run_pipeline(*arguments)
    signal.signal(signal.SIGTERM, before)
    assert (stopped.status, stopped.err.splitlines()[-1]) == (status, "stopped; resume=true goes on from here")
    assert run_pipeline(*arguments, "resume=true").status == 0
    assert "KILLED" not in {run.info.status for run in runs(client)}


@pytest.mark.parametrize(
    ("place", "arguments"),
    [
        ("pipeline.tracking.database.fill", TINY),
        ("pipeline.systems.psrnn.recipe.load_stage", TINY),
        ("pipeline.systems.psrnn.evaluate.evaluate", (*TINY, "tracking=off")),
        ("pipeline.multirun.parent.open_store", SWEEP),
    ],
)
def test_ctrl_c_names_no_resume_where_there_is_none(
    place: str, arguments: tuple[str, ...], run_pipeline, store: Path, monkeypatch
) -> None:
    (store / "mlflow.db").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(place, lambda *_, **__: signal.raise_signal(signal.SIGINT))
        stopped = run_pipeline(*arguments)
    assert (stopped.status, stopped.err.splitlines()[-1]) == (130, "stopped; no run is kept that could be resumed")


def test_resume_is_one_of_three(run_pipeline) -> None:
    assert "resume=perhaps is unknown; choose one of true, false, auto" in run_pipeline("resume=perhaps").error


@pytest.mark.parametrize("arguments", [("resume=true", "tracking=off"), ("resume=true",)])
def test_nothing_to_resume(arguments: tuple[str, ...], run_pipeline) -> None:
    error = run_pipeline("+experiment=mocap", "size=tiny", "data.source=stand_in", *arguments).error
    assert "resume=true" in error
