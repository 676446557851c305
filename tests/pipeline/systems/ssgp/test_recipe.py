"""`recipe=ssgp`, tiny, from the command line to the store, a file of predictions and a served answer."""

from __future__ import annotations

from importlib.util import find_spec

import mlflow
import numpy as np
import pandas as pd
import pytest

from data.files.exact_numbers import EXACT
from full_disk import SAID, full_disk_at, stopped_and_resumed
from logged import only_run, table
from models.ssgp.model import SSGP
from models.ssgp.predictor import load_predictor
from pipeline.systems.ssgp import inputs as inputs_module
from pipeline.systems.ssgp.served import as_table
from served_in_process import application, in_process

OWN = ("recipe=ssgp", "size=tiny", "data.source=stand_in")

needs_gpytorch = pytest.mark.skipif(
    find_spec("gpytorch") is None, reason="GPyTorch is not installed: pip install -e '.[gp]'"
)


def artifacts(client, run, folder: str) -> set[str]:
    return {item.path.removeprefix(f"{folder}/") for item in client.list_artifacts(run.info.run_id, folder)}


def houses(path) -> pd.DataFrame:
    rows = pd.DataFrame({"rooms": range(60), "price": [i**0.5 for i in range(60)]})
    rows.to_csv(path, index=False)
    return rows


def test_a_tiny_run_leaves_curve_scores_figures_and_a_model(run_pipeline, client) -> None:
    result = run_pipeline(*OWN, "sampler=iid")
    assert result.status == 0, result.err
    run = only_run(client)
    assert (run.info.status, run.info.run_name) == ("FINISHED", "STAND-IN-ssgp-abalone-ssgp-iid-m10-seed0")
    assert {name: run.data.tags[name] for name in ("arm", "model", "sampler", "kernel", "target")} == {
        "arm": "ssgp/iid", "model": "ssgp", "sampler": "iid", "kernel": "gaussian", "target": "rings",
    }  # fmt: skip
    curve = table(run, "curves/curve.csv")
    assert curve["iteration"].tolist() == [0, 2]
    history = client.get_metric_history(run.info.run_id, "fit/validation_nlpd")
    assert [(point.step, point.value) for point in history] == list(zip([0, 2], curve["validation_nlpd"], strict=True))
    best = curve.loc[curve["validation_nlpd"].idxmin()]
    assert run.data.metrics["evaluate/test_rmse"] == best["test_rmse"]
    assert float(run.data.tags["validation_rmse"]) == best["validation_rmse"]
    assert run.data.tags["measured"] == "100 validation rows"
    predicted = table(run, "evaluate/test_predictions.csv")
    away = predicted["target"] - predicted["mean"]
    assert np.sqrt((away**2).mean()) == pytest.approx(best["test_rmse"])
    assert run.data.metrics["evaluate/coverage_95"] == pytest.approx(
        (away.abs() <= 1.959964 * predicted["standard_deviation"]).mean()
    )
    calibration = table(run, "evaluate/calibration.csv")
    assert calibration["reached"].is_monotonic_increasing
    assert set(table(run, "evaluate/along_inputs.csv")["input"]) >= {"length", "shell"}
    figures = {
        f"{name}.{ending}" for name in ("training", "calibration", "targets", "inputs") for ending in ("png", "svg")
    }
    assert artifacts(client, run, "figures") == figures
    assert {"predictor.json", "predictor.npz", "example.csv"} == artifacts(client, run, "parameters")


