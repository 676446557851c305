"""`refit=true`: the logged model is solved again on the rows of all parts; all else is as without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd
import pytest
from mlflow.tracking import MlflowClient

from killing import stop_in
from pipeline.systems.psrnn.refit import SAID
from served_in_process import application, in_process

LAGS = 2
FEW = (
    "data=table",
    "evaluate.horizons=[1,3]",
    "evaluate.orders=[]",
    "evaluate.season=0",
    "threads=1",
    "tracking.detail=summary",
)
ALONE = ("model=no_state", "readout=skip", f"readout.lags={LAGS}", "readout.ridges=[1.0]", "readout.state_ridges=null")
SMALL = ("features.count=4", "readout=skip")
COLUMNS = ["load", "flow"]


def series(seed: int, *, rows: int = 100) -> np.ndarray:
    """Two waves (rows, 2), of which the second follows the first otherwise in the last third."""
    rng = np.random.default_rng(seed)
    wave = np.sin(np.arange(rows) / 3) + 0.3 * rng.normal(size=rows)
    flow = np.where(np.arange(rows) < 0.7 * rows, 1.0, -1.0) * np.roll(wave, 1) + 0.1 * rng.normal(size=rows)
    return np.stack([3 * wave + 10, flow], 1)


def written(folder: Path, several: list[np.ndarray]) -> Path:
    tables = [pd.DataFrame(own, columns=COLUMNS).assign(trial=f"t{i}") for i, own in enumerate(several)]
    path = folder / "table.csv"
    pd.concat(tables).to_csv(path, index=False)
    return path


def runs_of(client: MlflowClient, refit: str = "True") -> list[Any]:
    found = client.search_runs([e.experiment_id for e in client.search_experiments()])
    return [run for run in found if run.data.params.get("refit") == refit]


def logged(client: MlflowClient, run: Any) -> Any:
    mlflow.set_tracking_uri(client.tracking_uri)
    return mlflow.pyfunc.load_model(f"runs:/{run.info.run_id}/model")


def forecaster_in(client: MlflowClient, run: Any) -> Any:
    return logged(client, run).unwrap_python_model().forecaster


def off_and_on(run_pipeline: Any, client: MlflowClient, *settings: str) -> tuple[Any, Any]:
    """The runs of these settings without and with `refit=true`, whose last line but for the address is `SAID`."""
    for refit in ("false", "true"):
        result = run_pipeline(*FEW, *settings, f"refit={refit}")
        assert result.status == 0, result.err
        assert result.out.count(SAID) == (refit == "true")
    (off,), (on,) = (runs_of(client, refit) for refit in ("False", "True"))
    return off, on


def numbers_of(run: Any) -> dict[str, float]:
    return {name: value for name, value in run.data.metrics.items() if not name.endswith("/seconds")}


def ridge_of(series: list[np.ndarray], filled: list[np.ndarray], ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns weight (d, 2 d) and bias (d,) of the ridge regression of each observed row from the two before it."""
    seen = np.concatenate([np.hstack([own[LAGS - 2 : -2], own[LAGS - 1 : -1]]) for own in filled])
    target, weight, bias = np.concatenate([own[LAGS:] for own in series]), [], []
    for own in target.T:
        x, y = seen[~np.isnan(own)], own[~np.isnan(own)]
        centred = x - x.mean(0)
        weight.append(np.linalg.solve(centred.T @ centred + ridge * np.eye(x.shape[1]), centred.T @ (y - y.mean())))
        bias.append(y.mean() - weight[-1] @ x.mean(0))
    return np.array(weight), np.array(bias)


def gaps_filled(series: list[np.ndarray], weight: np.ndarray, bias: np.ndarray) -> list[np.ndarray]:
    """Returns the series with predictions from the two rows before in the gaps."""
    filled = [own.copy() for own in series]
    for own in filled:
        for row in range(LAGS, len(own)):
            own[row] = np.where(np.isnan(own[row]), weight @ own[row - 2 : row].ravel() + bias, own[row])
    return filled


