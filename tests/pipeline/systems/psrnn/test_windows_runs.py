"""`+experiment=ett` on a short stand-in: what its jobs log, what their parent makes of it, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from mlflow.artifacts import download_artifacts

from data.base import Sequences, Standardiser
from data.ett.load import load
from models.forecasting.windows import WindowErrors
from pipeline.systems.psrnn.comparison import draws
from pipeline.systems.psrnn.windows import along, rows_of_day

CUT = (
    "+experiment=ett", "data.source=stand_in", "data.days=35", "data.history=48", "evaluate.first_step=48",
    "evaluate.window=24,30", "seed=0", "threads=1",
)  # fmt: skip


def test_places_are_days_of_windows_and_an_unscored_beginning_does_not_count() -> None:
    squared = torch.full((2, 60), torch.nan, dtype=torch.float64)
    squared[0, 5:57], squared[1, 6:57] = 1.0, 3.0
    table = along(WindowErrors(squared, squared), 24)
    assert table["place"].tolist() == [0, 1, 2]
    assert table["windows"].tolist() == [47, 48, 8]
    np.testing.assert_allclose(table["window_mse"], [(24 + 3 * 23) / 47, 2.0, 2.0])


@pytest.mark.parametrize(("step", "rows"), [("1h", 24), ("15min", 96), ("1D", 1), ("7D", 1), ("7min", 206), (None, 24)])
def test_rows_of_a_day_follow_from_the_step_of_the_data(step: str | None, rows: int) -> None:
    part = Sequences.from_arrays([np.zeros((5, 1))], ["a"])
    times = None if step is None else (pd.date_range("2020-01-01", periods=5, freq=step).to_numpy(),)
    assert rows_of_day(replace(part, times=times)) == rows
    assert rows_of_day(replace(part, times=(np.arange(5),))) == 24


def seasonal_naive(window: int) -> tuple[float, float]:
    """Squared and absolute error over all windows of the test part, the value of the same hour a day before."""
    made = load(source="stand_in", days=35, history=48)
    values = Standardiser.fit(made.train, made.feature_names).apply(made.test).values[..., 0].numpy()
    errors = [
        values[:, t : t + window] - np.resize(values[:, t - 24 : t].T, (window, len(values))).T
        for t in range(48, values.shape[1] - window + 1)
    ]
    return float(np.square(errors).mean()), float(np.abs(errors).mean())


def test_jobs_log_their_windows_and_the_parent_compares_them(run_pipeline, client) -> None:
    result = run_pipeline(
        *CUT, "contender=ett/ridge,ett/psrnn,ett/seasonal_naive", "readout.lags=48", "features.count=10",
        "features.projection=5",
    )  # fmt: skip
    assert result.status == 0, result.err
    (experiment,) = (e for e in client.search_experiments() if e.name == "ett")
    runs = client.search_runs([experiment.experiment_id])
    (parent,) = (run for run in runs if run.data.tags.get("multirun") == "parent")
    children = {
        (run.data.tags["arm"], int(run.data.params["evaluate.window"])): run
        for run in runs if run.data.tags.get("mlflow.parentRunId") == parent.info.run_id
    }  # fmt: skip
    assert {arm for arm, _ in children} == {"ridge", "psrnn", "seasonal_naive"}
    assert len(children) == 6
    for window in (24, 30):
        metrics = children["seasonal_naive", window].data.metrics
        assert (metrics["evaluate/window_mse"], metrics["evaluate/window_mae"]) == pytest.approx(seasonal_naive(window))
    assert children["ridge", 30].data.tags["readout.direct.used"] == "30"
    folder = Path(download_artifacts(run_id=parent.info.run_id, dst_path=None))
    means, paired = (pd.read_csv(folder / name) for name in ("means.csv", "paired.csv"))
    assert means.groupby("window")["arm"].nunique().tolist() == [3, 3]
    own = means.set_index(["arm", "window"])["mse"]
    for key, run in children.items():
        assert own[key] == pytest.approx(run.data.metrics["evaluate/window_mse"])
    periods = pd.read_csv(folder / "along.csv")
    for key, here in periods.groupby(["arm", "window"]):
        assert np.average(here["window_mse"], weights=here["windows"]) == pytest.approx(own[key])
        assert here["windows"].sum() == 7 * (7 * 24 - int(key[1]) + 1)
    assert set(paired["verdict"]) == {"no claim (stand-in data)"}
    listed = pd.read_csv(folder / "jobs.csv")
    assert "evaluate.window" not in "".join(listed["varied"].fillna(""))
    assert dict(zip(listed["arm"], listed["draws"], strict=True)) == {
        "ridge": False,
        "psrnn": True,
        "seasonal_naive": False,
    }


@pytest.mark.parametrize(("model", "count", "drawn"), [
    ("no_state", "0", False), ("no_state", "400", True), ("last_value", None, False), ("lstm", "0", True),
    ("one_of_my_own", "0", True),
])  # fmt: skip
def test_a_run_hangs_on_its_seed_by_its_model_or_by_random_features_of_its_readout(
    model: str, count: str | None, drawn: bool
) -> None:
    assert draws({} if count is None else {"readout.count": count}, {"model": model}) is drawn


def test_windows_longer_than_the_test_part_are_refused_before_training(run_pipeline) -> None:
    result = run_pipeline(
        "data=ett", "data.source=stand_in", "data.days=35", "data.history=48", "evaluate.first_step=48",
        "model=last_value", "evaluate.window=200", "tracking=off",
    )  # fmt: skip
    assert "no window of 200 rows is scored throughout" in result.err
    assert "evaluate …" not in result.err + result.out
