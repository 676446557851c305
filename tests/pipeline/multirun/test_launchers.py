"""Jobs in other processes, jobs that fail before they begin, and jobs that Slurm starts once more."""

from __future__ import annotations

import runpy
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_lines import started
from pipeline.host.devices import gpu_of_job, pick_device
from pipeline.multirun.parent import children_of
from pipeline.systems.psrnn import recipe as psrnn
from pipeline.tracking.run import Run
from warm_processes import ended

QUICK = (
    "refine=none", "features.count=2", "evaluate.horizons=[1]", "evaluate.orders=[]", "tracking.detail=summary",
    "tracking.log_model=false",
)  # fmt: skip

RAY = ("+hydra.launcher.ray.init.num_cpus=2", "+hydra.launcher.ray.init.include_dashboard=false")
NEEDS_RAY = pytest.mark.skipif(
    find_spec("ray") is None,
    reason="Ray is not installed; its launcher wants an environment of its own (docs/cluster.md)",
)


def write_table(path: Path, seed: int) -> None:
    noise = np.random.default_rng(seed).normal(size=(300, 2))
    waves = np.sin(np.arange(300)[:, None] * [0.1, 0.13]) + 0.1 * noise
    pd.DataFrame(waves, columns=["x", "y"]).to_csv(path, index=False)


def write_words(path: Path) -> None:
    """Writes a table that no job can be trained on: that its file is there is all that is seen before the first job."""
    path.write_text("x,y\nnone,here\n", encoding="utf-8")


def runs(client):
    found = client.search_runs([e.experiment_id for e in client.search_experiments()])
    (parent,) = [run for run in found if "mlflow.parentRunId" not in run.data.tags]
    return parent, {run.data.tags["job"]: run for run in found if run is not parent}


def outcome(client) -> tuple[str, dict[str, str], dict[str, str]]:
    """Status of the parent, its counts, and the status of each job."""
    parent, children = runs(client)
    counts = {key: value for key, value in parent.data.tags.items() if key.startswith("jobs")}
    return parent.info.status, counts, {job: run.info.status for job, run in children.items()}


def as_main(*arguments: str) -> None:
    """`python -m pipeline …` as the main module: the job function is sent to workers by value, as on the command
    line."""
    sys.argv = ["pipeline", *arguments]
    runpy.run_module("pipeline", run_name="__main__", alter_sys=True)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("launcher", ["joblib", "submitit_local", pytest.param("ray", marks=NEEDS_RAY)])
def test_a_sweep_in_worker_processes_fails_in_part(launcher: str, client, tmp_path: Path) -> None:
    """Going on is the parent's work, which knows no launcher."""
    write_table(tmp_path / "first.csv", 1)
    write_words(tmp_path / "second.csv")
    sweep = ("-m", "data=table", "data.path=first.csv,second.csv", f"hydra/launcher={launcher}", *QUICK)
    sweep += RAY if launcher == "ray" else ()
    if launcher == "submitit_local":
        found = ended(as_main, *sweep, folder=tmp_path)
    else:  # whose workers wait for each other in a process that is forked
        found = started([sys.executable, "-m", "pipeline", *sweep], folder=tmp_path)
    assert found.status == 1, found.err
    assert "error: job 1 failed: " in found.err
    assert "second.csv" in found.err.splitlines()[-1]
    failed = {"jobs": "2", "jobs.failed": "1", "jobs.pruned": "0", "jobs.stopped": "0", "jobs.planned": "2"}
    assert outcome(client) == ("FAILED", failed, {"0": "FINISHED", "1": "FAILED"})
    assert "second.csv" in runs(client)[1]["1"].data.tags["error"]


def test_a_job_that_fails_again_is_marked_once_and_goes_on_when_it_can(
    run_pipeline, client, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "first.csv", 1)
    write_words(tmp_path / "second.csv")
    sweep = ("-m", "data=table", "data.path=first.csv,second.csv", *QUICK)
    for extra in ((), ("resume=true",)):
        assert "job 1 failed" in run_pipeline(*sweep, *extra).error
        assert outcome(client)[1:] == (
            {"jobs": "2", "jobs.failed": "1", "jobs.pruned": "0", "jobs.stopped": "0", "jobs.planned": "2"},
            {"0": "FINISHED", "1": "FAILED"},
        )
    before = runs(client)[1]
    write_table(tmp_path / "second.csv", 2)
    assert run_pipeline(*sweep, "resume=true").status == 0
    whole = {"jobs": "2", "jobs.failed": "0", "jobs.pruned": "0", "jobs.stopped": "0", "jobs.planned": "2"}
    assert outcome(client) == ("FINISHED", whole, {"0": "FINISHED", "1": "FINISHED"})
    assert runs(client)[1]["0"].info.end_time == before["0"].info.end_time


