"""From a CSV to a served forecast: train, backtest, intervals, forecast, serve. Explained in docs/forecast-from-csv.md.

python examples/csv_to_served_forecast.py                                   a synthetic CSV, about a minute
python examples/csv_to_served_forecast.py --csv readings.csv data.time=hour your own, with settings of the pipeline
python examples/csv_to_served_forecast.py --serve                           and ask the model over HTTP in the end
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import yaml
from mlflow.artifacts import download_artifacts

from data.base import Dataset, Sequences
from data.tables.sequences import load_table, read_sequences
from forecast_figures import error_figure, forecast_figure
from model_server import ask, serve_command, served
from models.baselines.persistence import Persistence
from models.forecasting.backtest import BacktestResult, backtest_forecaster
from models.forecasting.conformal import conformal_radii, coverage_reached, interval
from models.forecasting.forecaster import Forecaster, load_forecaster
from models.runtime.whole_folder import folder_written_whole
from pipeline.host.atomic import written_whole
from pipeline.host.passwords import masked
from pipeline.systems.psrnn.intervals import own_from
from pipeline.tracking.store import open_store, tracking_uri

SYNTHETIC = ("readout=skip", "readout.lags=4", "data.units={left: mm, right: mm}")  # a table of yours has the defaults
PRINTED = (1, 2, 5, 10, 20)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="From a CSV to a served forecast.")
    parser.add_argument(
        "--csv", type=Path, help="your own table (CSV, TSV, Parquet, NPZ); else a synthetic one is made"
    )
    parser.add_argument("--rows", type=int, default=2000, help="rows of the synthetic table")
    parser.add_argument("--seed", type=int, default=0, help="of the synthetic table")
    parser.add_argument("--output", type=Path, default=Path("forecast-from-csv"), help="new folder for the results")
    parser.add_argument("--horizon", type=int, default=20, help="steps to forecast")
    parser.add_argument("--first", type=int, default=20, help="rows seen before the first forecast of the backtest")
    parser.add_argument("--coverage", type=float, default=0.9, help="of the intervals, between 0 and 1")
    parser.add_argument("--serve", action="store_true", help="serve the model and send it one request")
    parser.add_argument(
        "settings", nargs="*", metavar="KEY=VALUE", help="settings of the pipeline, e.g. data.time=hour"
    )
    return parser.parse_intermixed_args()


# 1. A table ----------------------------------------------------------------------------------------------------------


def two_oscillations(rows: int, generator: np.random.Generator) -> pd.DataFrame:
    """Two noisy phases of periods 25 and 19 that pull at each other (Kuramoto, 1975), read as two lengths in mm.

    phase_i += 2π/period_i + 0.03·sin(phase_j − phase_i) + 0.03·noise; length_i = 40 + 10·sin(phase_i) + 0.5·noise.
    The column `right` has a gap of 30 rows, or of a hundredth of them if that is less.
    """
    phase = np.zeros((rows, 2))
    for t in range(1, rows):
        pull = 0.03 * np.sin(phase[t - 1, ::-1] - phase[t - 1])
        phase[t] = phase[t - 1] + 2 * np.pi / np.array([25, 19]) + pull + 0.03 * generator.standard_normal(2)
    lengths = 40 + 10 * np.sin(phase) + 0.5 * generator.standard_normal((rows, 2))
    lengths[rows // 3 : rows // 3 + min(30, rows // 100), 1] = np.nan
    return pd.DataFrame(lengths.round(3), columns=["left", "right"])


def synthetic_csv(folder: Path, *, rows: int, seed: int) -> Path:
    """Write the synthetic table, named after its seed, and say so."""
    if rows < 1:
        raise ValueError(f"--rows must be at least 1, got {rows}")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"synthetic-{rows}-rows-seed-{seed}.csv"
    with written_whole(path) as temporary:
        two_oscillations(rows, np.random.default_rng(seed)).to_csv(temporary, index=False)
    print(f"no --csv given: SYNTHETIC data, {rows} rows of two coupled noisy oscillations, seed {seed}: {path}")
    return path


# 2. A trained model --------------------------------------------------------------------------------------------------


class Trained(NamedTuple):
    """uri: of the logged model. parts: the data split as in training. whole: the same series, not split."""

    uri: str
    forecaster: Forecaster
    parts: Dataset
    whole: Sequences


def quoted(text: str) -> str:
    """A value with blanks, commas or quotes, as the command line of the pipeline takes it."""
    if re.fullmatch(r"[\w./-]+", text):
        return text
    return "'" + re.sub(r"(\\+)(?='|$)", r"\1\1", text).replace("'", r"\'") + "'"


def train(csv: Path, settings: Sequence[str]) -> str:
    """Run the pipeline; returns the run's id. Leaves with the pipeline's own error line if it fails."""
    name = f"{csv.name.split('.')[0]}-{uuid.uuid4().hex[:8]}"
    fixed = ("data=table", f"data.path={quoted(str(csv.resolve()))}", f"run_name={quoted(name)}")
    command = [sys.executable, "-m", "pipeline", "tracking.experiment=forecast-from-csv", *settings, *fixed]
    print("training:", masked(shlex.join(["python", *command[1:]])), flush=True)
    status = subprocess.run(command, check=False).returncode
    if status:
        sys.exit(status)
    client = open_store(None)
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    runs = [run for run in client.search_runs(experiments) if run.info.run_name == name]
    if not runs:
        store = masked(str(client.tracking_uri))
        raise ValueError(f"the run {name} is not in {store}; name another store by MLFLOW_TRACKING_URI")
    return runs[0].info.run_id


def load_trained(run_id: str) -> Trained:
    """The model's parameters, and the data read with the very settings of the run, from its artifacts."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(download_artifacts(run_id=run_id, dst_path=folder))
        forecaster = load_forecaster(files / "parameters")
        section = yaml.safe_load((files / "config.yaml").read_text(encoding="utf-8"))["data"]
    del section["_target_"]
    parts = load_table(**section)
    columns = list(parts.feature_names)
    how = {name: section[name] for name in ("group", "time", "delimiter", "decimal")}
    whole = read_sequences(section["path"], columns=columns, **how)
    return Trained(f"runs:/{run_id}/model", forecaster, parts, whole)


