"""The example from a CSV to a forecast, as a newcomer starts it, in a process of its own that need not import all."""

from __future__ import annotations

import json
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest

from warm_processes import ended, example

SCRIPT = Path(__file__).parents[1] / "examples" / "csv_to_served_forecast.py"
ROWS, FIRST, HORIZON = 400, 10, 3
SMALLEST = ("--rows", str(ROWS), "--first", str(FIRST), "--horizon", str(HORIZON), "features.count=5", "threads=1")
FILES = {"backtest.csv", "intervals.csv", "forecast.csv", "backtest.png", "forecast.png", "request.json"}


def last_value_rmse(values: np.ndarray, horizon: int) -> float:
    """By its definition, over the last fifth of the rows."""
    test = values[round(0.8 * len(values)) :]
    errors = [test[origin + horizon - 1] - test[origin - 1] for origin in range(FIRST, len(test) - horizon + 1)]
    return float(np.sqrt(np.mean(np.square(errors))))


@pytest.mark.slow
def test_synthetic_csv_to_forecast(store, client, tmp_path: Path) -> None:
    result = ended(example, str(SCRIPT), "--seed", "3", *SMALLEST, folder=tmp_path)
    assert result.status == 0, result.err
    assert "SYNTHETIC data, 400 rows" in result.out
    assert "seed 3" in result.out
    folder = tmp_path / "forecast-from-csv"
    assert {path.name for path in folder.iterdir()} == FILES
    assert all((folder / name).stat().st_size > 10_000 for name in FILES if name.endswith(".png"))
    table = pd.read_csv(tmp_path / "synthetic-400-rows-seed-3.csv")
    assert int(table["right"].isna().to_numpy().sum()) == 4
    check_backtest(pd.read_csv(folder / "backtest.csv"), table)
    check_intervals(pd.read_csv(folder / "intervals.csv"), pd.read_csv(folder / "forecast.csv"))
    experiment = client.get_experiment_by_name("forecast-from-csv").experiment_id
    (run,) = client.search_runs([experiment])
    assert f"mlflow models serve -m runs:/{run.info.run_id}/model" in result.out
    check_request(json.loads((folder / "request.json").read_text()), f"runs:/{run.info.run_id}/model", folder, store)


def check_backtest(backtest: pd.DataFrame, table: pd.DataFrame) -> None:
    assert backtest["horizon"].tolist() == [1, 2, 3] * 2
    assert backtest["unit"].tolist() == ["mm"] * 6
    assert backtest["scored"].tolist() == [80 - FIRST - h + 1 for h in (1, 2, 3)] * 2
    expected = [last_value_rmse(table[name].to_numpy(), h) for name in ("left", "right") for h in (1, 2, 3)]
    np.testing.assert_allclose(backtest["last_value_rmse"], expected, rtol=1e-9)
    assert np.all(backtest["rmse"] < backtest["last_value_rmse"])
    assert np.all(backtest["mae"] <= backtest["rmse"])


def check_intervals(intervals: pd.DataFrame, forecast: pd.DataFrame) -> None:
    assert intervals["calibrated_on"].tolist() == [40 - FIRST - h + 1 for h in (1, 2, 3)] * 2
    assert intervals["coverage"].between(0.5, 1).all()
    assert forecast["step"].tolist() == [1, 2, 3]
    for name, rows in intervals.groupby("feature"):
        radius = rows["radius"].to_numpy()
        assert (radius > 0).all()
        np.testing.assert_allclose(forecast[name] - forecast[f"{name}_lower"], radius, rtol=1e-9)
        np.testing.assert_allclose(forecast[f"{name}_upper"] - forecast[name], radius, rtol=1e-9)


def check_request(request: dict, uri: str, folder: Path, store: Path) -> None:
    """What the client sends makes the logged model answer with the forecast that was written."""
    mlflow.set_tracking_uri(f"sqlite:///{store / 'mlflow.db'}")
    frame = pd.DataFrame(request["dataframe_split"]["data"], columns=request["dataframe_split"]["columns"])
    assert len(frame) == ROWS
    found = mlflow.pyfunc.load_model(uri).predict(frame, params=request["params"])
    forecast = pd.read_csv(folder / "forecast.csv")
    np.testing.assert_allclose(found[["left", "right"]], forecast[["left", "right"]], rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "horizon", "message"),
    [
        ("twelve", "3", "column 'b', row 7: 'twelve' is not a finite number"),
        ("12", "31", "the validation part has 40 rows, 10 before the first forecast and --horizon 31 need 41"),
    ],
)
def test_one_error_line_and_no_output(store, tmp_path: Path, cell: str, horizon: str, message: str) -> None:
    assert store.is_dir()
    csv = tmp_path / "it's a, table.csv"
    values = [f"{np.sin(t / 3):.4f},{np.cos(t / 5):.4f}" for t in range(ROWS)]
    csv.write_text("\n".join(["a,b", *values[:5], f"0.5,{cell}", *values[6:]]) + "\n")
    arguments = ("--csv", str(csv), *SMALLEST, "--horizon", horizon, "--output", str(tmp_path / "results"))
    result = ended(example, str(SCRIPT), *arguments, folder=tmp_path)
    assert message in result.error
    (command,) = [line for line in result.out.splitlines() if line.startswith("training: ")]
    assert "features.count=5" in command
    assert "readout" not in command  # the settings of the synthetic table are not those of another one
    assert sorted(path.name for path in tmp_path.iterdir()) == [csv.name, "mlruns"]


@pytest.mark.slow
def test_a_table_with_decimal_commas_and_a_model_that_wants_a_season(store, tmp_path: Path) -> None:
    assert store.is_dir()
    random, season = np.random.default_rng(0), 24
    values = 5 * np.sin(2 * np.pi * np.arange(ROWS) / season) + random.normal(size=ROWS)
    csv = tmp_path / "table.csv"
    pd.DataFrame({"load": values, "level": values**2}).to_csv(csv, index=False, sep=";", decimal=",")
    result = ended(
        example, str(SCRIPT), "--csv", str(csv), "--first", str(FIRST), "--horizon", str(HORIZON),
        "data.delimiter=semicolon", "data.decimal=comma", "model=seasonal_naive", f"model.season={season}", "threads=1",
        folder=tmp_path,
    )  # fmt: skip
    assert result.status == 0, result.err
    assert f"are its own after {season} rows: the backtest begins there, not at {FIRST}" in result.out
    intervals = pd.read_csv(tmp_path / "forecast-from-csv" / "intervals.csv")
    assert intervals["calibrated_on"].tolist() == [40 - season - h + 1 for h in (1, 2, 3)] * 2
    forecast = pd.read_csv(tmp_path / "forecast-from-csv" / "forecast.csv")
    np.testing.assert_allclose(forecast["load"], values[-season:][:HORIZON], rtol=1e-9)
