"""On a real Slurm of one node: devices of jobs, a job that fails, preemption with and without a grace time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slurm.one_node import one_node_slurm, why_not

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(why_not() is not None, reason=f"no Slurm can be started here: {why_not()}"),
]
SMALL = (
    "-m", "+experiment=mocap", "size=tiny", "data.source=stand_in", "evaluate.horizons=[1]", "tracking.detail=summary",
    "hydra/launcher=submitit_slurm",
)  # fmt: skip


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with one_node_slurm(tmp_path_factory.mktemp("slurm")):
        yield


@contextmanager
def started(*arguments: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The sweep's own process, which is killed where a test fails before it ends."""
    command = [sys.executable, "-m", "pipeline", *SMALL, *arguments]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def runs(client):
    found = client.search_runs([e.experiment_id for e in client.search_experiments()])
    parent = next((run for run in found if run.data.tags.get("multirun") == "parent"), None)
    return parent, {run.data.tags["job"]: run for run in found if run is not parent}


def slurm_says(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def until(condition, words: str, *, seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {words}"
        time.sleep(0.5)


@pytest.mark.usefixtures("slurm")
def test_an_array_of_jobs_one_of_which_fails(client, tmp_path: Path) -> None:
    gpus = ("hydra.launcher.gres=gpu:1", "hydra.launcher.array_parallelism=2")
    with started("refine=none", "features.count=2,0", *gpus, folder=tmp_path) as process:
        _, err = process.communicate(timeout=900)
    assert process.returncode == 1, err
    assert "error: job 1 failed: features.count=0 must be greater than 0" in err
    parent, children = runs(client)
    assert {job: run.info.status for job, run in children.items()} == {"0": "FINISHED", "1": "FAILED"}
    assert parent is not None
    assert (parent.info.status, parent.data.tags["jobs.failed"]) == ("FAILED", "1")


@pytest.mark.usefixtures("slurm")
@pytest.mark.parametrize("partition", ["work", "graceful"])
def test_a_preempted_job_goes_on_in_the_same_run(partition: str, client, tmp_path: Path) -> None:
    epochs = 1000  # more than the job can do before it is preempted; past them training would end by itself
    settings = (
        f"size.epochs={epochs}", f"refine.epochs={epochs}", "refine.learning_rate=0.02", "seed=0", "threads=1",
        f"hydra.launcher.partition={partition}", "hydra.launcher.cpus_per_task=2",
    )  # fmt: skip

    def curve() -> list[int]:
        children = runs(client)[1]
        history = client.get_metric_history(children["0"].info.run_id, "bptt/train_mse") if children else []
        return sorted(metric.step for metric in history)

    def waiting() -> str:
        return slurm_says("squeue", "--noheader", "--partition", partition, "--states", "PENDING", "-o", "%A").strip()

    with started(*settings, folder=tmp_path) as process:
        until(lambda: len(curve()) >= 3, "the job has logged three epochs")
        slurm_says("sbatch", "-p", "urgent", "-n", "2", "-t", "1", "-o", os.devnull, "--wrap", "sleep 1")
        until(waiting, "the job is requeued")
        assert len(curve()) < epochs + 1
        slurm_says("scontrol", "update", f"JobId={waiting()}", "StartTime=now")  # instead of two minutes from now
        _, err = process.communicate(timeout=900)
    assert process.returncode == 0, err
    parent, children = runs(client)
    assert [run.info.status for run in children.values()] == ["FINISHED"]
    assert children["0"].data.tags["resumed"] == "true"
    assert curve() == list(range(epochs + 1))
    assert parent is not None
    assert parent.info.status == "FINISHED"