# 3. A backtest, and 4. intervals -------------------------------------------------------------------------------------


def first_origin(forecaster: Forecaster, first: int) -> int:
    """Rows before the first forecast: `first`, or as many as the model has to see before its forecasts are its own."""
    wants = own_from(forecaster.model)
    if wants > first:
        print(f"the model's forecasts are its own after {wants} rows: the backtest begins there, not at {first}")
    return max(first, wants)


def rolled(forecaster: Forecaster, part: Sequences, name: str, *, first: int, horizon: int) -> BacktestResult:
    """Forecasts from every row of a part but its first ones."""
    longest = int(part.lengths.max())
    if longest < first + horizon:
        raise ValueError(
            f"the {name} part has {longest} rows, {first} before the first forecast and --horizon {horizon} need "
            f"{first + horizon}; lower --first (as far as the model allows) or --horizon, or raise data.{name}"
        )
    return backtest_forecaster(forecaster, part.to_arrays(), first=first, step=1, horizon=horizon)


def last_value(forecaster: Forecaster) -> Forecaster:
    """The baseline in the same units: every future row is the last one."""
    model = Persistence(dimension=len(forecaster.feature_names)).to(forecaster.mean)
    return Forecaster(model, mean=forecaster.mean, scale=forecaster.scale, feature_names=forecaster.feature_names)


def long_table(data: Dataset, **columns: np.ndarray) -> pd.DataFrame:
    """One row a feature and horizon, from arrays (horizon, feature)."""
    steps = len(next(iter(columns.values())))
    frames = [
        pd.DataFrame({"feature": name, "unit": unit, "horizon": np.arange(1, steps + 1)}).assign(
            **{key: values[:, j] for key, values in columns.items()}
        )
        for j, (name, unit) in enumerate(zip(data.feature_names, data.units, strict=True))
    ]
    return pd.concat(frames, ignore_index=True)


def backtest_table(data: Dataset, ours: BacktestResult, baseline: BacktestResult) -> pd.DataFrame:
    model, last = ours.by_horizon(), baseline.by_horizon()
    return long_table(
        data, scored=model.scored, rmse=model.rmse, mae=model.mae, last_value_rmse=last.rmse, last_value_mae=last.mae
    )


def interval_table(data: Dataset, radii: np.ndarray, calibration: np.ndarray, test: np.ndarray) -> pd.DataFrame:
    """Half the width of the intervals, and the share of the test forecasts whose truth lay inside."""
    reached = coverage_reached(test, radii)
    counts = (~np.isnan(calibration)).sum(0)
    return long_table(data, radius=radii, calibrated_on=counts, coverage=reached.share, scored=reached.scored)


# 5. A forecast -------------------------------------------------------------------------------------------------------