def test_a_table_of_ones_own_is_learned_registered_and_predicted(run_pipeline, client, tmp_path, monkeypatch) -> None:
    rows = houses(tmp_path / "houses.csv")
    asked = ("recipe=ssgp", "data=points", f"data.path={tmp_path / 'houses.csv'}", "data.target=price")
    result = run_pipeline(
        *asked, "ssgp.iterations=20", "features.count=20", "tracking.register=houses", "data.decimal=point"
    )
    assert result.status == 0, result.err
    assert (
        "predict: python -m pipeline recipe=predict model=models:/houses/1 data.path=new.csv data.decimal=point"
        in result.out
    )
    run = only_run(client)
    assert run.info.run_name == "ssgp-houses-ssgp-orthogonal-m20-seed0"
    assert run.data.metrics["evaluate/test_rmse"] < 0.2 < run.data.metrics["evaluate/test_rmse_mean"]
    version = client.get_model_version_by_alias("houses", "best")
    assert float(version.tags["evaluate/test_rmse"]) == run.data.metrics["evaluate/test_rmse"]

    monkeypatch.chdir(tmp_path)
    new = pd.DataFrame({"price": [None] * 3, "rooms": [4.0, None, 9.0]})
    new.to_csv("new.csv", index=False)
    ask = ("recipe=predict", "model=models:/houses@best", "data.path=new.csv")
    result = run_pipeline(*ask, "interval=0.9")
    assert result.status == 0, result.err
    assert "mean and standard deviation of price for 3 rows (1 with an empty cell have none)" in result.out
    found = pd.read_csv("new-predictions-houses-best.csv", **EXACT)
    mean, deviation = load_predictor(
        mlflow.artifacts.download_artifacts(f"{run.info.artifact_uri}/parameters")
    ).predict(new[["rooms"]].dropna())
    assert list(found) == ["data_row", "mean", "standard_deviation", "lower", "upper"]
    assert found["data_row"].tolist() == [1, 2, 3]
    kept = found.dropna()
    assert kept.index.tolist() == [0, 2]
    assert kept["mean"].to_numpy() == pytest.approx(mean)
    assert kept["standard_deviation"].to_numpy() == pytest.approx(deviation)
    assert (kept["upper"] - kept["lower"]).to_numpy() == pytest.approx(2 * 1.644854 * deviation)
    assert mean[0] == pytest.approx(rows["price"][4], abs=0.3)
    for asked in ("horizon=3", "beam=2"):
        said = f"{asked}: this model predicts each row by itself and no sequences; leave it out"
        assert said in run_pipeline(*ask, asked).error
    (tmp_path / "link.csv").symlink_to("new.csv")
    before = (tmp_path / "new.csv").read_bytes()
    for name in ("new.csv", "link.csv"):
        assert f"output={name} is the file that is read" in run_pipeline(*ask, f"output={name}").error
    assert (tmp_path / "new.csv").read_bytes() == before
    absent = run_pipeline("recipe=predict", "model=models:/houses@best", f"data.path={__file__}").error
    assert "unknown kind of file" in absent


@pytest.mark.parametrize("varying", [0.0, 1e-13])  # by rounding alone
def test_a_constant_target_is_refused(varying: float, run_pipeline, tmp_path) -> None:
    table = houses(tmp_path / "houses.csv")
    prices = 3.0 + varying * (np.arange(len(table)) % 2)
    table.assign(price=prices).to_csv(tmp_path / "flat.csv", index=False)
    asked = ("recipe=ssgp", "data=points", f"data.path={tmp_path / 'flat.csv'}", "data.target=price", "tracking=off")
    assert "price is constant in the training rows, so that there is nothing" in run_pipeline(*asked).error


@pytest.mark.parametrize("row", [slice(None), 7], ids=["all rows", "one row"])
def test_values_that_are_too_large_are_refused_before_a_fit(row, run_pipeline, tmp_path) -> None:
    table = houses(tmp_path / "houses.csv").astype(float)
    table.loc[row, "rooms"] *= 1e200
    table.to_csv(tmp_path / "large.csv", index=False)
    asked = ("recipe=ssgp", "data=points", f"data.path={tmp_path / 'large.csv'}", "data.target=price", "tracking=off")
    result = run_pipeline(*asked)
    assert "large: a column has values that are too large for double precision" in result.error
    assert "fit …" not in result.out


