"""How many rows a model wants: said by the run and the model, and the same scored steps for all models beside it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from mlflow.tracking import MlflowClient

from data.files.table_files import TextFormat
from data.tables.sequences import read_new_sequences
from models.baselines.networks import GRUNetwork
from models.forecasting.times_ahead import read_times, times_ahead
from pipeline.compare.jobs import job_row
from pipeline.systems.predict.recipe import (
    model_history,
    said_of_groups_left_out,
    said_of_uneven_times,
    times_of_predictions,
)
from pipeline.systems.psrnn import refine
from pipeline.systems.psrnn.comparison import FORECASTS
from pipeline.systems.psrnn.load import warn_of_short_sequences
from pipeline.tracking.model import load_model

LAGS, ROWS, FIRST = 6, 400, 320  # the test part begins at row 320


def energy(path: Path) -> np.ndarray:
    random, hour = np.random.default_rng(0), np.arange(ROWS)
    level = np.convolve(random.normal(size=ROWS), 0.9 ** np.arange(40))[:ROWS]
    load = 500 + 60 * np.sin(2 * np.pi * hour / 24) + 10 * level + 5 * random.normal(size=ROWS)
    pd.DataFrame({"load": load}).to_csv(path, index=False)
    return load


def test_a_run_with_more_lags_than_the_first_step_scores_from_there_on_for_all(
    run_pipeline, client: MlflowClient, tmp_path: Path
) -> None:
    load = energy(tmp_path / "energy.csv")
    result = run_pipeline(
        "data=table", f"data.path={tmp_path / 'energy.csv'}", "data.delimiter=comma", "readout=skip",
        f"readout.lags={LAGS}", "refine=none", "features.count=5", "evaluate.horizons=[1]",
    )  # fmt: skip
    assert result.status == 0, result.err
    assert f"scored from step {LAGS} on, for every model: readout.lags={LAGS} (evaluate.first_step=4)" in (
        result.out + result.err
    )
    assert f"wants {LAGS} rows of history; with fewer a simpler forecast stands in for its own" in result.out
    (run,) = client.search_runs(["1"])
    assert f"recipe=predict model=runs:/{run.info.run_id}/model data.path=new.csv data.delimiter=comma\n" in result.out
    drawn = {Path(each.path).stem for each in client.list_artifacts(run.info.run_id, "figures")}
    assert "prediction" in drawn
    assert "bptt" not in drawn  # one epoch is no curve
    assert (run.data.tags["measured"], run.data.tags["history"]) == (f"from step {LAGS}", str(LAGS))
    assert "scored.first_step" not in run.data.tags  # which would say it again
    assert job_row(run, FORECASTS)["first_step"] == LAGS
    changes = np.diff(load)[FIRST + LAGS - 1 :] / load[:280].std()
    np.testing.assert_allclose(run.data.metrics["evaluate/test_mse_persistence"], np.mean(changes**2), rtol=1e-6)

    model = load_model(f"runs:/{run.info.run_id}/model")
    assert model_history(model) == LAGS
    rows = pd.DataFrame({"load": load[FIRST : FIRST + 1]})
    forecast = model.predict(rows, params={"horizon": 24})["load"].to_numpy()
    assert np.abs(forecast - 500).max() < 4 * 60, forecast

    empty_first = pd.DataFrame({"row": range(LAGS), "load": [np.nan, *load[: LAGS - 1]]})
    for name, new in (("new", rows), ("empty_first", empty_first)):
        new.to_csv(tmp_path / f"{name}.csv", index=False)
        said = run_pipeline(
            "recipe=predict", f"model=runs:/{run.info.run_id}/model", f"data.path={tmp_path / name}.csv", "horizon=2",
            f"output={tmp_path / 'predictions.csv'}",
        )  # fmt: skip
        assert said.status == 0, said.err
        assert f"1 of 1 sequences has fewer rows than the {LAGS} that the model wants" in said.out


def test_a_readout_that_is_still_worse_after_all_watched_rows_is_said_and_tagged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tags: dict[str, str] = {}
    run: Any = SimpleNamespace(tags=tags.update)
    train: Any = None
    model = GRUNetwork(dimension=1, units=2, lags=LAGS)
    for still_worse in (False, True):
        monkeypatch.setattr(refine, "settle_start_up", lambda *_, found=still_worse: found)
        refine.settled(model, train, run)
        said = capsys.readouterr()
        line = (
            f"warning: {LAGS - 1} rows after the start of a series the model is still worse than the last value, and "
            f"it was not checked further; take fewer lags (readout.lags below {LAGS}) or more data\n"
        )
        assert said.out + said.err == line * still_worse
        assert tags == ({"history.still_worse": "true"} if still_worse else {})


@pytest.mark.parametrize(
    ("lengths", "said"),
    [
        ([9, 2], "1 test sequence has fewer than 5 steps and counts for nothing: s1"),
        ([4, 2], "2 test sequences have fewer than 5 steps and count for nothing: s0, s1"),
    ],
)
def test_short_sequences_are_counted_in_words_that_fit_their_number(lengths: list[int], said: str) -> None:
    part = SimpleNamespace(names=["s0", "s1"], lengths=torch.tensor(lengths))
    dataset: Any = SimpleNamespace(parts={"test": part})
    with pytest.warns(UserWarning, match=f"^{said}$"):
        warn_of_short_sequences(dataset, steps=5)


def test_uneven_times_of_a_file_are_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    even, uneven = np.arange(4.0), np.array([0.0, 1.0, 5.0])
    for times, lines in ((None, 0), ((even, even), 0), ((uneven, even, uneven), 1)):
        sequences: Any = SimpleNamespace(times=times, zone=None)
        said_of_uneven_times(sequences)
        assert capsys.readouterr().out.count("times are uneven; the forecast's times go on by the median step") == lines
    days = np.arange("2024-01-01", "2024-03-01", dtype="datetime64[D]")
    working = np.delete(days[np.is_busday(days)], 9).astype("datetime64[ns]")
    sequences = SimpleNamespace(times=(working, working), zone=None)
    said_of_uneven_times(sequences)
    assert capsys.readouterr().out == (
        "working days are missing; the forecast's times go on from Monday to Friday, holidays among them\n"
    )
    in_utc = pd.bdate_range("2024-02-01", "2024-03-28", tz="America/New_York").tz_convert("UTC").tz_localize(None)
    sequences = SimpleNamespace(times=(in_utc.to_numpy(),), zone=None)
    said_of_uneven_times(sequences)
    assert capsys.readouterr().out == ""


def test_a_model_knows_which_column_had_the_times_of_its_data(run_pipeline, client, tmp_path: Path) -> None:
    hours = pd.date_range("2024-01-01", periods=120, freq="h")
    noise = 0.1 * np.random.default_rng(0).normal(size=120)
    table = pd.DataFrame({"the hour": hours, "x": np.sin(np.arange(120) / 4) + noise})
    table.to_csv(tmp_path / "t.csv", index=False)
    named = 'data.time="the hour"'
    trained = run_pipeline("data=table", f"data.path={tmp_path / 't.csv'}", named, "model=last_value", "refine=none")
    assert trained.status == 0, trained.err
    assert "bptt" not in trained.out
    (run,) = client.search_runs(["1"])
    output = tmp_path / "out.csv"
    asked = ("recipe=predict", f"model=runs:/{run.info.run_id}/model", f"data.path={tmp_path / 't.csv'}", "horizon=2")
    without, given = (run_pipeline(*asked, f"output={output}", *more) for more in ((), (named,)))
    told = f"without times: the model's data had a column 'the hour'; if this file has it, '{named}' adds the times"
    assert (told in without.out, told in given.out) == (True, False)
    assert pd.read_csv(output)["the hour"].tolist() == ["2024-01-06 00:00:00", "2024-01-06 01:00:00"]
    far = run_pipeline(*asked, f"output={output}", "horizon=30")
    beyond = "no error was measured beyond 20 steps ahead; to measure it, train with 'evaluate.horizons=[1,20,30]'"
    assert (beyond in far.out, "no error was measured" in given.out) == (True, False)
    rows = pd.DataFrame({"x": [0.1, 0.2], "the hour": [20240130, 20240131]})
    answer = load_model(f"runs:/{run.info.run_id}/model").predict(rows, params={"horizon": 1})
    assert answer["the hour"].tolist() == ["2024-02-01"]
    assert "beam=2: this model forecasts; leave it out" in run_pipeline(*asked, "beam=2").error


@pytest.mark.parametrize(
    ("given", "later"),
    [
        (["2024-01-01 22:00", "2024-01-01 23:00"], ["2024-01-02 00:00:00"]),
        (["2024-01-01", "2024-01-02"], ["2024-01-03"]),
        (["2024-01-01T09:00", "2024-01-02T09:00"], ["2024-01-03 09:00:00"]),
        (["2024-01-01 00:00:00.5", "2024-01-01 00:00:00.75"], ["2024-01-01 00:00:01.000000"]),
        (["2024-01-01 22:00+01:00", "2024-01-01 23:00+01:00"], ["2024-01-02 00:00:00+01:00"]),
    ],
)
def test_a_server_and_a_file_of_predictions_write_dates_alike(
    given: list[str], later: list[str], tmp_path: Path
) -> None:
    pd.DataFrame({"time": given, "x": [0.0, 1.0]}).to_csv(tmp_path / "t.csv", index=False)
    read = read_new_sequences(str(tmp_path / "t.csv"), TextFormat(None, "point"), columns=["x"], time="time")
    pd.DataFrame({"time": times_of_predictions(read, 1)}).to_csv(tmp_path / "out.csv", index=False)
    assert (tmp_path / "out.csv").read_text().splitlines()[1:] == later
    assert times_ahead([read_times(pd.Series(given), dates=True)], 1, as_texts=True) == later


@pytest.mark.parametrize("name", ["sequence", "step"])
def test_a_column_of_times_that_predictions_have_too_is_refused_before_a_model_is_loaded(
    run_pipeline, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "t.csv"
    pd.DataFrame({name: range(120), "x": np.sin(np.arange(120) / 4)}).to_csv(file, index=False)
    said = f"t.csv: the column of times cannot be called '{name}', which is a column of every table of predictions"
    named = (f"data.path={file}", f"data.time={name}")
    for asked in (("data=table", "model=last_value"), ("recipe=predict", "model=runs:/none/model", "horizon=2")):
        assert said in run_pipeline(*asked, *named).error


def test_a_model_knows_which_column_had_the_groups_of_its_data(run_pipeline, client, tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=240)
    file, named = tmp_path / "t.csv", 'data.group="the shop"'
    pd.DataFrame({"the shop": ["a"] * 120 + ["b"] * 120, "x": values}).to_csv(file, index=False)
    trained = run_pipeline("data=table", f"data.path={file}", named, "model=last_value", "refine=none")
    assert trained.status == 0, trained.err
    (run,) = client.search_runs(["1"])
    output = tmp_path / "out.csv"
    asked = ("recipe=predict", f"model=runs:/{run.info.run_id}/model", f"data.path={file}", f"output={output}")
    without, given = (run_pipeline(*asked, "horizon=2", *more) for more in ((), (named,)))
    told = f"the model's data had a column 'the shop'; if this file has it, '{named}' makes one forecast of each"
    assert (told in without.out, told in given.out) == (True, False)
    assert pd.read_csv(output)["sequence"].tolist() == ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("known", "group", "sequences", "lines"),
    [({"group": "shop"}, None, 1, 1), ({"group": "shop"}, "shop", 1, 0), ({"group": "shop"}, None, 2, 0),
     ({"group": None}, None, 1, 0), ({}, None, 1, 0)],
)  # fmt: skip
def test_groups_are_said_to_be_left_out_of_models_that_know_of_them(
    known: dict, group: str | None, sequences: int, lines: int, capsys: pytest.CaptureFixture[str]
) -> None:
    model = SimpleNamespace(metadata=SimpleNamespace(metadata=known))
    said_of_groups_left_out(model, group, sequences)
    assert capsys.readouterr().out.count("data.group=shop makes one forecast of each") == lines
