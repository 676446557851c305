"""Forecasts that leave the data: refused by a server, said and written by `recipe=predict`."""

from __future__ import annotations

from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest
import torch

from models.baselines.autoregression import Autoregression
from models.forecasting.forecaster import Forecaster
from pipeline.systems.psrnn.servable import trained_model
from pipeline.tracking.model import model_parts
from served_in_process import application, in_process

pytestmark = pytest.mark.filterwarnings("ignore:the forecast diverges")


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A logged model of two columns, of mean 10 and deviation 2: tenfold the last deviation of the first from its mean;
    and the last value of the other."""
    folder, ones = tmp_path_factory.mktemp("logged"), torch.ones(2)
    model = Autoregression(dimension=2, order=1)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[10.0, 0.0], [0.0, 1.0]]))
    kept = trained_model(
        Forecaster(model, mean=10 * ones, scale=2 * ones, feature_names=("x", "y")), np.ones((1, 2)), 0.5
    )
    (folder / "parameters").mkdir()
    kept.write(folder / "parameters")
    mlflow.pyfunc.save_model(folder / "model", **model_parts(kept.servable(folder / "parameters"), folder))
    return str(folder / "model")


@pytest.mark.parametrize("kind", ["plain", "strict"])
def test_a_forecast_that_diverges_is_refused_by_its_sequence(kind: str, logged: str, monkeypatch) -> None:
    """1 deviation off at the end, 10, 100, 1000 and 10000 of them ahead."""
    app = application(logged, kind, monkeypatch)
    rows = [[10.0, 10.0, "near"], [10.0, 10.0, "far"], [12.0, 10.0, "far"]]
    asked = {"dataframe_split": {"columns": ["x", "y", "sequence"], "data": rows}, "params": {"horizon": 3}}
    assert in_process(app, asked)[0] == 200
    status, answer = in_process(app, {**asked, "params": {"horizon": 4}})
    assert status == 400
    assert answer["message"].startswith(
        "the forecast of sequence 'far' diverges: 4 steps ahead it lies more than 1000 standard deviations from the "
        "mean of the training data, and from the last row; "
    )
    status, answer = in_process(app, {"inputs": [[12.0, 10.0]], "params": {"horizon": 4}})
    assert (status, answer["message"][:28]) == (400, "the forecast of sequence '0'")


@pytest.mark.parametrize("rows", [[[10.0, 1e4]], [[10.0, 1e4], [None, None]]])
def test_a_forecast_that_stays_by_a_series_far_from_the_data_is_an_answer(rows: list, logged: str, monkeypatch) -> None:
    status, answer = in_process(application(logged, "strict", monkeypatch), {"inputs": rows, "params": {"horizon": 5}})
    assert status == 200
    assert [row["y"] for row in answer["predictions"]] == pytest.approx([1e4] * 5)


def test_predictions_of_a_file_are_written_where_a_sequence_diverges(logged: str, run_pipeline, tmp_path: Path) -> None:
    new, output = tmp_path / "new.csv", tmp_path / "predictions.csv"
    pd.DataFrame({"x": [10.0, 12.0], "y": 10.0, "name": ["near", "far"]}).to_csv(new, index=False)
    settings = "recipe=predict", f"model={logged}", f"data.path={new}", "data.group=name", "horizon=4"
    with pytest.warns(UserWarning, match="diverges") as told:
        result = run_pipeline(*settings, f"output={output}")
    assert result.status == 0, result.err
    (line,) = [str(each.message) for each in told if "diverges" in str(each.message)]
    assert line.startswith("the forecast of sequence 'far' diverges: 4 steps ahead")
    assert pd.read_csv(output)["sequence"].tolist() == ["near"] * 4 + ["far"] * 4