def test_what_the_served_model_answers(run_pipeline, client, tmp_path, monkeypatch) -> None:
    houses(tmp_path / "houses.csv")
    asked = ("recipe=ssgp", "size=tiny", "data=points", f"data.path={tmp_path / 'houses.csv'}", "data.target=price")
    assert run_pipeline(*asked).status == 0
    uri = f"runs:/{only_run(client).info.run_id}/model"
    model = mlflow.pyfunc.load_model(uri)
    assert model.metadata.metadata["columns"] == ["rooms"]
    named = model.predict(pd.DataFrame({"other": [1, 2], "rooms": [4, 9]}))
    assert list(named) == ["mean", "standard_deviation"]
    for unnamed in (np.array([[4.0], [9.0]]), pd.DataFrame([[4.0], [9.0]])):
        assert model.predict(unnamed).to_numpy() == pytest.approx(named.to_numpy())
    app = application(uri, "strict", monkeypatch)
    status, answer = in_process(app, {"dataframe_split": {"columns": ["rooms"], "data": [[4], [9]]}})
    assert status == 200
    assert pd.DataFrame(answer["predictions"]).to_numpy() == pytest.approx(named.to_numpy())
    for body, reason in (
        ({"dataframe_records": [{"room": 4, "age": 2}]}, "column rooms is missing; the model needs rooms"),
        ({"dataframe_records": [{"room": 4}]}, "column rooms is missing; the model needs rooms"),
        ({"dataframe_split": {"columns": ["rooms"], "data": [[None]]}}, "row 0, column rooms: not a finite number"),
        ({"dataframe_split": {"columns": ["rooms"], "data": [["red"]]}}, "column rooms, row 0: 'red' is not a number"),
        ({"dataframe_split": {"columns": ["rooms"], "data": [[4], ["4"]]}}, "column rooms, row 1: '4' is not a number"),
        ({"dataframe_records": [{"rooms": True}]}, "column rooms, row 0: True is not a number; leave the row out"),
        ({"inputs": [[4], [True]]}, "inputs[1][0]: true is not a number; leave the row out"),
        ({"instances": [["4"]]}, 'instances[0][0]: "4" is not a number; leave the row out'),
        ({"inputs": [[[4]]]}, "inputs[0] is nested too deep; an array has at most (row, input)"),
        ({"inputs": [[1.0, 2.0]]}, "expected (row, 1) inputs rooms"),
        ({"inputs": [[1.0]], "params": {"horizon": 2}}, "params.horizon is unknown; this model takes no params"),
    ):
        status, answer = in_process(app, body)
        assert (status, reason in answer["message"]) == (400, True), answer
    plain = application(uri, "plain", monkeypatch)
    for body, reason in (
        ({"inputs": [[4], [True]]}, "inputs[1][0]: true is not a number; leave the row out"),
        ({"dataframe_split": {"columns": ["rooms"], "data": [["4"]]}}, "column rooms, row 0: '4' is not a number"),
    ):
        status, answer = in_process(plain, body)
        assert (status, reason in answer["message"]) == (400, True), answer


def test_rows_with_other_names_do_not_go_by_position() -> None:
    rows, names = pd.DataFrame([[4.0, 70.0]], columns=["area", "room"]), ("rooms", "age")
    assert list(as_table(rows, names)) == ["area", "room"]  # which the predictor refuses
    assert list(as_table(rows.set_axis([0, 1], axis=1), names)) == ["rooms", "age"]
    assert list(as_table(rows.set_axis([1, 0], axis=1), names)) == [1, 0]


PEERS = [pytest.param(name, marks=needs_gpytorch) for name in ("rff", "svgp", "full_gp")]


@pytest.mark.parametrize("model", ["revisited", "vae_ridge", "pca", *PEERS])
def test_every_model_is_kept_and_predicts_what_was_scored(model: str, run_pipeline, client) -> None:
    result = run_pipeline(*OWN, f"model={model}", "data.points=30")
    assert result.status == 0, result.err
    run = only_run(client)
    predicted = table(run, "evaluate/test_predictions.csv")
    error = np.sqrt(((predicted["target"] - predicted["mean"]) ** 2).mean())
    assert run.data.metrics["evaluate/test_rmse"] == pytest.approx(error)
    example = pd.read_csv(
        mlflow.artifacts.download_artifacts(f"{run.info.artifact_uri}/parameters/example.csv"), **EXACT
    )
    served = mlflow.pyfunc.load_model(f"runs:/{run.info.run_id}/model").predict(example)
    for column in ("mean", "standard_deviation"):
        assert served[column].to_numpy() == pytest.approx(predicted[column].to_numpy()[: len(served)])
    assert ("autoencoder/radius" in run.data.metrics) == (model in ("revisited", "vae_ridge"))
    assert ("clusters.svg" in artifacts(client, run, "figures")) == (model == "revisited")


@pytest.mark.parametrize("model", ["ssgp", *PEERS[:2]])
def test_a_fit_that_cannot_go_on_counts_to_where_it_came(model: str, run_pipeline, client) -> None:
    result = run_pipeline(*OWN, f"model={model}", "ssgp.learning_rate=1e10")
    assert result.status == 0, result.err
    assert "training ends early and counts to 0" in result.out
    assert only_run(client).data.tags["ssgp.stopped"] == "iteration 0"


def test_a_fit_that_was_killed_goes_on_where_it_stopped(run_pipeline, client, monkeypatch) -> None:
    asked = (*OWN, "size=full", "data.points=30", "features.count=4", "ssgp.iterations=6", "ssgp.every=2", "seed=3")
    losses = stopped_and_resumed(run_pipeline, asked, SSGP, 4, monkeypatch)
    assert len(losses) == 4 + 4  # two steps were kept
    resumed = table(only_run(client), "curves/curve.csv")
    client.delete_run(only_run(client).info.run_id)
    assert run_pipeline(*asked).status == 0
    pd.testing.assert_frame_equal(table(only_run(client), "curves/curve.csv"), resumed, check_exact=True)


