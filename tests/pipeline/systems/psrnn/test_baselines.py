"""What a run is compared with, and what it says beneath its table."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from data.files.exact_numbers import EXACT
from logged import only_run, table


@pytest.fixture
def hourly(tmp_path: Path) -> Path:
    """A load with a daily season of its own shape and a temperature that goes with it."""
    random, hour = np.random.default_rng(0), np.arange(480)
    load = 100 * np.exp(-(((hour % 24 - 18) / 3.0) ** 2)) + random.normal(size=480) * 5
    warmth = 10 + 8 * np.sin(2 * np.pi * hour / 24) + random.normal(size=480)
    file = tmp_path / "energy.csv"
    pd.DataFrame({"load": load, "warmth": warmth}).to_csv(file, index=False)
    return file


QUICK = ("data=table", "refine=none", "features.count=4", "tracking.log_model=false")


def test_the_seasonal_naive_stands_in_the_table_and_its_season_beneath(run_pipeline, client, hourly) -> None:
    result = run_pipeline(*QUICK, f"data.path={hourly}", "evaluate.horizons=[1,20,40]")
    assert result.status == 0, result.err
    run = only_run(client)
    metrics, note = run.data.metrics, run.data.tags["mlflow.note.content"]
    values = pd.read_csv(hourly, **EXACT).to_numpy()
    train, test = values[:336], values[384:]
    naive = ((test[24:] - test[:-24]) / train.std(0)) ** 2
    last = ((test[4:24] - test[3:23]) / train.std(0)) ** 2
    expected = np.concatenate([last, naive]).mean()
    assert metrics["evaluate/test_mse_seasonal_naive"] == pytest.approx(expected, rel=1e-9)
    assert metrics["evaluate/test_mse_seasonal_naive_horizon_40"] > 0
    assert result.out.count("seasonal naive: ") == 1
    assert "seasonal naive: season of 24 steps (the training part's autocorrelation peaks there" in result.out
    assert "); the last value stands in for it in 21.7 % of the scored rows\n" in result.out  # 20 of 92
    assert client.get_experiment(run.info.experiment_id).name == "energy"
    assert "refine=none" in run.info.run_name
    assert note.startswith("| model | one-step test error")
    assert note.index("| seasonal naive |") < note.index("season of 24 steps") < note.index("Data: energy")
    assert "before refinement" not in note + result.out


def test_a_season_that_is_named_wins_0_leaves_it_out_and_one_too_long_is_said(run_pipeline, hourly) -> None:
    quick = (*QUICK, f"data.path={hourly}", "tracking=off", "model=var", "evaluate.orders=[]")
    for steps, stands_in in ((7, "; the last value stands in for it in 3.26 % of the scored rows"), (4, "")):
        said = f"seasonal naive: season of {steps} steps (evaluate.season){stands_in}\n"
        assert said in run_pipeline(*quick, f"evaluate.season={steps}").out
    assert "seasonal" not in run_pipeline(*quick, "evaluate.season=0").out
    with pytest.warns(UserWarning, match="evaluate.season=400: no test sequence is that long"):
        assert "seasonal" not in run_pipeline(*quick, "evaluate.season=400").out
    assert "evaluate.season=-1 must be 0 or greater" in run_pipeline(*quick, "evaluate.season=-1").error


def test_the_run_s_own_seasonal_model_is_not_replaced_by_the_baseline(run_pipeline, client, hourly) -> None:
    result = run_pipeline(*QUICK, f"data.path={hourly}", "model=seasonal_naive", "model.season=5")
    assert result.status == 0, result.err
    run = only_run(client)
    assert run.data.tags["season"] == "5"
    assert "season of 24" not in result.out
    assert run.data.metrics["evaluate/test_mse"] > 1


@pytest.mark.parametrize(("model", "baseline"), [("last_value", "persistence"), ("seasonal_naive", "seasonal_naive")])
def test_a_readout_above_a_naive_model_stands_beside_the_naive_forecast(
    run_pipeline, client, hourly, model: str, baseline: str
) -> None:
    readout = ("readout=kernel", "readout.count=0", "readout.direct=1")
    result = run_pipeline(*QUICK, f"data.path={hourly}", f"model={model}", *readout, "evaluate.horizons=[1]")
    assert result.status == 0, result.err
    metrics, name = only_run(client).data.metrics, model.replace("_", " ")
    rows = [line.rpartition("  ")[0].strip() for line in result.out.splitlines()]
    assert (rows.count(name), rows.count(f"{name} (grouped)")) == (1, 1)
    assert metrics["evaluate/test_mse"] != pytest.approx(metrics[f"evaluate/test_mse_{baseline}"], rel=0.01)


def test_intervals_of_a_long_season_are_calibrated_and_measured_a_season_after_the_start(
    run_pipeline, client, hourly
) -> None:
    """The validation and the test part have 48 and 96 rows; with fewer than a season the model is the last value."""
    result = run_pipeline(*QUICK, f"data.path={hourly}", "model=seasonal_naive", "model.season=40")
    assert result.status == 0, result.err
    intervals = table(only_run(client), "evaluate/intervals.csv")
    shown = intervals[(intervals["coverage"] == 0.5) & (intervals["horizon"] == 1)]
    values = pd.read_csv(hourly, **EXACT).to_numpy()
    own, tested = (np.abs(part[40:] - part[:-40]) for part in (values[336:384], values[384:]))
    radius = np.sort(own, 0)[4]  # ⌈9 · 0.5⌉ = 5
    assert shown["calibrated_on"].tolist() == [8, 8]
    assert shown["radius"].tolist() == pytest.approx(radius, rel=1e-9)
    assert shown["scored"].tolist() == [56, 56]
    assert shown["inside"].tolist() == pytest.approx((tested <= radius).mean(0))


def test_the_model_before_refinement_is_named_where_there_was_refinement(run_pipeline, hourly) -> None:
    refined = [setting for setting in QUICK if setting != "refine=none"]
    result = run_pipeline(*refined, f"data.path={hourly}", "refine=bptt", "refine.epochs=1", "tracking=off")
    assert "PSRNN before refinement, horizon 1:" in result.out


def test_the_state_alone_stands_beside_the_state_joined_with_observations(run_pipeline, client, hourly) -> None:
    quick = (*QUICK, f"data.path={hourly}", "evaluate.horizons=[1,6]")
    result = run_pipeline(*quick, "readout=linear")
    assert result.status == 0, result.err
    alone = only_run(client)
    assert "state + last 4 observations" in result.out
    assert run_pipeline(*quick, "readout=skip", "readout.lags=4").status == 0
    found = client.search_runs([alone.info.experiment_id], order_by=["attributes.start_time DESC"])[0].data.metrics
    for name in ("evaluate/test_mse", "evaluate/test_mse_horizon_6"):
        beside = name.replace("test_mse", "test_mse_joined4")
        assert alone.data.metrics[beside] == pytest.approx(found[name], rel=1e-9)
        assert beside not in found
    assert alone.data.metrics["evaluate/test_mse_joined4"] < alone.data.metrics["evaluate/test_mse"]


@pytest.mark.parametrize(("validation", "sparse", "left_out"), [(24, True, [2, 4]), (6, False, [6]), (24, False, [])])
def test_orders_without_complete_rows_are_left_out_before_training(
    run_pipeline, client, tmp_path: Path, validation: int, sparse: bool, left_out: list[int]
) -> None:
    """A column with a value in every sixth row leaves no two complete rows, and six rows of validation none after six
    others."""
    values = pd.DataFrame(np.random.default_rng(0).normal(size=(240, 2)).cumsum(0), columns=["a", "b"])
    if sparse:
        values.loc[values.index % 6 > 0, "b"] = np.nan
    values.to_csv(tmp_path / "t.csv", index=False)
    orders = [2, 4] if sparse else [2, 6]
    asked = (
        "data=table", f"data.path={tmp_path / 't.csv'}", "model=lstm", "model.units=2", "refine.epochs=1",
        f"data.validation={validation / 240}", f"evaluate.orders={orders}", "evaluate.horizons=[1]", "size.steps=null",
    )  # fmt: skip
    told = f"evaluate.orders: .* {', '.join(map(str, left_out))}; left out"
    with pytest.warns(UserWarning, match=told) if left_out else nullcontext():
        result = run_pipeline(*asked)
    assert result.status == 0, result.err
    run, said = only_run(client), result.out + result.err
    beside = [order for order in orders if f"evaluate/test_mse_ar{order}" in run.data.metrics]
    assert beside == [order for order in orders if order not in left_out]
    assert said.index("baselines …") < said.index("bptt …")


def test_a_run_that_is_behind_names_a_command_that_is_not_what_was_run(run_pipeline, hourly) -> None:
    quick = (*QUICK, f"data.path={hourly}", "tracking=off", "evaluate.horizons=[1,6]")
    said = run_pipeline(*quick, "readout=linear").out
    (line,) = (line for line in said.splitlines() if "PSRNN is behind at horizons 1, 6" in line)
    command = shlex.split(line.partition("to try: python -m pipeline ")[2])
    assert command == [*quick, "readout=auto"]
    better = run_pipeline(*command)
    assert better.status == 0, better.err
    assert not any("to try" in line and "readout=auto" in line for line in better.out.splitlines())
