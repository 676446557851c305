"""Arms along one test period: means, pairs, verdicts, and what is said of long windows."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from pipeline.compare.claims import FEW
from pipeline.compare.summary import summarise
from pipeline.compare.windows import block_of, by_window, compared, over_seeds, pairs_of
from pipeline.host.errors import PipelineError
from pipeline.systems.psrnn.comparison import FORECASTS

ARMS = {"psrnn": 0.8, "ridge": 1.0, "echo_state": 0.95, "lstm": 1.3}
PLACES = {96: 60, 720: 40}
COMPARE = SimpleNamespace(figure="windows", arm=None, baseline="ridge", challenger="psrnn")


def along(seeds: int = 3) -> pd.DataFrame:
    """So many seeds of four arms, whose errors go up and down together along the period."""
    rows, noise = [], np.random.default_rng(0)
    for window, places in PLACES.items():
        level = 1 + 0.3 * np.sin(np.arange(places) / 3) + 0.01 * noise.normal(size=places)
        for arm, factor in ARMS.items():
            for seed in range(seeds):
                error = factor * level + 0.02 * noise.normal(size=places)
                rows += [
                    {"data": "ett", "window": window, "arm": arm, "place": place, "windows": 168 if place else 7,
                     "window_mse": value, "seed": seed}
                    for place, value in enumerate(error)
                ]  # fmt: skip
    return pd.DataFrame(rows)


def jobs(*, stand_in: bool = False, seeds: int = 3) -> pd.DataFrame:
    rows = []
    for (window, arm, seed), here in along(seeds).groupby(["window", "arm", "seed"]):
        mse = float(np.average(here["window_mse"], weights=here["windows"]))
        rows.append({
            "run": f"{arm}-{window}-{seed}", "run_id": "", "data": "ett", "stand_in": stand_in, "arm": arm,
            "seed": seed, "overrides": "", "varied": "", "model": arm, "readout": "", "sampler": "", "kernel": "",
            "count": 0, "parameters": 10, "validation_mse": 1.0, "test_mse": 1.0, "stable": True, "first_step": 504,
            "window": window, "window_mse": mse, "window_mae": mse / 2, "seconds": 3.0 + seed,
            "draws": arm != "ridge",
        })  # fmt: skip
    return pd.DataFrame(rows)


def test_a_block_holds_a_window_and_is_whole_weeks() -> None:
    assert [block_of(window) for window in (1, 96, 168, 169, 336, 720)] == [7, 7, 7, 14, 14, 35]
    assert [block_of(window, day=96) for window in (96, 672, 673)] == [7, 7, 14]  # rows of a quarter of an hour
    assert [block_of(window, day=1) for window in (7, 8)] == [7, 14]


def test_blocks_are_weeks_of_the_days_of_the_data() -> None:
    """Windows of 720 rows are 30 days of hourly rows, of which the period has one block, and 7.5 days of quarters."""
    hourly = compared(over_seeds(along()), "ridge", "psrnn")
    quarters = compared(over_seeds(along().assign(day=96)), "ridge", "psrnn")
    blocks = [table[table["window"] == 720]["blocks"].iloc[0] for table in (hourly, quarters)]
    assert blocks == [1, 2]


def test_the_challenger_meets_every_arm_and_the_others_the_baseline() -> None:
    arms = sorted(ARMS)
    assert pairs_of(arms, "ridge", "psrnn") == [
        ("psrnn", "echo_state"), ("psrnn", "lstm"), ("psrnn", "ridge"), ("echo_state", "ridge"), ("lstm", "ridge"),
    ]  # fmt: skip
    assert pairs_of(arms, None, None) == []
    assert pairs_of(["lstm"], "ridge", "psrnn") == []


def test_ratios_are_of_weighted_means_over_seeds() -> None:
    table = along()
    paired = compared(over_seeds(table), "ridge", "psrnn")
    row = paired[(paired["arm"] == "psrnn") & (paired["against"] == "ridge") & (paired["window"] == 96)].iloc[0]
    here = table[table["window"] == 96]
    means = {arm: np.average(own["window_mse"], weights=own["windows"]) for arm, own in here.groupby("arm")}
    assert row["ratio"] == pytest.approx(means["psrnn"] / means["ridge"])
    assert row["ratio_low"] < row["ratio"] < row["ratio_high"] < 1
    assert row["blocks"] == 8
    assert row["p_holm"] == row["p"]  # of one window with a p; the other has too few blocks


def test_verdicts_say_what_holds_and_nothing_of_too_few_blocks() -> None:
    found = by_window(jobs(), COMPARE, lambda _: along(), FORECASTS)
    claims = found.tables["paired.csv"].set_index(["arm", "against", "window"])["verdict"]
    assert claims["psrnn", "ridge", 96] == "holds"
    assert claims["lstm", "ridge", 96] == "does not hold"
    assert claims["psrnn", "ridge", 720] == "undecided"
    assert set(
        by_window(jobs(stand_in=True), COMPARE, lambda _: along(), FORECASTS).tables["paired.csv"]["verdict"]
    ) == {"no claim (stand-in data)"}


@pytest.mark.parametrize(("seeds", "few"), [(1, "undecided: one seed"), (2, "undecided: two seeds"), (3, None)])
def test_of_few_seeds_of_an_arm_that_draws_the_verdict_is_undecided(seeds: int, few: str | None) -> None:
    """The fewest of the two arms count, and a ridge has none: two that draw nothing are told apart by one job."""
    table, periods = (each[(each["arm"] != "psrnn") | (each["seed"] < seeds)] for each in (jobs(), along()))
    table = table.assign(draws=table["arm"].isin(["psrnn", "echo_state"]))
    paired = by_window(table, COMPARE, lambda _: periods, FORECASTS).tables["paired.csv"]
    claims = paired[paired["window"] == 96].set_index(["arm", "against"])["verdict"]
    assert claims["psrnn", "echo_state"] == claims["psrnn", "ridge"] == (few or "holds")
    assert claims["echo_state", "ridge"] == "holds"
    assert claims["lstm", "ridge"] == "does not hold"


def test_two_models_that_draw_nothing_are_told_apart_by_one_seed_and_an_old_table_counts_as_drawing() -> None:
    table = jobs(seeds=1)
    for known, said in ((table.assign(draws=False), "does not hold"), (table.drop(columns="draws"), FEW[1])):
        claims = by_window(known, COMPARE, lambda _: along(1), FORECASTS).tables["paired.csv"]
        assert claims.set_index(["arm", "against", "window"]).loc[("lstm", "ridge", 96), "verdict"].endswith(said)
    stand_in = by_window(jobs(stand_in=True, seeds=1), COMPARE, lambda _: along(1), FORECASTS).tables["paired.csv"]
    assert set(stand_in["verdict"]) == {"no claim (stand-in data)"}


def test_a_data_set_that_stands_in_leaves_the_claims_of_the_others() -> None:
    both, errors = [jobs(), jobs(stand_in=True).assign(data="made")], [along(), along().assign(data="made")]
    found = by_window(pd.concat(both), COMPARE, lambda _: pd.concat(errors), FORECASTS).tables["paired.csv"]
    claims = {data: set(rows["verdict"]) for data, rows in found.groupby("data")}
    assert claims == {"ett": {"holds", "does not hold", "undecided"}, "made": {"no claim (stand-in data)"}}


def test_the_page_has_means_over_seeds_and_can_be_made_again_from_its_files() -> None:
    table = jobs()
    found = summarise(table, COMPARE, lambda _: along(), FORECASTS)
    means = found.tables["means.csv"]
    assert means["window"].tolist() == [96] * 4 + [720] * 4
    first = means.iloc[0]
    own = table[(table["arm"] == "psrnn") & (table["window"] == 96)]
    assert (first["arm"], first["seeds"], first["seconds"]) == ("psrnn", 3, 4.0)
    assert first["mse"] == pytest.approx(own["window_mse"].mean())
    assert (first["mse_least"], first["mse_largest"]) == (own["window_mse"].min(), own["window_mse"].max())
    again = summarise(table, COMPARE, lambda _: found.tables["along.csv"], FORECASTS)
    assert again.text == found.text
    pd.testing.assert_frame_equal(again.tables["paired.csv"], found.tables["paired.csv"])
    assert "pooled" not in found.text


def test_unstable_jobs_are_kept_and_counted_where_there_is_one() -> None:
    table = jobs()
    whole = by_window(table, COMPARE, lambda _: along(), FORECASTS)
    assert "unstable" not in whole.text
    unstable = table["arm"].eq("lstm") & table["window"].eq(96) & table["seed"].lt(2)
    found = by_window(table.assign(stable=~unstable), COMPARE, lambda _: along(), FORECASTS)
    means = found.tables["means.csv"]
    assert means.set_index(["window", "arm"])["unstable"].loc[lambda counts: counts > 0].to_dict() == {(96, "lstm"): 2}
    assert means["unstable"].sum() == 2
    pd.testing.assert_frame_equal(means.drop(columns="unstable"), whole.tables["means.csv"])
    assert "`unstable` is the number of jobs that are unstable, which are not left out here" in found.text


def test_jobs_without_windows_are_refused() -> None:
    with pytest.raises(PipelineError, match=r"these jobs were scored over no windows; give evaluate\.window=96"):
        by_window(jobs().drop(columns="window"), COMPARE, lambda _: along(), FORECASTS)


@pytest.mark.parametrize("unlike", ["fewer", "other"])
def test_arms_that_were_scored_over_other_windows_are_refused(unlike: str) -> None:
    table = along()
    lstm = (table["arm"] == "lstm") & (table["window"] == 96)
    if unlike == "fewer":
        table = table[~(lstm & (table["place"] == 59))]
    else:  # it begins elsewhere in a day, so that its places are other hours
        table.loc[lstm & (table["place"] == 59), "windows"] = 100
    with pytest.raises(PipelineError, match=r"window=96: lstm and echo_state were not scored over the same windows"):
        compared(over_seeds(table), "ridge", "psrnn")
