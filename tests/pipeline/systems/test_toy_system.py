"""The guides of CONTRIBUTING.md to the letter: their files are written as they stand there, and run."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mlflow.artifacts import load_text
from mlflow.tracking import MlflowClient

from command_lines import Result, started
from warm_processes import code, ended, program, with_other_packages

ROOT = Path(__file__).resolve().parents[3]
FILE = re.compile(
    r"^`(?P<path>[\w/.]+\.(?:py|yaml))`[^\n]*\n(?:(?!```)[^\n]+\n)*\n```\w+\n(?P<text>.*?)^```$", re.M | re.S
)
LAST = '"forms", "patterns")\n'


def section(heading: str) -> str:
    """A section of CONTRIBUTING.md."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return text.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def write_files(heading: str, folder: Path) -> list[str]:
    """Write the files that a section shows; returns their paths."""
    found = {match["path"]: match["text"] for match in FILE.finditer(section(heading))}
    for path, text in found.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return sorted(found)


def environment(folder: Path, *path: Path) -> dict[str, str]:
    """The packages in `path`, and a store in the folder."""
    store = str(folder / "mlruns")
    return {"PYTHONPATH": os.pathsep.join(map(str, path)), "PIPELINE_MLRUNS": store, "OMP_NUM_THREADS": "1"}


def run_in(folder: Path, *arguments: str, path: Path) -> Result:
    """`python -m pipeline …` with the packages in `path`, in a warm process."""
    return ended(with_other_packages, program, *arguments, folder=folder, **environment(folder, path))


def started_in(folder: Path, *arguments: str, path: Path) -> Result:
    """The same, with Python started anew."""
    command = [sys.executable, "-m", "pipeline", *arguments]
    inherited = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}  # of another test
    names = {**inherited, **environment(folder, path)}
    return started(command, folder=folder, environment=names, seconds=200)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this project with the system of the guide: its own files, and one line in the list of systems."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("src", "conf"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    written = write_files("How to add a system", folder)
    assert written == [
        "conf/recipe/linear.yaml", "src/models/linear/regression.py", "src/pipeline/systems/linear/config.py",
        "src/pipeline/systems/linear/recipe.py", "src/pipeline/systems/linear/servable.py",
        "src/pipeline/systems/linear/served.py",
    ]  # fmt: skip
    for package in ("models/linear", "pipeline/systems/linear"):
        (folder / "src" / package / "__init__.py").touch()
    registry = folder / "src/pipeline/systems/registry.py"
    text = registry.read_text(encoding="utf-8")
    assert text.count(LAST) == 1
    registry.write_text(text.replace(LAST, LAST.replace(")", ', "linear")')), encoding="utf-8")
    return folder


STAND_IN = ("recipe=linear", "size=tiny", "data.source=stand_in")


def test_a_system_trains_and_is_tracked(toy: Path) -> None:
    shutil.rmtree(toy / "mlruns", ignore_errors=True)
    result = started_in(toy, *STAND_IN, path=toy / "src")
    assert result.status == 0, result.err
    assert "root mean squared error" in result.out
    refused = run_in(toy, *STAND_IN, "linear.learning_rate=0", "tracking=off", path=toy / "src")
    assert refused.err == "error: linear.learning_rate=0.0 must be greater than 0\n"
    other = run_in(toy, "recipe=linear", "data=mocap", "tracking=off", path=toy / "src")
    assert "data.mocap.load.load_mocap gives sequences; recipe=linear takes a table of points" in other.err


ASK = """
import sys
from argparse import Namespace

import pandas as pd

from pipeline.serving import application
from pipeline.tracking.model import load_model
from served_in_process import in_process

uri, rows = sys.argv[1], pd.read_csv(sys.argv[2])
app = application(Namespace(model=uri, threads=1, most_megabytes=1, most_rows=None))
status, answer = in_process(app, {"dataframe_split": rows.to_dict("split", index=False)})
assert status == 200, answer
pd.testing.assert_frame_equal(pd.DataFrame(answer["predictions"]), load_model(uri).predict(rows))
refused = in_process(app, {"dataframe_split": rows.drop(columns="length").to_dict("split", index=False)})
unknown = in_process(app, {"dataframe_split": rows.to_dict("split", index=False), "params": {"horizon": 3}})
print(refused[0], refused[1]["message"], unknown[0], unknown[1]["message"], sep="\\n")
load_model(uri).predict(rows).to_csv(sys.argv[3], index=False)
"""


