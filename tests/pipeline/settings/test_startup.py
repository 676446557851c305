"""What a command imports before it answers, told by Python itself (-X importtime), never by a clock."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import IO

import pytest
from mlflow.environment_variables import MLFLOW_DISABLE_TELEMETRY

import pipeline
from pipeline.host.paths import checkout

HEAVY = {
    "fastapi", "gpytorch", "matplotlib", "mlflow", "optuna", "pandas", "requests", "scipy", "sklearn", "sqlalchemy",
    "torch",
}  # fmt: skip
IMPORTED = re.compile(r"^import time: +\d+ \| +\d+ \| +(?P<name>[\w.]+)$", re.M)


@contextmanager
def started(folder: Path, *arguments: str, data: Path | None = None) -> Iterator[IO[str]]:
    """What `python -m pipeline …` says and imports, in one stream and in its order; stopped when the block ends."""
    names = {
        "PIPELINE_MLRUNS": str(folder / "mlruns"),
        "PIPELINE_DATA_ROOT": str(data or folder),
        "OMP_NUM_THREADS": "1",
    }
    process = subprocess.Popen(
        [sys.executable, "-u", "-X", "importtime", "-m", "pipeline", *arguments],
        cwd=folder, env={**os.environ, **names}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        yield process.stdout
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def imported(text: str) -> set[str]:
    """The modules that were imported, by their full names."""
    return {found["name"] for found in IMPORTED.finditer(text)}


def heavy(text: str) -> set[str]:
    modules = imported(text)
    assert {"hydra", "omegaconf"} <= modules  # it is a command of ours, and the stream is read as it should be
    return HEAVY & modules


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--help"], "sampler: hadamard, iid, near_orthogonal"),
        (["+experiment=mocap", "--cfg", "job"], "readout:"),
        (["features.count=-1"], "error: features.count=-1 must be greater than 0"),
        (["featrues.count=5"], "error: featrues is not a setting"),
        (["refine.epoch=3"], "error: refine.epoch is not a setting"),
        (["sampler=orthogonl"], "error: sampler=orthogonl is unknown"),
    ],
)
def test_a_list_and_a_refusal_import_nothing_heavy(arguments: list[str], said: str, tmp_path: Path) -> None:
    with started(tmp_path, *arguments) as stream:
        text = stream.read()
    assert said in text
    assert "Traceback" not in text
    assert heavy(text) == set()


def test_the_first_stage_begins_before_the_store_and_the_figures_are_imported(tmp_path: Path) -> None:
    with started(tmp_path, "+experiment=mocap", "size=tiny") as stream:
        lines = []
        for line in stream:
            lines.append(line)
            if line.startswith("load …"):
                break
    text = "".join(lines)
    assert text.endswith("load …\n"), text[-2000:]
    assert "torch" in heavy(text)
    assert heavy(text).isdisjoint({"mlflow", "matplotlib", "sqlalchemy", "sklearn", "fastapi", "gpytorch", "optuna"})
    assert "scipy.stats" not in imported(text)


def test_help_lists_each_group_once_with_its_choices(run_pipeline) -> None:
    text = run_pipeline("--help").out
    root = checkout()
    assert root is not None
    for folder in sorted((root / "conf").iterdir()):
        choices = sorted(path.stem for path in folder.glob("*.yaml")) if folder.is_dir() else []
        if choices:
            assert re.findall(rf"^ *{folder.name}: (.*)$", text, re.M)[0] == ", ".join(choices)


def test_version_names_what_decides_a_run(run_pipeline) -> None:
    out = run_pipeline("--version").out
    assert out.startswith(f"orthogonal-psrnn {version('orthogonal-psrnn')} (Python 3.")
    assert f"torch {version('torch')}" in out
    assert len(out.splitlines()) == 1


@pytest.mark.parametrize(("typed", "kept"), [(None, True), ("false", False)])
def test_no_telemetry_unless_the_environment_asks_for_it(
    typed: str | None, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", typed or "")
    if typed is None:
        monkeypatch.delenv("MLFLOW_DISABLE_TELEMETRY")
    importlib.reload(pipeline)
    assert MLFLOW_DISABLE_TELEMETRY.get() is kept


def test_no_recipe_imports_the_store_or_the_figures_before_it_runs() -> None:
    """The export of a page, which needs no torch, is asked first."""
    code = (
        "import sys; import pipeline.export; "
        "print(*sorted({'torch', 'matplotlib'} & set(sys.modules)), 'then'); "
        "from pipeline.systems.registry import function, system; "
        "[function(system(name).entry) for name in ('psrnn', 'theory', 'trace', 'ssgp')]; "
        "print(*sorted({'mlflow', 'matplotlib', 'scipy.stats', 'sklearn', 'gpytorch', 'torch'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["then", "torch"]