@pytest.mark.parametrize(("model", "version", "kept"), [("revisited", 0, 2), ("revisited", 1, 0), ("pca", 1, 2)])
def test_a_fit_does_not_go_on_with_the_inputs_of_another_autoencoder(
    model: str, version: int, kept: int, run_pipeline, monkeypatch
) -> None:
    """The version of how autoencoders are trained is no setting, so resume=true finds the run of before."""
    asked = (*OWN, f"model={model}", "size=full", "data.points=30", "features.count=4", "ssgp.iterations=6",
             "ssgp.every=2", "autoencoder.steps=2")  # fmt: skip
    losses = full_disk_at(4, SSGP, "loss", monkeypatch)
    assert SAID in run_pipeline(*asked).error
    monkeypatch.setattr(inputs_module, "VERSION", inputs_module.VERSION + version)
    result = run_pipeline(*asked, "resume=true")
    assert result.status == 0
    assert len(losses) == 4 + 6 - kept
    said = "the fit begins anew: before the stop it learned from the inputs of another autoencoder"
    assert (said in result.out) == (not kept)


def test_a_stream_of_generated_rows_is_timed(run_pipeline, client) -> None:
    result = run_pipeline("+experiment=ssgp_stream", *OWN[1:], "stream.rows=[50,90]", "stream.dimension=2")
    assert result.status == 0, result.err
    run = only_run(client)
    assert table(run, "evaluate/stream.csv")["rows"].tolist() == [50, 90]
    assert "stream/slope" in run.data.metrics
    assert "stream.svg" in artifacts(client, run, "figures")


def test_a_sampler_that_the_model_does_not_draw_by_is_not_asked_to_suit_the_kernel(run_pipeline) -> None:
    result = run_pipeline(*OWN, "kernel=laplacian_l1", "model=ridge", "tracking=off")
    assert result.status == 0, result.err
    assert "is not isotropic" in run_pipeline(*OWN, "kernel=laplacian_l1").error


def test_a_peer_that_is_not_installed_is_named(run_pipeline, monkeypatch) -> None:
    monkeypatch.setattr("pipeline.systems.ssgp.checks.find_spec", lambda _: None)
    assert "model=full_gp needs GPyTorch; install it" in run_pipeline(*OWN, "model=full_gp").error


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("ssgp.arms=[ssgp/iid]",), "ssgp.arms is not a setting any more: a run trains one model: model=ssgp sampler"),
        (("ssgp.counts=[16]",), "several: +experiment=ssgp features.count=16,32,64"),
        (("+ssgp.seeds=3",), "several: +experiment=ssgp 'seed=range(8)'"),
        (("+samplers.iid=3",), "samplers is not a setting any more: a run trains one model"),
        (("model=forest",), "model=forest is unknown; choose one of"),
        (("features.count=0",), "features.count=0 must be greater than 0"),
        (("ssgp.ridges=[]",), "ssgp.ridges is empty; give at least one value"),
        (("data.validation=3133",), "data: validation=3133 of 3133 training rows leaves none"),
        (("data.validation=0",), "abalone: the validation part has no row"),
        (("data.points=0",), "data.points=0 must be 1 or greater"),
        (("ssgp.iteration=3",), "did you mean ssgp.iterations?"),
        (("model=revisited", "ssgp.picture=3"), "ssgp.picture=3: a t-SNE takes at least 4 points"),
        (("model=vae_ridge", "autoencoder.batch_size=1"), "its layers normalise over a batch; give at least 2"),
        (("model=ridge", "stream.rows=[50]"), "stream.rows: model=ridge draws no frequencies"),
        (("model._target_=models.ssgp.method.PointModel",), "cannot be fitted; choose model=ssgp or another"),
        (("model=rff", "kernel=laplacian"), "model=rff has the Gaussian kernel"),
        (
            ("model=revisited", "autoencoder.components=9"),
            "autoencoder: 9 components in 4 latent dimensions: the cross-polytope has 8 vertices",
        ),
        (("autoencoder.beta=-1",), "must be 0 or greater"),
    ],
)
def test_bad_settings_end_in_one_line(overrides, message, run_pipeline) -> None:
    assert message in run_pipeline(*OWN, *overrides).error