@pytest.mark.parametrize(
    ("split", "trials", "gaps"),
    [("time", 1, True), ("time", 2, False), ("fraction", 5, True), ("group", 5, False)],
)
def test_the_logged_model_is_the_ridge_regression_of_all_rows(
    split: str, trials: int, gaps: bool, run_pipeline: Any, client: MlflowClient, tmp_path: Path
) -> None:
    several = [series(i) for i in range(trials)]
    for own in several if gaps else []:
        own[45:49] = np.nan  # behind the rows at which a start-up stands in
        own[85:88, 0] = np.nan
    path = written(tmp_path, several)
    first = ("evaluate.first_step=2", f"data.split={split}", f"data.path={path}", "data.group=trial")
    off, on = off_and_on(run_pipeline, client, *first, *ALONE)
    before, after = (forecaster_in(client, run) for run in (off, on))
    mean, scale = (part.numpy() for part in after.units)
    standardised = [(own - mean) / scale for own in several]
    ridge = float(on.data.tags["readout.ridge"])
    weight, bias = (part.detach().numpy() for part in before.model.readout_parameters)
    assert abs(weight - after.model.readout_weight.detach().numpy()).max() > 1e-2
    filled = standardised
    for _ in range(2):
        filled = gaps_filled(standardised, weight, bias)
        weight, bias = ridge_of(standardised, filled, ridge)
    last = filled[0][-2:].ravel()
    expected = (weight @ last + bias) * scale + mean
    np.testing.assert_allclose(after.forecast(several[0], 1)[0], expected, rtol=1e-6)
    np.testing.assert_allclose(after.model.readout_weight.detach().numpy(), weight, rtol=1e-6, atol=1e-6)
    assert numbers_of(on) == numbers_of(off)


@pytest.mark.parametrize(
    "settings",
    [
        ("model=var", "model.orders=[2]"),
        ("model=kalman", "model.blocks=[2]", "model.orders=[2]"),
        ("model=gru", "model.units=3", "refine.epochs=1", "readout=auto"),
        ("model=psrnn_cp", "model.rank=4", *SMALL, "members=2"),
        ("model=last_value", "readout=kernel", "readout.count=5", "readout.direct=2", "readout.difference=true"),
    ],
    ids=lambda settings: settings[0].partition("=")[2],
)
@pytest.mark.filterwarnings("ignore:this model is no better")
def test_every_model_learns_and_its_errors_and_intervals_stay(
    settings: tuple[str, ...], run_pipeline: Any, client: MlflowClient, tmp_path: Path
) -> None:
    rows = series(0)
    off, on = off_and_on(run_pipeline, client, f"data.path={written(tmp_path, [rows])}", "data.group=trial", *settings)
    before, after = (forecaster_in(client, run) for run in (off, on))
    assert abs(after.forecast(rows, 3) - before.forecast(rows, 3)).max() > 1e-2
    assert numbers_of(on) == numbers_of(off)
    np.testing.assert_array_equal(after.intervals.radii, before.intervals.radii)
    assert {name: own for name, own in on.data.tags.items() if name.startswith("readout")} == {
        name: own for name, own in off.data.tags.items() if name.startswith("readout")
    }