def asked(toy: Path, uri: str, rows: Path, found: Path) -> Result:
    """What a server says of a logged model; its answer is written to `found`."""
    names = environment(toy, toy / "src", ROOT / "tests")
    return ended(with_other_packages, code, ASK, uri, str(rows), str(found), folder=toy, **names)


def test_jobs_of_a_system_are_compared_and_the_best_is_registered_and_served(toy: Path) -> None:
    shutil.rmtree(toy / "mlruns", ignore_errors=True)
    swept = ("-m", *STAND_IN, "linear.learning_rate=0.01,0.1", "seed=0,1", "tracking.register=mine")
    result = run_in(toy, *swept, path=toy / "src")
    assert result.status == 0, result.err
    client = MlflowClient(f"sqlite:///{toy / 'mlruns' / 'mlflow.db'}")
    found = client.search_runs([experiment.experiment_id for experiment in client.search_experiments()])
    (parent,) = [run for run in found if "mlflow.parentRunId" not in run.data.tags]
    assert (parent.info.status, len(found)) == ("FINISHED", 5)
    jobs = [run for run in found if run is not parent]
    assert all(0 < run.data.metrics["linear/test_rmse"] < 2 for run in jobs)
    best = min(jobs, key=lambda run: float(run.data.tags["validation_rmse"]))
    assert parent.data.tags["best.run"] == best.info.run_id
    assert parent.data.metrics["best/test_rmse"] == best.data.metrics["linear/test_rmse"]
    table = pd.read_csv(io.StringIO(load_text(f"{parent.info.artifact_uri}/by_arm_and_count.csv")))
    assert (table["arm"].tolist(), table["jobs"].tolist()) == ([0.01, 0.1], [2, 2])
    assert f"best on abalone: {best.info.run_name}, validation error" in result.out
    assert "registered: models:/mine/1" in result.out
    assert "recipe=predict" not in result.out
    version = client.get_model_version_by_alias("mine", "best")
    assert (version.run_id, version.tags["validation_rmse"]) == (best.info.run_id, best.data.tags["validation_rmse"])
    check_served(toy, Path(client.download_artifacts(best.info.run_id, "parameters", str(toy))))


def check_served(toy: Path, parameters: Path) -> None:
    """The registered model answers as the line that was saved, in the units of its data."""
    rows, found = parameters / "example.csv", toy / "answer.csv"
    said = asked(toy, "models:/mine@best", rows, found)
    assert said.status == 0, said.err
    assert said.out.startswith("400\n")
    assert "params.horizon is unknown; this model takes no params" in said.out
    with np.load(parameters / "line.npz") as line:
        expected = pd.read_csv(rows).to_numpy() @ line["weights"] + line["intercept"]
    rings = pd.read_csv(found)["rings"]
    np.testing.assert_allclose(rings, expected, rtol=1e-12)
    assert rings.between(1, 30).all()


def test_contracts_hold_for_a_system_that_they_were_not_told_of(toy: Path) -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    command = [linter, "--no-cache", "--no-logo"]
    names = {**os.environ, "PYTHONPATH": str(toy / "src"), "COLUMNS": "500"}
    result = subprocess.run(command, cwd=toy, env=names, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


def test_a_data_set_of_ones_own(tmp_path: Path) -> None:
    assert write_files("How to add a data set", tmp_path) == ["my_conf/data/pendulums.yaml", "pendulums.py"]
    command = re.search(r"^    PYTHONPATH=\. python -m pipeline (.*)$", section("How to add a data set"), re.M)
    assert command is not None
    result = run_in(tmp_path, *command[1].replace("'", "").split(), "refine=none", path=tmp_path)
    assert result.status == 0, result.err
    assert "run: pendulums-orthogonal-gaussian-m10" in result.out
