"""Every experiment, tiny, from the command line to the store."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest

from logged import only_run
from pipeline.host.paths import conf_folder

FILES = sorted((conf_folder() / "experiment").glob("*.yaml"))
SWEEPS = {path.stem for path in FILES if "MULTIRUN" in path.read_text()} | {"search"}
OTHER_RECIPES = {
    path.stem for path in FILES if re.search(r"override /recipe|^  - tune$", path.read_text(encoding="utf-8"), re.M)
}
EXPERIMENTS = [path.stem for path in FILES if path.stem not in SWEEPS | OTHER_RECIPES]
FIGURES = ("bptt", "forecast", "horizons", "prediction", "radii")
ARTIFACTS = {
    "config.yaml", "curves/bptt.csv", "curves/horizons.csv", "evaluate/by_feature.csv", "evaluate/by_sequence.csv",
    "evaluate/intervals.csv", "evaluate/test_predictions.csv", "features/bandwidths.csv",
    "features/frequencies_history.csv", "features/frequencies_future.csv", "features/frequencies_observation.csv",
    "parameters/parameters.npz",
    *(f"figures/{name}.{kind}" for name in FIGURES for kind in ("png", "svg")),
}  # fmt: skip


def test_there_are_experiments() -> None:
    assert "mocap" in EXPERIMENTS
    folder = Path(__file__).parents[1]
    tested = "".join(
        (folder / path).read_text()
        for path in (
            "multirun/test_sweeps.py",
            "systems/ssgp/test_multirun.py",
            "systems/psrnn/test_windows_runs.py",
            "systems/documents/test_experiments.py",
            "systems/forms/test_reading.py",
            "systems/forms/test_recipe.py",
            "systems/forms/test_recognition.py",
            "systems/experts/test_experiments.py",
            "systems/mctn/test_experiments.py",
        )
    )
    assert len(SWEEPS) >= 5
    run = {name for name in SWEEPS if f"+experiment={name}" in tested or f'"{name}"' in tested}
    assert set(SWEEPS) - run == set()


def artifacts(client, run_id: str, folder: str = "") -> set[str]:
    found = set()
    for item in client.list_artifacts(run_id, folder):
        found |= artifacts(client, run_id, item.path) if item.is_dir else {item.path}
    return found


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_experiment_runs_tiny_and_leaves_what_is_documented(experiment, run_pipeline, client, store) -> None:
    with pytest.warns(UserWarning, match="stand-in"):
        result = run_pipeline(f"+experiment={experiment}", "size=tiny")
    assert result.status == 0, result.err
    run = only_run(client)
    assert run.info.status == "FINISHED"
    assert run.info.run_name.startswith(f"STAND-IN-{experiment}-")
    metrics, tags, parameters = run.data.metrics, run.data.tags, run.data.params
    wanted = {
        "two_stage/train_mse", "two_stage/test_mse", "evaluate/test_mse", "evaluate/test_mse_persistence",
        "evaluate/test_mse_ar2", "evaluate/test_mse_ar4",
        *(f"evaluate/test_mse_horizon_{h}" for h in (1, 2, 5, 10, 20)),
        *(f"{stage}/seconds" for stage in ("load", "features", "two_stage", "bptt", "evaluate")),
    }  # fmt: skip
    assert wanted <= set(metrics)
    assert all(0 < metrics[f"evaluate/coverage_90{suffix}"] <= 1 for suffix in ("", "_horizon_5", "_horizon_20"))
    for part in ("train", "validation", "test"):
        history = client.get_metric_history(run.info.run_id, f"bptt/{part}_mse")
        assert sorted(m.step for m in history) == list(range(len(history)))
        assert len(history) == 3
    assert parameters["features.count"] == "10"
    assert parameters["refine.epochs"] == "2"
    assert tags["data.source"] == "stand-in"
    assert {"git.commit", "data.checksum", "hydra.overrides", "fingerprint", "stability", "device"} <= set(tags)
    assert "STAND-IN" in tags["mlflow.note.content"]
    assert "last value" in tags["mlflow.note.content"]
    assert artifacts(client, run.info.run_id) >= ARTIFACTS
    assert run.inputs.dataset_inputs[0].dataset.digest == tags["data.checksum"][:36]
    assert not list((store / "checkpoints").iterdir())
    assert f"runs:/{run.info.run_id}/model" in result.out


@pytest.fixture
def trained(run_pipeline, client):
    """A finished tiny run, its predictions on the test set and its model."""
    result = run_pipeline("+experiment=mocap", "size=tiny", "data.source=stand_in", "refine=none")
    assert result.status == 0, result.err
    run = only_run(client)
    text = mlflow.artifacts.load_text(f"{run.info.artifact_uri}/evaluate/test_predictions.csv")
    return run, pd.read_csv(io.StringIO(text)), f"runs:/{run.info.run_id}/model"


def test_logged_model_predicts_as_the_run_did(trained, store: Path, tmp_path: Path) -> None:
    run, table, uri = trained
    model = mlflow.pyfunc.load_model(uri)
    names = model.metadata.metadata["columns"]
    assert len(names) == 22
    expected = table[[f"{name}_predicted" for name in names]].to_numpy()
    found = model.predict(table[[*names, "sequence"]])
    np.testing.assert_allclose(found[names].to_numpy(), expected, rtol=1e-9)
    first = table[table["sequence"] == table["sequence"][0]][names].to_numpy()
    for array in (first, first[None]):
        np.testing.assert_allclose(model.predict(array)[names].to_numpy(), expected[: len(first)], rtol=1e-9)
    forecast = model.predict(table[[*names, "sequence"]], params={"horizon": 5})
    assert len(forecast) == 5 * table["sequence"].nunique()
    with pytest.raises(ValueError, match=f"column {names[0]} is missing; the model needs"):
        model.predict(table[names[1:]])
    with pytest.raises(ValueError, match="horizon must be 0"):
        model.predict(first, params={"horizon": -1})
    table[[*names, "sequence"]].to_csv(tmp_path / "in.csv", index=False)
    check_without_source(store, run.info.run_id, tmp_path, expected)


def check_without_source(store: Path, run_id: str, folder: Path, expected: np.ndarray) -> None:
    """Load and predict in a process that cannot see this project's source."""
    code = f"""
import sys
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__ + str(finder)]
sys.path = [p for p in sys.path if not p.rstrip("/").endswith("/src")]
import importlib.util
assert importlib.util.find_spec("models") is None
import mlflow, pandas as pd
mlflow.set_tracking_uri("sqlite:///{store / "mlflow.db"}")
model = mlflow.pyfunc.load_model("runs:/{run_id}/model")
model.predict(pd.read_csv("in.csv")).to_csv("out.csv", index=False)
"""
    subprocess.run([sys.executable, "-I", "-c", code], cwd=folder, check=True, timeout=120)
    found = pd.read_csv(folder / "out.csv").drop(columns="sequence").to_numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_predict_recipe(trained, run_pipeline, tmp_path: Path) -> None:
    _, table, uri = trained
    names = [name for name in table.columns if name not in ("sequence", "time") and not name.endswith("_predicted")]
    new = tmp_path / "new.csv"
    hours = pd.Timestamp("2024-01-01") + pd.to_timedelta(table["time"], unit="h")
    table[[*names, "sequence"]].rename(columns={"sequence": "who"}).assign(hour=hours).to_csv(new, index=False)
    output = tmp_path / "out.csv"
    result = run_pipeline("recipe=predict", f"model={uri}", f"data.path={new}", "data.group=who", f"output={output}")
    assert result.status == 0, result.err
    found = pd.read_csv(output)
    expected = table[[f"{name}_predicted" for name in names]].to_numpy()
    np.testing.assert_allclose(found[names].to_numpy(), expected, rtol=1e-9)
    assert found["sequence"].tolist() == table["sequence"].tolist()
    base = ("recipe=predict", f"data.path={new}", f"output={output}")
    assert run_pipeline(*base, f"model={uri}", "horizon=3", "data.group=who", "data.time=hour").status == 0
    ahead = pd.read_csv(output, parse_dates=["hour"])
    assert list(ahead.columns) == ["sequence", "step", "hour", *names]
    assert ahead["step"].tolist() == [1, 2, 3] * table["sequence"].nunique()
    last = ahead["sequence"].map(hours.groupby(table["sequence"]).max())
    assert (ahead["hour"] - last == pd.to_timedelta(ahead["step"], unit="h")).all()
    assert run_pipeline(*base, f"model={uri}", "horizon=3", "interval=0.8", "data.group=who").status == 0
    bounded = pd.read_csv(output)
    low, high = (bounded[[f"{name}_{end}" for name in names]].to_numpy() for end in ("lower", "upper"))
    np.testing.assert_allclose((low + high) / 2, bounded[names].to_numpy(), rtol=1e-6, atol=1e-9)
    assert (high - low > 0).all()
    refused = run_pipeline(*base, f"model={uri}", "horizon=99", "interval=0.8", "data.group=who").error
    assert "intervals are known for 20 steps ahead, 99 were asked for" in refused
    assert "settings 'evaluate.horizons=[1,20,99]' and data.validation of the run that trains it" in refused
    assert "interval=80.0 must be at least 0 and below 1" in run_pipeline(*base, f"model={uri}", "interval=80").error
    output.unlink()
    assert "cannot be loaded" in run_pipeline(*base, "model=runs:/0123456789abcdef/model").error
    assert "cannot be loaded" in run_pipeline(*base, f"model={tmp_path}").error
    assert "no such file" in run_pipeline(*base, f"model={uri}", f"data.path={tmp_path}/none.csv").error
    table[names[1:]].to_csv(new, index=False)
    assert f"no column '{names[0]}'" in run_pipeline(*base, f"model={uri}").error
    assert not output.exists()
    table[names].to_csv(new, index=False)
    bad = tmp_path / "no-folder" / "out.csv"
    assert (
        f"the folder {bad.parent} is not there; make it" in run_pipeline(*base, f"model={uri}", f"output={bad}").error
    )
    foreign = foreign_model(tmp_path)
    assert "is not a model of this project" in run_pipeline(*base, f"model={foreign}").error


def foreign_model(folder: Path) -> str:
    """An MLflow model that some other project could have logged."""
    code = folder / "foreign.py"
    code.write_text(
        "import mlflow\n\n\nclass Other(mlflow.pyfunc.PythonModel):\n    _skip_type_hint_validation = True\n\n"
        "    def predict(self, context, model_input, params=None):\n        return model_input\n\n\n"
        "mlflow.models.set_model(Other())\n"
    )
    path = folder / "foreign-model"
    mlflow.pyfunc.save_model(path, python_model=str(code), pip_requirements=["mlflow"])
    return str(path)