@pytest.mark.filterwarnings("ignore:this model is no better")
def test_a_refitted_direct_readout_is_said_predicts_and_is_served(
    run_pipeline: Any, client: MlflowClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, [series(0, rows=600)])
    direct = ("features.count=4", "readout=kernel", "readout.count=5", "readout.direct=3", "tracking.detail=full")
    off, on = off_and_on(run_pipeline, client, f"data.path={path}", "data.group=trial", *direct)
    assert on.data.tags["refit"] == SAID
    assert "refit" not in off.data.tags
    assert SAID in on.data.tags["mlflow.note.content"]
    kept = [
        {Path(each.path).name for each in client.list_artifacts(run.info.run_id, "parameters")} for run in (off, on)
    ]
    assert kept[1] - kept[0] == {"refit.json"}
    models = [logged(client, run) for run in (off, on)]
    assert models[1].metadata.metadata == {**models[0].metadata.metadata, "refit": SAID}
    for table in ("evaluate/by_feature.csv", "evaluate/intervals.csv", "readout/horizons.csv"):
        texts = [Path(client.download_artifacts(run.info.run_id, table)).read_bytes() for run in (off, on)]
        assert texts[0] == texts[1], table
    told = models[1].predict(pd.read_csv(path), params={"horizon": 3})[COLUMNS].to_numpy()
    assert abs(told - models[0].predict(pd.read_csv(path), params={"horizon": 3})[COLUMNS].to_numpy()).max() > 1e-2
    uri, output = f"runs:/{on.info.run_id}/model", tmp_path / "out.csv"
    result = run_pipeline("recipe=predict", f"model={uri}", f"data.path={path}", "horizon=3", f"output={output}")
    assert result.status == 0, result.err
    np.testing.assert_allclose(pd.read_csv(output)[COLUMNS].to_numpy(), told, rtol=1e-9)
    rows = {"columns": COLUMNS, "data": series(0, rows=600).tolist()}
    with monkeypatch.context() as patch:
        status, answer = in_process(
            application(uri, "strict", patch), {"dataframe_split": rows, "params": {"horizon": 3}}
        )
    assert status == 200, answer
    np.testing.assert_allclose(pd.DataFrame(answer["predictions"])[COLUMNS].to_numpy(), told, rtol=1e-9)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (("model=last_value",), "refit=true: model=last_value has nothing to solve again; leave out refit, or take"),
        (("model=seasonal_naive",), "refit=true: model=seasonal_naive has nothing to solve again; leave out refit"),
        (
            ("model=lstm", "refine.solve_readout=false"),
            "refit=true solves the readout again, which refine.solve_readout",
        ),
        (("tracking=off",), "refit=true changes the logged model alone, and none is logged; leave out refit, or"),
        (
            ("tracking.log_model=false",),
            "refit=true changes the logged model alone, and none is logged; leave out refit",
        ),
    ],
    ids=["last_value", "seasonal_naive", "gradient", "off", "not logged"],
)
def test_what_cannot_be_refitted_is_refused_before_a_run_begins(
    settings: tuple[str, ...], said: str, run_pipeline: Any, client: MlflowClient, tmp_path: Path
) -> None:
    path = written(tmp_path, [series(0)])
    result = run_pipeline("data=table", f"data.path={path}", "refit=true", *settings)
    assert result.error.startswith(f"error: {said}")
    assert not runs_of(client)


@pytest.mark.filterwarnings("ignore:this model is no better")
def test_the_best_of_a_multirun_is_kept_refitted(run_pipeline: Any, client: MlflowClient, tmp_path: Path) -> None:
    path = written(tmp_path, [series(0, rows=600)])
    settings = (f"data.path={path}", "data.group=trial", *ALONE[:2], *ALONE[3:], "readout.lags=1,2")
    result = run_pipeline("-m", *FEW, *settings, "refit=true", "tracking.register=waves")
    assert result.status == 0, result.err
    assert result.out.count(SAID) == 2
    jobs = [run for run in runs_of(client) if run.data.tags.get("refit") == SAID]
    assert len(jobs) == 2
    best = min(jobs, key=lambda run: float(run.data.tags["validation_mse"]))
    mlflow.set_tracking_uri(client.tracking_uri)
    kept: Any = mlflow.pyfunc.load_model("models:/waves/1")
    assert kept.metadata.metadata["refit"] == SAID
    alone = run_pipeline(*FEW, *settings[:-1], f"readout.lags={best.data.params['readout.lags']}", "refit=true")
    assert alone.status == 0, alone.err
    (single,) = [run for run in runs_of(client) if run.info.run_id not in [job.info.run_id for job in jobs]]
    rows = pd.read_csv(path)[COLUMNS]
    pd.testing.assert_frame_equal(
        kept.predict(rows, params={"horizon": 3}), logged(client, single).predict(rows, params={"horizon": 3})
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:this model is no better")
def test_killed_before_it_is_logged_a_run_logs_the_same_model(
    run_pipeline: Any, client: MlflowClient, store: Path, tmp_path: Path
) -> None:
    rows = series(0)
    told = (*FEW, f"data.path={written(tmp_path, [rows])}", "data.group=trial", *SMALL, "refit=true")
    stop_in("pipeline.systems.psrnn.recipe:close", store, *told)
    for resume in ("auto", "false"):
        assert run_pipeline(*told, f"resume={resume}").status == 0
    resumed, whole = (forecaster_in(client, run) for run in runs_of(client))
    np.testing.assert_array_equal(resumed.forecast(rows, 3), whole.forecast(rows, 3))
