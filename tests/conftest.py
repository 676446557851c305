"""What every test has: one thread, an empty data root, and a store that is copied instead of made anew; the swimmer's
trajectories, which are made once."""

from __future__ import annotations

import functools
import gc
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
import pytest
import torch
from hydra.core.global_hydra import GlobalHydra
from mlflow.store.db import utils
from mlflow.tracking import MlflowClient
from omegaconf import OmegaConf
from sqlalchemy import event
from sqlalchemy.engine import Engine

from command_lines import Result
from composed_once import compose_once, read_once
from data.swimmer.load import Swimmer
from drawn_once import draw_once
from pipeline import __main__ as program
from pipeline.host.paths import conf_folder
from pipeline.tracking.store import open_store

mpl.use("Agg")
torch.set_num_threads(1)


def pytest_collection_finish() -> None:
    """Sets aside the million objects of imports and collected tests: no garbage is ever among them, and each look
    through all objects went through them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 20, 20)


@contextmanager
def no_tracking_uri() -> Iterator[None]:
    """MLflow writes the store that it is told of into the environment. Set here first, it is undone with the rest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", "")
        patch.delenv("MLFLOW_TRACKING_URI")
        yield


@pytest.fixture(autouse=True, scope="session")
def files_of_conf_are_read_once_and_pictures_drawn_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        read_once(patch)
        draw_once(patch)
        yield


@pytest.fixture(autouse=True, scope="session")
def migrations_of_mlflow_are_listed_once() -> Iterator[None]:
    """MLflow imports all of them to find the newest whenever it opens another store."""
    with pytest.MonkeyPatch.context() as patch:
        newest = functools.cache(utils._get_latest_schema_revision)
        patch.setattr(utils, "_get_latest_schema_revision", newest)
        yield


@pytest.fixture(autouse=True, scope="session")
def databases_are_not_synced() -> Iterator[None]:
    """SQLite waits for the disk at each commit, for what loses power. Killed processes lose nothing without it."""

    def connected(connection: object, _: object) -> None:
        if isinstance(connection, sqlite3.Connection):
            connection.execute("PRAGMA synchronous=OFF")

    event.listen(Engine, "connect", connected)
    yield
    event.remove(Engine, "connect", connected)


@pytest.fixture(autouse=True)
def tracking_uri_of_this_test_alone() -> Iterator[None]:
    with no_tracking_uri():
        yield


@pytest.fixture(autouse=True)
def module_path_of_this_test_alone() -> Iterator[None]:
    """MLflow puts the packages that a loaded model carries before ours, and a process that is started afterwards
    would import them."""
    before = list(sys.path)
    yield
    sys.path[:] = before


@pytest.fixture(scope="session")
def template_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty store, made once. It is not where it was made: what still has that address writes nothing here."""
    folder = tmp_path_factory.mktemp("template")
    with no_tracking_uri(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIPELINE_MLRUNS", str(folder / "made"))
        open_store(None)
    shutil.copytree(folder / "made", folder / "mlruns")
    shutil.rmtree(folder / "made")
    return folder / "mlruns"


@pytest.fixture
def store(template_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """mlruns/ of this test, with its own copy of the empty database."""
    folder = tmp_path / "mlruns"
    shutil.copytree(template_store, folder)
    monkeypatch.setenv("PIPELINE_MLRUNS", str(folder))
    monkeypatch.setenv("PIPELINE_DATA_ROOT", str(tmp_path / "no-data"))
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
    monkeypatch.delenv(program.TRACEBACK, raising=False)
    return folder


@pytest.fixture(scope="session")
def swimmer_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with the swimmer's trajectories for `size=tiny`, which take some seconds to make, and nothing else.

    The processes of pytest-xdist share it; the loader makes all but one of them wait.
    """
    base = tmp_path_factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "swimmer-data"
    tiny = OmegaConf.load(conf_folder() / "size" / "tiny.yaml")
    Swimmer(root=str(root), iterations=tiny["iterations"]).load()
    return root


@pytest.fixture
def client(store: Path) -> MlflowClient:
    return MlflowClient(f"sqlite:///{store / 'mlflow.db'}")


@pytest.fixture
def run_pipeline(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Result]:
    """`python -m pipeline …` in this process, with the compositions of `compose_once`."""
    assert store.is_dir()

    def run(*arguments: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["pipeline", *arguments])
        GlobalHydra.instance().clear()
        status = 0
        try:
            with monkeypatch.context() as patch:
                compose_once(patch)
                program.main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
            if isinstance(end.code, str):
                print(end.code, file=sys.stderr)
        finally:
            GlobalHydra.instance().clear()
        captured = capsys.readouterr()
        return Result(status, captured.out, captured.err)

    return run
