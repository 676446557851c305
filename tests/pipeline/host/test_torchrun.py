"""One run by two processes of torchrun: the numbers of one process, one MLflow run, one voice."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import rank_work
from command_lines import Result, started
from logged import only_run
from pipeline.host.devices import pick_device
from pipeline.host.torchrun import share_of_cores
from rank_work import on_ranks
from warm_processes import ended, two_ranks

TINY = (
    "+experiment=mocap", "size=tiny", "data.source=stand_in", "threads=1", "tracking.detail=summary",
    "evaluate.horizons=[1,5]", "evaluate.orders=[2]", "tracking.log_model=false", "features.projection=8",
)  # fmt: skip
STOPPING = """
import os
from models.forecasting.bptt import TruncatedBPTT

losses, left = TruncatedBPTT.loss, [3]

def stopping(objective, batch):
    left[0] -= 1
    if os.environ["RANK"] == "1" and left[0] < 0:
        {how}
    return losses(objective, batch)

if "STOPPING" in os.environ:
    TruncatedBPTT.loss = stopping
"""


def torchrun(*arguments: str, folder: Path) -> Result:
    """`torchrun --nproc-per-node 2 -m pipeline …`."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    return started([*command, "-m", "pipeline", *arguments], folder=folder, seconds=280)


@pytest.fixture
def two_forked(store: Path) -> Callable[..., Result]:
    """The same, with ranks that need not import what a run does."""
    return partial(ended, two_ranks, folder=store.parent)


def error_lines(found: Result) -> list[str]:
    assert found.status != 0
    return [line for line in found.err.splitlines() if line.startswith("error: ")]


def numbers(client, run) -> dict[tuple[str, int], float]:
    """Every metric at every step, but for the times."""
    return {
        (key, metric.step): metric.value
        for key in run.data.metrics
        if not key.endswith("/seconds")
        for metric in client.get_metric_history(run.info.run_id, key)
    }


OF_ONE_PROCESS = dict[tuple[str, int], float]()


def of_one_process(client, run_pipeline) -> dict[tuple[str, int], float]:
    """The numbers of one process, whose run is made once for all tests of this file."""
    if not OF_ONE_PROCESS:
        ranked = only_run(client).info
        assert run_pipeline(*TINY).status == 0
        (alone,) = [run for run in client.search_runs([ranked.experiment_id]) if run.info.run_id != ranked.run_id]
        assert alone.data.tags["processes"] == "1"
        OF_ONE_PROCESS.update(numbers(client, alone))
    return OF_ONE_PROCESS


@pytest.mark.slow
def test_two_processes_make_one_run_with_the_numbers_of_one(run_pipeline, client, store: Path) -> None:
    result = torchrun(*TINY, folder=store.parent)
    assert result.status == 0, result.err
    assert result.out.count("evaluate …") == result.out.count(" on validation, ") == 1
    run = only_run(client)
    assert (run.info.status, run.data.tags["processes"]) == ("FINISHED", "2")
    found = numbers(client, run)
    assert {("evaluate/test_mse", 0), ("bptt/train_mse", 2), ("two_stage/test_mse", 0)} < set(found)
    assert found == pytest.approx(of_one_process(client, run_pipeline), rel=1e-8)


@pytest.mark.slow
def test_a_rank_that_fails_ends_all_with_its_message_and_resume_goes_on(
    two_forked, run_pipeline, client, tmp_path: Path
) -> None:
    (tmp_path / "stopping.py").write_text(STOPPING.format(how="raise ValueError('stopped on purpose')"))
    broken = ("extensions=[stopping]",)
    assert error_lines(two_forked(*TINY, *broken, STOPPING="1")) == ["error: stopped on purpose"]
    run = only_run(client)
    assert (run.info.status, run.data.tags["error"]) == ("FAILED", "stopped on purpose")
    found = two_forked(*TINY, *broken, "resume=true")
    assert found.status == 0, found.err
    resumed = only_run(client)
    assert (resumed.info.run_id, resumed.info.status) == (run.info.run_id, "FINISHED")
    assert numbers(client, resumed) == pytest.approx(of_one_process(client, run_pipeline), rel=1e-8)


