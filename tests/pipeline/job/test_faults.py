"""Faults: a run ends with the numbers of an undisturbed one, or with a line that says what to do."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import signal
import time
import warnings
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pytest
import torch
from mlflow.entities import Run
from mlflow.tracking import MlflowClient

from killing import stop_in
from models.forecasting.bptt import TruncatedBPTT
from models.psrnn.two_stage import two_stage_regression
from models.runtime.objective import Loss
from pipeline.host.out_of_memory import halving, said_in_one_line
from pipeline.job import checkpoint
from pipeline.job.clock import Clock

TINY = (
    "+experiment=mocap", "size=tiny", "data.source=stand_in", "threads=1", "tracking.detail=summary",
    "evaluate.horizons=[1,5]", "evaluate.orders=[2]",
)  # fmt: skip
BARE = (*TINY, "tracking.log_model=false")
LOAD = "pipeline.systems.psrnn.recipe:load_stage"
# the signal, the function that it comes in, and at which of its calls. SIGTERM becomes the same exception wherever it
# comes, so three places suffice: in the loop, while a file is written and in the last stage.
STOPS = (
    (signal.SIGKILL, "pipeline.systems.psrnn.two_stage:draw_features", 1),
    (signal.SIGKILL, "models.psrnn.fit:two_stage_regression", 1),
    (signal.SIGKILL, "pipeline.job.fit:Fit._epoch", 2),
    (signal.SIGTERM, "pipeline.job.fit:Fit._epoch", 1),
    (signal.SIGTERM, "os:fsync", 1),
    (signal.SIGKILL, "os:fsync", 1),
    (signal.SIGKILL, "pipeline.systems.psrnn.evaluate:horizon_errors", 2),
    (signal.SIGKILL, "pipeline.tracking.model:log_model", 1),
    (signal.SIGTERM, "pipeline.tracking.model:log_model", 1),
)


def all_runs(client: MlflowClient) -> list[Run]:
    return list(client.search_runs([e.experiment_id for e in client.search_experiments()]))


def only_run(client: MlflowClient) -> Run:
    (run,) = all_runs(client)
    return run


def numbers(client: MlflowClient, run: Run) -> dict[str, Any]:
    """Every metric with all its steps, but for the times."""
    return {
        key: sorted((m.step, m.value) for m in client.get_metric_history(run.info.run_id, key))
        for key in run.data.metrics
        if not key.endswith("/seconds")
    }


WHOLE = dict[str, Any]()  # the numbers of an undisturbed run; the same command gives the same ones each time


def undisturbed(run_pipeline: Any, client: MlflowClient) -> dict[str, Any]:
    """The numbers of a run in peace, which is made once for all tests of this file."""
    if not WHOLE:
        before = {run.info.run_id for run in all_runs(client)}
        assert run_pipeline(*BARE).status == 0
        (whole,) = [run for run in all_runs(client) if run.info.run_id not in before]
        WHOLE.update(numbers(client, whole))
    return WHOLE


@pytest.mark.slow
def test_stopped_in_every_stage_one_after_the_other(run_pipeline, client, store: Path) -> None:
    resume: tuple[str, ...] = ()
    for number, place, calls in STOPS:
        stop_in(place, store, *TINY, *resume, number=number, calls=calls)
        assert only_run(client).info.status == ("RUNNING" if number == signal.SIGKILL else "KILLED")
        resume = ("resume=true",)
    result = run_pipeline(*TINY, *resume)
    assert result.status == 0, result.err
    resumed = only_run(client)
    assert resumed.info.status == "FINISHED"
    assert list((store / "checkpoints").iterdir()) == []
    model = mlflow.pyfunc.load_model(f"runs:/{resumed.info.run_id}/model")
    assert len(model.predict(np.zeros((3, 22)))) == 3
    assert numbers(client, resumed) == undisturbed(run_pipeline, client)


def test_stopped_while_loading_there_is_nothing_to_resume(run_pipeline, client, store: Path) -> None:
    for number in (signal.SIGKILL, signal.SIGTERM):
        stop_in(LOAD, store, *BARE, number=number)
    assert all_runs(client) == []
    assert (
        "no unfinished run has these settings and this data; start without" in run_pipeline(*BARE, "resume=true").error
    )


# of a first run, one after the other; each kill leaves the next one its store
FIRST_PLACES = (
    "pipeline.tracking.database:fill",
    "os:replace",  # of the store, which is whole under a temporary name: the next one makes it
    "mlflow.store.tracking.sqlalchemy_store:SqlAlchemyStore._create_default_experiment",
    "pipeline.tracking.session:create_run",
    "pipeline.tracking.session:held",
)


@pytest.mark.slow
def test_killed_in_a_first_run_before_its_first_stage(run_pipeline, store: Path) -> None:
    (store / "mlflow.db").unlink()
    for place in FIRST_PLACES:
        assert (store / "mlflow.db").exists() == (place not in FIRST_PLACES[:3])
        stop_in(place, store, *BARE)
    client = MlflowClient(f"sqlite:///{store / 'mlflow.db'}")
    (begun,) = all_runs(client)
    assert begun.info.status == "RUNNING"
    result = run_pipeline(*BARE, "resume=auto")
    assert result.status == 0, result.err
    assert {path.name for path in store.iterdir() if "partial" in path.name or "half-made" in path.name} == set()
    first = only_run(client)
    assert (first.info.status, first.data.tags["resumed"]) == ("FINISHED", "true")
    assert numbers(client, first) == undisturbed(run_pipeline, client)


def test_a_disk_that_is_full_in_the_middle_of_bptt(run_pipeline, client, monkeypatch) -> None:
    written = np.savez

    def full(file: Any, **arrays: Any) -> None:
        if "model/update_tensor" in arrays and len(json.loads(str(arrays["__values__"]))["rows"]) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), file.name)
        written(file, **arrays)

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", full)
        error = run_pipeline(*BARE).error
    assert re.search(
        r"bptt\.npz cannot be written \(No space left on device\); make room there, then resume=true", error
    )
    stopped = only_run(client)
    assert "No space left on device" in stopped.data.tags["error"]
    assert run_pipeline(*BARE, "resume=true").status == 0
    assert numbers(client, only_run(client)) == undisturbed(run_pipeline, client)


def test_a_checkpoint_of_another_model_is_named(run_pipeline, client, store: Path, monkeypatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.systems.psrnn.evaluate.evaluate", stopped_on_purpose)
        assert "stopped on purpose" in run_pipeline(*BARE).error
    folder = store / "checkpoints" / only_run(client).info.run_id
    for name in ("bptt", "two_stage"):
        path = folder / f"{name}.npz"
        saved = checkpoint.load(path)
        tensors = {key: tensor[:1] if tensor.dim() else tensor for key, tensor in saved.tensors.items()}
        checkpoint.save(path, tensors, saved.values)
        error = run_pipeline(*BARE, "resume=true").error
        assert re.search(rf"{name}\.npz is a checkpoint of another model \(.*\); delete it and start anew", error), (
            error
        )


def stopped_on_purpose(*_: object) -> None:
    raise ValueError("stopped on purpose")


def memory_for(rows: int, error: Exception) -> Any:
    """Two-stage regression on a machine that holds the features of so many rows at once."""

    def regression(stream: Any, **settings: Any) -> Any:
        def limited() -> Any:
            for batch in stream():
                if len(batch.history) > rows:
                    raise error
                yield batch

        return two_stage_regression(limited, **settings)

    return regression


NO_MEMORY = {
    "numpy": MemoryError("Unable to allocate 9 TiB"),
    "gpu": torch.OutOfMemoryError("CUDA out of memory"),
    "cpu": RuntimeError("[enforce fail] DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes."),
}


@pytest.mark.parametrize("error", NO_MEMORY.values(), ids=NO_MEMORY)
def test_each_error_of_too_little_memory_is_known(error: Exception) -> None:
    def limited(chunk: int) -> int:
        if chunk > 130:
            raise error
        return chunk

    with pytest.warns(UserWarning, match="out of memory; initialise.chunk is halved to"):
        assert halving(limited, chunk=512, key="initialise.chunk") == 128


def test_two_stage_regression_halves_its_chunk(run_pipeline, client, monkeypatch) -> None:
    expected = undisturbed(run_pipeline, client)
    monkeypatch.setattr("models.psrnn.fit.two_stage_regression", memory_for(130, NO_MEMORY["gpu"]))
    with pytest.warns(UserWarning, match="out of memory") as said:
        assert run_pipeline(*BARE, "initialise.chunk=512").status == 0
    assert [str(warning.message) for warning in said] == [
        f"out of memory; initialise.chunk is halved to {rows}, which changes last digits alone" for rows in (256, 128)
    ]
    (halved,) = [run for run in all_runs(client) if "halved.initialise.chunk" in run.data.tags]
    assert halved.data.tags["halved.initialise.chunk"] == "128"
    found = numbers(client, halved)
    for key in ("two_stage/test_mse", "evaluate/test_mse"):
        assert found[key][0][1] == pytest.approx(expected[key][0][1], rel=1e-6)


@pytest.mark.parametrize("place", ["models.psrnn.fit.two_stage_regression", "pipeline.systems.psrnn.evaluate.evaluate"])
def test_no_memory_at_all_ends_with_what_to_do(place: str, run_pipeline, client, monkeypatch) -> None:
    monkeypatch.setattr(place, no_memory)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = run_pipeline(*BARE, "initialise.chunk=64").error
    said = "out of memory even with initialise.chunk=16" if "two_stage" in place else "out of memory"
    assert f"error: {said}; take fewer features.count, features.projection=40, dtype=float32" in error
    assert only_run(client).info.status == "FAILED"


def no_memory(*_: object, **__: object) -> None:
    raise NO_MEMORY["gpu"]


def test_other_errors_are_not_taken_for_memory() -> None:
    def broken(chunk: int) -> None:
        raise RuntimeError(f"shapes do not match at {chunk}")

    with pytest.raises(RuntimeError, match="shapes do not match at 8"):
        halving(broken, chunk=8, key="initialise.chunk")
    with pytest.raises(RuntimeError, match="shapes do not match at 9"), said_in_one_line():
        broken(9)


def test_a_loss_that_is_not_a_number_is_said_and_taken_back(run_pipeline, client, monkeypatch) -> None:
    losses, epochs = TruncatedBPTT.loss, []

    def poisoned(objective: TruncatedBPTT, batch: torch.Tensor) -> Loss:
        epochs.append(1)
        total, weight = losses(objective, batch)
        return Loss(total * (torch.nan if len(epochs) == 1 else 1.0), weight)

    monkeypatch.setattr(TruncatedBPTT, "loss", poisoned)
    result = run_pipeline(*BARE)
    assert "epoch 1: loss or gradient is not finite; taken back, learning rate halved to 0.25" in result.out
    found = numbers(client, only_run(client))
    assert [value for _, value in found["bptt/accepted"]][:2] == [1.0, 0.0]
    assert found["bptt/train_mse"][0][1] == found["bptt/train_mse"][1][1]
    assert all(math.isfinite(value) for rows in found.values() for _, value in rows)


def test_a_clock_that_jumps_changes_no_duration(monkeypatch) -> None:
    clock = Clock()
    jumps = iter([1e9, -1e9, 0.0, 5e8])
    monkeypatch.setattr(time, "time", lambda: next(jumps, 0.0))
    with clock.stage("load"):
        time.sleep(0.02)
    assert 0.02 <= clock.seconds["load"] < 5