def test_a_job_that_finished_on_another_table_is_run_again(run_pipeline, client, tmp_path: Path, monkeypatch) -> None:
    """The parent counts each job once, on the file as it is now."""
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "first.csv", 1)
    write_words(tmp_path / "second.csv")
    sweep = ("-m", "data=table", "data.path=first.csv,second.csv", *QUICK)
    assert "job 1 failed" in run_pipeline(*sweep).error
    before = runs(client)[1]["0"]
    for name, seed in (("first", 3), ("second", 2)):
        write_table(tmp_path / f"{name}.csv", seed)
    found = started([sys.executable, "-m", "pipeline", *sweep, "resume=true"], folder=tmp_path)
    assert found.status == 0, found.err
    (parent,) = client.search_runs([before.info.experiment_id], "tags.jobs != ''")
    assert (parent.info.status, parent.data.tags["jobs"]) == ("FINISHED", "2")
    jobs = children_of(client, Run(client, parent.info.run_id))
    assert sorted(child.data.tags["job"] for child in jobs) == ["0", "1"]
    (now,) = [child for child in jobs if child.data.tags["job"] == "0"]
    assert now.data.tags["data.checksum"] != before.data.tags["data.checksum"]


def test_a_fault_of_ours_shows_where_it_is_and_is_marked(run_pipeline, client, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "first.csv", 1)

    def fault(*_: object) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(psrnn, "stages_of", fault)
    result = run_pipeline("-m", "data=table", "data.path=first.csv", *QUICK)
    assert result.status != 0
    assert "Traceback" in result.err
    assert result.err.splitlines()[-1] == "error: job 0 failed: broken on purpose"
    assert outcome(client)[2] == {"0": "FAILED"}


def test_a_worker_with_another_store_says_so(run_pipeline, client, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "first.csv", 1)
    parent = "0" * 32
    error = run_pipeline("data=table", "data.path=first.csv", f"tracking.parent={parent}", *QUICK).error
    assert f"error: the multirun {parent} is not in this job's store, sqlite:///" in error
    assert client.search_runs([e.experiment_id for e in client.search_experiments()]) == []


def fail(*_: object) -> None:
    raise ValueError("stopped on purpose")


@pytest.mark.parametrize("variable", ["SLURM_RESTART_COUNT", "TORCHELASTIC_RESTART_COUNT"])
def test_a_requeued_job_goes_on_in_its_run(
    variable: str, run_pipeline, client, store: Path, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "first.csv", 1)
    single = ("data=table", "data.path=first.csv", *QUICK)
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.systems.psrnn.evaluate.evaluate", fail)
        assert "stopped on purpose" in run_pipeline(*single).error
    monkeypatch.setenv(variable, "1")
    assert run_pipeline(*single).status == 0
    experiments = [e.experiment_id for e in client.search_experiments()]
    (run,) = client.search_runs(experiments)
    assert (run.info.status, run.data.tags["resumed"]) == ("FINISHED", "true")
    assert "error" not in run.data.tags
    assert run_pipeline(*single, "seed=1").status == 0
    assert len(client.search_runs(experiments)) == 2
    assert not list(store.glob("hydra/*"))


def test_jobs_on_one_machine_take_turns_on_its_gpus(monkeypatch) -> None:
    """Without cuDNN's attention, which plans each new shape."""
    planned: list[bool] = []
    assert [gpu_of_job(job, 3) for job in range(7)] == [0, 1, 2, 0, 1, 2, 0]
    monkeypatch.setattr("torch.backends.cuda.enable_cudnn_sdp", planned.append)
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert [str(pick_device("auto", job=job)) for job in range(3)] == ["cuda:0", "cuda:1", "cuda:0"]
    assert str(pick_device("cpu", job=1)) == "cpu"
    assert planned == [False] * 3