@pytest.mark.slow
def test_a_rank_that_is_killed_ends_all_with_a_message(two_forked, client, tmp_path: Path) -> None:
    (tmp_path / "stopping.py").write_text(STOPPING.format(how="os.kill(os.getpid(), 9)"))
    found = two_forked(*TINY, "extensions=[stopping]", STOPPING="1")
    lines, run = error_lines(found), only_run(client)
    assert found.status != 0
    if run.info.status == "FAILED":
        assert len(lines) <= 1  # none where torchrun's SIGTERM came after the run was closed and before the last words
        assert all(
            line.startswith("error: another process of this run has ended, or cannot be reached") for line in lines
        )
        assert "another process of this run has ended" in run.data.tags["error"]
    else:  # torchrun's SIGTERM came before the other process had noticed
        assert (run.info.status, lines) == ("KILLED", [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-m", *TINY, "seed=0,1"), "a multirun is for one process; start it with python -m pipeline"),
        ((*TINY, "refine.horizon=0"), "refine.horizon=0 must be greater than 0"),
        (("recipe=ssgp",), "recipe=ssgp is for one process; start it with python -m pipeline, not with torchrun"),
    ],
    ids=["multirun", "setting", "recipe"],
)
def test_what_all_ranks_refuse_is_said_once(arguments: tuple[str, ...], said: str, two_forked, client) -> None:
    (line,) = error_lines(two_forked(*arguments))
    assert said in line
    assert client.search_runs([e.experiment_id for e in client.search_experiments()]) == []


def test_rank_0_alone_keeps_checkpoints_and_tells_the_others(tmp_path: Path) -> None:
    first, second = on_ranks(rank_work.checkpoints, tmp_path, place=tmp_path)
    assert (first.pop("written"), second.pop("written")) == (True, False)
    for found in (first, second):
        assert found.pop("a").tolist() == [0, 1, 2]
        assert found == {"before": None, "epoch": 4}


def test_ranks_with_other_settings_or_data_are_refused(tmp_path: Path) -> None:
    first, second = on_ranks(rank_work.unlike_settings, tmp_path)
    assert first["error"] is None
    assert second["error"].startswith("process 1 has other settings or other data than process 0; give all of them")


@pytest.fixture
def second_of_two(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The environment of rank 1 as torchrun sets it."""
    for name, value in {"TORCHELASTIC_RUN_ID": "x", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return monkeypatch


def test_ranks_share_the_cores(second_of_two: pytest.MonkeyPatch) -> None:
    second_of_two.setattr("os.sched_getaffinity", lambda _: range(9), raising=False)
    assert share_of_cores(None) == 4
    assert share_of_cores(3) == 3
    second_of_two.setenv("LOCAL_WORLD_SIZE", "12")
    assert share_of_cores(None) == 1
    second_of_two.setenv("OMP_NUM_THREADS", "6")
    assert share_of_cores(None) is None
    second_of_two.delenv("TORCHELASTIC_RUN_ID")
    assert share_of_cores(None) is None


def test_each_rank_takes_a_gpu_of_its_own(second_of_two: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    second_of_two.setattr("torch.cuda.is_available", lambda: True)
    second_of_two.setattr("torch.cuda.set_device", lambda device: taken.append(str(device)))
    second_of_two.setattr("torch.cuda.device_count", lambda: 2)
    second_of_two.setattr("torch.backends.cuda.enable_cudnn_sdp", lambda _: None)
    assert str(pick_device("auto")) == "cuda:1"
    assert taken == ["cuda:1"]
    second_of_two.setattr("torch.cuda.device_count", lambda: 1)
    with pytest.raises(ValueError, match="2 processes on a machine with 1 GPUs; start at most one for each"):
        pick_device("auto")