def forecast_table(trained: Trained, radii: np.ndarray) -> pd.DataFrame:
    """One row a sequence and step beyond its end: each feature with its lower and upper bound."""
    frames = []
    for name, series in zip(trained.whole.names, trained.whole.to_arrays(), strict=True):
        forecast = trained.forecaster.forecast(series, len(radii))
        lower, upper = interval(forecast, radii)
        columns = {"sequence": name, "step": np.arange(1, len(radii) + 1)}
        for j, feature in enumerate(trained.forecaster.feature_names):
            columns |= {feature: forecast[:, j], f"{feature}_lower": lower[:, j], f"{feature}_upper": upper[:, j]}
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)


# 6. A server ---------------------------------------------------------------------------------------------------------


def request_body(trained: Trained, horizon: int) -> str:
    """What a client sends: the history as JSON (null is a gap) and how many steps it wants."""
    names = list(trained.forecaster.feature_names)
    pairs = zip(trained.whole.names, trained.whole.to_arrays(), strict=True)
    frame = pd.concat([pd.DataFrame(a, columns=names).assign(sequence=n) for n, a in pairs], ignore_index=True)
    split = str(frame.to_json(orient="split", index=False, double_precision=15))
    return json.dumps({"dataframe_split": json.loads(split), "params": {"horizon": horizon}}) + "\n"


def ask_server(uri: str, body: str, expected: pd.DataFrame) -> None:
    """One request as a client would send it; the answer is the forecast that was written."""
    with served(uri) as address:
        print(f"served at {address}; POST {address}/invocations with {len(body)} bytes of JSON")
        answer = pd.DataFrame(json.loads(ask(f"{address}/invocations", body))["predictions"])
    names = [name for name in answer.columns if name != "sequence"]
    gap = float(np.abs(answer[names].to_numpy() - expected[names].to_numpy()).max())
    print(answer.head(3).to_string(index=False))
    print(f"… {len(answer)} rows; largest difference from forecast.csv: {gap:.1g}; the server is stopped")


# All of it -----------------------------------------------------------------------------------------------------------


def write_results(folder: Path, trained: Trained, chosen: argparse.Namespace) -> pd.DataFrame:
    """Everything from the backtest to the request; returns the forecast."""
    data, first = trained.parts, first_origin(trained.forecaster, chosen.first)
    reach = {"first": first, "horizon": chosen.horizon}
    ours = rolled(trained.forecaster, data.test, "test", **reach)
    errors = backtest_table(data, ours, rolled(last_value(trained.forecaster), data.test, "test", **reach))
    calibration = rolled(trained.forecaster, data.validation, "validation", **reach).residuals()
    radii = conformal_radii(calibration, coverage=chosen.coverage)
    intervals = interval_table(data, radii, calibration, ours.residuals())
    forecast = forecast_table(trained, radii)
    for name, table in (("backtest", errors), ("intervals", intervals), ("forecast", forecast)):
        table.to_csv(folder / f"{name}.csv", index=False)
    error_figure(data, errors).savefig(folder / "backtest.png", dpi=150)
    forecast_figure(data, trained.whole, forecast, chosen.coverage).savefig(folder / "forecast.png", dpi=150)
    (folder / "request.json").write_text(request_body(trained, chosen.horizon), encoding="utf-8")
    show(errors, intervals, chosen.coverage)
    return forecast


def show(errors: pd.DataFrame, intervals: pd.DataFrame, coverage: float) -> None:
    both = errors.drop(columns="scored").merge(intervals, on=["feature", "unit", "horizon"])
    print(
        f"\nbacktest on the test part, and {100 * coverage:g}% intervals calibrated on the validation part (own units)"
    )
    print(both[both["horizon"].isin(PRINTED)].to_string(index=False, float_format="%.3g"))


def main() -> None:
    chosen = options()
    output = chosen.output.resolve()
    with folder_written_whole(output) as folder:
        first = () if chosen.csv else SYNTHETIC
        csv = chosen.csv or synthetic_csv(output.parent, rows=chosen.rows, seed=chosen.seed)
        trained = load_trained(train(csv, [*first, *chosen.settings]))
        forecast = write_results(folder, trained, chosen)
    print(f"\nforecast, intervals, backtest and figures: {output}")
    if chosen.serve:
        ask_server(trained.uri, (output / "request.json").read_text(encoding="utf-8"), forecast)
    else:
        command = shlex.join(serve_command(trained.uri, port=5001))
        print(f"serve it: MLFLOW_TRACKING_URI={shlex.quote(masked(tracking_uri(None)))} {command}")


if __name__ == "__main__":
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    try:
        main()
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
