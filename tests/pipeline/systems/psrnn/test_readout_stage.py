"""The stage `readout`: what a run with it leaves, that its model forecasts alike wherever it is loaded, and models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd
import pytest
import torch
from mlflow.tracking import MlflowClient

from killing import stop_in
from models.baselines.autoregression import VAR
from models.baselines.echo_state import EchoState
from models.baselines.kalman import KalmanFilter
from models.baselines.networks import GRU, LSTM, MinGRU
from models.baselines.no_state import NoState
from models.baselines.persistence import LastValue
from models.baselines.seasonal_naive import Seasonal
from models.features.kernels import Gaussian
from models.features.samplers import Orthogonal
from models.forecasting.filtering import MaskedSequences
from models.forecasting.lag_shares import LagShares
from models.forecasting.readout_settings import ReadoutSettings
from models.forecasting.recurrent import trained_parameters
from models.psrnn.features import FeatureDraw
from models.psrnn.fit import Regression, fit
from models.runtime.seeding import generators_of
from pipeline.host.errors import PipelineError
from pipeline.systems.psrnn import readout_stage
from pipeline.systems.psrnn.config import PsrnnConfig, ReadoutConfig, check
from pipeline.systems.psrnn.first_model import one_step_mse
from pipeline.systems.psrnn.load import Parts
from pipeline.systems.psrnn.readout_stage import horizon_table, horizons_within, parameters_of, regress
from served_in_process import application, in_process
from small_problems import oscillation, small_problem

KERNEL = (
    "+experiment=mocap", "size=tiny", "data.source=stand_in", "threads=1", "readout=kernel", "readout.direct=5",
    "readout.traces=[4]", "evaluate.horizons=[1,5]", "evaluate.orders=[2]",
)  # fmt: skip
METHODS: dict[str, Any] = {
    "no_state": NoState(),
    "echo_state": EchoState(units=12),
    "lstm": LSTM(units=6),
    "gru": GRU(units=6),
    "min_gru": MinGRU(units=6),
    "kalman": KalmanFilter(blocks=[2], orders=[3]),
    "var": VAR(orders=[2]),
    "last_value": LastValue(),
    "seasonal_naive": Seasonal(season=16),
}


def readout(**changes: Any) -> ReadoutConfig:
    """lags 2, two traces, twelve frequencies and four horizons, but for the changes."""
    settings = ReadoutConfig(
        lags=2, ridges=[1e-3, 1.0], scale="none", grouped=True, count=12, traces=[4.0, 8.0], direct=4, whiten=0.5
    )
    for name, value in changes.items():
        setattr(settings, name, value)
    return settings


def parts() -> Parts:
    return Parts(oscillation(1), oscillation(2, sequences=2), oscillation(3, sequences=2), LagShares())


def model_of(name: str) -> Any:
    if name in METHODS:
        return METHODS[name].fit(small_problem(lags=2)).model
    drawn = FeatureDraw(count=5, window=2, kernel=Gaussian(), sampler=Orthogonal())
    regression = Regression(update="bayes", ridge=0.01, rank=20 if name == "psrnn_cp" else None)
    settings = ReadoutSettings(2, [1e-3, 1.0], "none")
    given = parts()
    return fit(
        given.train, given.validation, features=drawn, regression=regression, readout=settings,
        generators=generators_of(0),
    ).model  # fmt: skip


@pytest.mark.parametrize("name", ["psrnn", "psrnn_cp", *METHODS])
def test_every_model_takes_it_and_is_no_worse_on_validation(name: str) -> None:
    model, given = model_of(name), parts()
    before = one_step_mse(model, given.validation)
    found = regress(readout(), given, model, generators_of(0))
    assert one_step_mse(found.model, given.validation) < 1.02 * before
    assert [fit.horizon for fit in found.horizons] == [1, 2, 3, 4]
    state, lags, traces, features = found.model.group_sizes
    assert (lags, traces, features) == (4, 4, 24)
    assert (state == 0) == (name in ("no_state", "var", "last_value", "seasonal_naive"))
    assert set(found.horizons[0].ridges) == {"lags", "traces", "features", *(["state"] if state else [])}
    maps = 1 + sum(fit.direct for fit in found.horizons[1:])
    own = trained_parameters(model)
    assert parameters_of(found.model) == own + maps * 2 * (state + 4 + 4 + 24 + 1)


@pytest.mark.parametrize("changes", [{}, {"shared": True}, {"difference": True}, {"shared": True, "difference": True}])
def test_the_table_has_the_errors_of_the_same_rows_side_by_side(changes: dict[str, Any]) -> None:
    settings, given = readout(direct=3, **changes), parts()
    found = regress(settings, given, model_of("echo_state"), generators_of(0))
    table = horizon_table(found, given.validation, shared=settings.shared)
    values = given.validation.values  # 80 steps, of which forecasts are made before those from 2 to 77
    for horizon in (1, 3):
        ahead = values[:, 1 + horizon : 77 + horizon]
        errors = ((ahead - values[:, 1:77]).square().mean(), ahead.square().mean())
        np.testing.assert_allclose(table.loc[horizon - 1, ["last_value", "mean"]].to_numpy(float), errors, rtol=1e-9)
    assert table["iterated"].isna().all() == settings.shared
    assert (table["direct"] < table["last_value"]).all()


@pytest.mark.parametrize("name", ["kalman", "echo_state", "no_state"])
def test_lags_that_are_left_open_are_those_that_validation_chooses(name: str, capsys: pytest.CaptureFixture) -> None:
    """A model with lags of its own hands them on; for another one they are chosen without a state."""
    settings = readout(lags=None, choices=[1, 3], traces=[])
    found = regress(settings, parts(), model_of(name), generators_of(0))
    said = capsys.readouterr().out
    assert found.model.lags == (3 if name == "kalman" else 2)
    assert ("readout (no state): the last 3 observations" in said) == (name == "kalman")


def test_without_anything_to_take_features_of_they_are_left_out_and_said(capsys: pytest.CaptureFixture) -> None:
    model = EchoState(units=12).fit(small_problem(lags=0)).model
    settings = readout(lags=None, choices=[0], traces=[], difference=True)
    found = regress(settings, parts(), model, generators_of(0))
    said = "validation chose no lags, so readout.count and readout.difference are left out"
    assert said in capsys.readouterr().out
    assert found.model.group_sizes == (12, 0, 0, 0)
    with pytest.raises(ValueError, match="a readout needs inputs; give it lags, traces or a model with a state"):
        regress(readout(lags=0, count=0, traces=[]), parts(), model_of("last_value"), generators_of(0))


def test_what_the_readout_refuses_is_said_of_its_settings() -> None:
    given, generators = parts(), generators_of(0)
    said = r"^readout: no training and validation row of each feature has 70 rows before it; lower lags$"
    short = given._replace(validation=MaskedSequences(*(part[:, :70] for part in given.validation)))
    with pytest.raises(PipelineError, match=said):
        regress(readout(lags=70), short, model_of("last_value"), generators)
    said = "^readout: no row has all of its next 30 rows scored; lower direct, or give each of them a regression of its"
    often = torch.arange(given.validation.scored.shape[1])[None, :, None] % 20 < 19
    gaps = given._replace(validation=given.validation._replace(scored=given.validation.scored & often))
    with pytest.raises(PipelineError, match=said):
        regress(readout(direct=30, shared=True), gaps, model_of("echo_state"), generators)


def test_horizons_beyond_half_of_the_parts_are_iterated_and_said(capsys: pytest.CaptureFixture) -> None:
    assert horizons_within(readout(direct=40), parts()[:2]) == 40
    assert horizons_within(readout(direct=0), parts()[:2]) == 1
    assert capsys.readouterr().out == ""
    assert horizons_within(readout(direct=41), parts()[:2]) == 40
    assert "readout.direct=41: training and validation part are long enough for 40 steps" in capsys.readouterr().out


def test_features_of_nothing_are_refused_before_anything_is_loaded() -> None:
    settings = PsrnnConfig(readout=readout(lags=0, traces=[]))
    with pytest.raises(PipelineError, match=r"readout\.count=12: its features are of lags and traces, and there are"):
        check(settings)
    with pytest.raises(PipelineError, match=r"readout\.difference=true takes the last row from what is seen; give"):
        check(PsrnnConfig(readout=readout(lags=0, count=0, difference=True)))
    for allowed in ({"count": 0}, {"traces": [4.0]}, {"lags": None, "choices": [0, 4]}, {"lags": 3}):
        check(PsrnnConfig(readout=readout(**{"lags": 0, "traces": [], **allowed})))


@pytest.mark.parametrize(
    ("changes", "asked"),
    [({}, False), ({"bandwidth": 2.0, "whiten": 1.0}, False), ({"grouped": True}, True), ({"count": 4}, True),
     ({"traces": [4.0]}, True), ({"direct": 1}, True), ({"shared": True}, False), ({"difference": True}, True)],
)  # fmt: skip
def test_the_stage_runs_where_it_is_asked_for(changes: dict[str, Any], asked: bool) -> None:
    off = {"grouped": False, "shared": False, "difference": False, "count": 0, "traces": [], "direct": 0}
    assert readout(**{**off, **changes}).fitted_last == asked


def forecasts_of(logged: str, rows: np.ndarray, horizon: int) -> np.ndarray:
    model: Any = mlflow.pyfunc.load_model(logged)
    return model.predict(rows, params={"horizon": horizon}).drop(columns="sequence").to_numpy()


def test_a_run_leaves_errors_choices_and_a_model_that_forecasts_directly(
    run_pipeline, client: MlflowClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run_pipeline(*KERNEL)
    assert result.status == 0, result.err
    (run,) = client.search_runs([e.experiment_id for e in client.search_experiments()])
    assert "readout=kernel" in str(run.info.run_name)
    table = pd.read_csv(client.download_artifacts(run.info.run_id, "readout/horizons.csv", str(tmp_path)))
    assert table["horizon"].tolist() == [1, 2, 3, 4, 5]
    assert table.columns.tolist()[:6] == ["horizon", "direct", "iterated", "last_value", "mean", "used"]
    assert {f"ridge_{name}" for name in ("state", "lags", "traces", "features")} <= set(table.columns)
    drawn = {Path(each.path).stem for each in client.list_artifacts(run.info.run_id, "figures")}
    assert "readout" in drawn
    metrics, tags = run.data.metrics, run.data.tags
    assert float(tags["validation_mse"]) == metrics["readout/validation_mse"]
    assert metrics["readout/validation_mse"] != metrics["bptt/validation_mse"]
    assert metrics["readout/seconds"] > 0
    assert int(tags["readout.direct.used"]) == (table["used"] == "direct").sum()
    assert float(tags["readout.ridge.features"]) == pytest.approx(table["ridge_features"][0])
    assert "1 traces, 10 frequencies of these" in tags["mlflow.note.content"]

    mlflow.set_tracking_uri(client.tracking_uri)
    logged = f"runs:/{run.info.run_id}/model"
    loaded: Any = mlflow.pyfunc.load_model(logged)
    forecaster = loaded.unwrap_python_model().forecaster
    model, waves = forecaster.model, np.sin(np.arange(30)[:, np.newaxis] / 3 + np.arange(22))
    rows = waves * forecaster.scale.numpy() + forecaster.mean.numpy()
    model.direct[:] = True  # as it is where validation prefers it
    values, _ = forecaster.standardised(rows)
    with torch.no_grad():
        state = model.states_observed(model.initial_state(1), torch.cat([values, values[:1]]).unsqueeze(0))
        last = model.inputs(tuple(part[:, -1] for part in state))
        own = last @ model.weight[4].T + model.bias[4]
        expected = (own[0] * forecaster.scale + forecaster.mean).numpy()
    np.testing.assert_allclose(forecaster.forecast(rows, 5)[4], expected, rtol=1e-9)

    told = forecasts_of(logged, rows, 7)
    pd.DataFrame(rows, columns=list(forecaster.feature_names)).to_csv(tmp_path / "new.csv", index=False)
    asked = ("recipe=predict", f"model={logged}", f"data.path={tmp_path / 'new.csv'}", "horizon=7")
    said = run_pipeline(*asked, f"output={tmp_path / 'out.csv'}")
    assert said.status == 0, said.err
    written = pd.read_csv(tmp_path / "out.csv")[list(forecaster.feature_names)].to_numpy()
    np.testing.assert_allclose(written, told, rtol=1e-9)
    for kind in ("plain", "strict"):
        with monkeypatch.context() as patch:
            app = application(logged, kind, patch)
            status, answer = in_process(app, {"inputs": rows.tolist(), "params": {"horizon": 7}})
        assert status == 200, answer
        served = pd.DataFrame(answer["predictions"])[list(forecaster.feature_names)].to_numpy()
        np.testing.assert_allclose(served, told, rtol=1e-9)


@pytest.mark.slow
def test_killed_in_the_stage_and_after_it_a_run_ends_with_the_same_numbers(
    run_pipeline, client: MlflowClient, store: Path
) -> None:
    bare = (*KERNEL, "tracking.log_model=false", "tracking.detail=summary")
    places = ("pipeline.systems.psrnn.readout_stage:fit_grouped", "pipeline.systems.psrnn.evaluate:horizon_errors")
    resume: tuple[str, ...] = ()
    for place in places:
        stop_in(place, store, *bare, *resume)
        resume = ("resume=true",)
    (folder,) = (store / "checkpoints").iterdir()
    assert (folder / "readout.npz").exists()
    assert run_pipeline(*bare, "resume=true").status == 0
    assert run_pipeline(*bare).status == 0
    resumed, whole = (
        {name: value for name, value in run.data.metrics.items() if not name.endswith("/seconds")}
        for run in client.search_runs([e.experiment_id for e in client.search_experiments()])
    )
    assert resumed == whole


def test_a_checkpoint_of_another_readout_is_named(run_pipeline, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = (*KERNEL, "model=no_state", "tracking.log_model=false", "tracking.detail=summary")

    def stopped(*_: Any) -> None:
        raise PipelineError("stopped on purpose")

    with monkeypatch.context() as patch:
        patch.setattr("pipeline.systems.psrnn.evaluate.evaluate", stopped)
        assert "stopped on purpose" in run_pipeline(*bare).error
    (folder,) = (store / "checkpoints").iterdir()
    saved = readout_stage.checkpoint.load(folder / "readout.npz")
    readout_stage.checkpoint.save(folder / "readout.npz", {"weight": saved.tensors["weight"][:, :1]}, saved.values)
    assert "readout.npz is a checkpoint of another model" in run_pipeline(*bare, "resume=true").error


def test_a_multirun_tells_readouts_apart_in_its_table(run_pipeline, client: MlflowClient, tmp_path: Path) -> None:
    result = run_pipeline(
        "-m", "+experiment=mocap", "size=tiny", "data.source=stand_in", "threads=1", "model=no_state", "refine=none",
        "readout=skip,kernel", "evaluate.horizons=[1]", "evaluate.orders=[]", "tracking.log_model=false",
        "tracking.detail=summary",
    )  # fmt: skip
    assert result.status == 0, result.err
    runs = client.search_runs([e.experiment_id for e in client.search_experiments()])
    (parent,) = [run for run in runs if "jobs" in run.data.tags]
    jobs = pd.read_csv(client.download_artifacts(parent.info.run_id, "jobs.csv", str(tmp_path)))
    assert sorted(jobs["varied"]) == ["readout=kernel", "readout=skip"]
    assert set(jobs["arm"]) == {"no_state"}
    by_readout = jobs.set_index("varied")["parameters"]
    assert by_readout["readout=skip"] < by_readout["readout=kernel"]
    readout_runs = {run.data.tags["readout"]: run for run in runs if "readout" in run.data.tags}
    assert set(readout_runs) == {"skip", "kernel"}
    assert "readout.direct.used" in readout_runs["kernel"].data.tags
