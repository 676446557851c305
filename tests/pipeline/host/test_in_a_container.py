"""What a container may lack: a GPU under `device=auto`, a home, git."""

from __future__ import annotations

import getpass
import os
import pwd
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
import torch
from mlflow.tracking import MlflowClient

from command_lines import Result
from pipeline.host import process
from pipeline.host.devices import EXPECT_GPU, gpu_missing, pick_device
from pipeline.host.errors import PipelineError
from pipeline.tracking import origin

TINY = ("+experiment=mocap", "size=tiny", "data.source=stand_in", "tracking.log_model=false", "tracking.detail=summary")


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.delenv(EXPECT_GPU, raising=False)


def test_expected_gpu_that_is_missing_is_warned_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EXPECT_GPU, "1")
    with pytest.warns(UserWarning, match="device=auto: torch sees no GPU, so this runs on the CPU"):
        assert pick_device("auto") == torch.device("cpu")
    assert gpu_missing("auto")


@pytest.mark.parametrize(("name", "expected"), [("auto", None), ("auto", "0"), ("cpu", "1")])
def test_no_warning_where_no_gpu_is_expected(monkeypatch: pytest.MonkeyPatch, name: str, expected: str | None) -> None:
    if expected is not None:
        monkeypatch.setenv(EXPECT_GPU, expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pick_device(name) == torch.device("cpu")
    assert not gpu_missing(name)


def test_a_gpu_that_is_there_is_not_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EXPECT_GPU, "1")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert not gpu_missing("auto")


def test_cuda_without_a_gpu_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EXPECT_GPU, "1")
    with pytest.raises(PipelineError, match="device=cuda: torch sees no GPU"):
        pick_device("cuda")


def test_other_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EXPECT_GPU, "yes")
    with pytest.raises(PipelineError, match="PIPELINE_EXPECT_GPU=yes must be 0 or 1"):
        gpu_missing("auto")


@pytest.mark.parametrize("expected", ["0", "1"])
def test_the_run_is_tagged(
    run_pipeline: Callable[..., Result], client: MlflowClient, monkeypatch: pytest.MonkeyPatch, expected: str
) -> None:
    monkeypatch.setenv(EXPECT_GPU, expected)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert run_pipeline(*TINY).status == 0
    (run,) = client.search_runs([e.experiment_id for e in client.search_experiments()])
    assert run.data.tags["device"] == "cpu"
    assert run.data.tags["device.gpu_missing"] == {"0": "false", "1": "true"}[expected]
    assert any("torch sees no GPU" in str(warning.message) for warning in caught) == (expected == "1")


def test_commit_of_an_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origin, "checkout", lambda: None)
    monkeypatch.setenv("PIPELINE_COMMIT", "0123abc")
    assert origin.git_commit() == "0123abc"
    monkeypatch.delenv("PIPELINE_COMMIT")
    assert origin.git_commit() == "unknown"


def test_a_user_without_name_and_home_gets_both(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def nameless(number: int) -> NoReturn:
        raise KeyError(number)

    for name in ("HOME", "LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "replaced below")  # so that it is put back at the end
        monkeypatch.delenv(name)
    monkeypatch.setattr(pwd, "getpwuid", nameless)
    monkeypatch.setattr(process.tempfile, "tempdir", str(tmp_path))
    process.ensure_user()
    assert getpass.getuser() == f"uid {os.getuid()}"
    home = Path(os.environ["HOME"])
    assert home.parent == tmp_path
    assert Path.home() == home
    assert home.stat().st_mode & 0o777 == 0o700
    process.ensure_user()
    assert list(tmp_path.iterdir()) == [home]
