"""Claims of models against models, and errors against seconds, from tables of jobs made by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pipeline.compare import figures
from pipeline.compare.contenders import ADDED, EQUAL, PUBLISHED, rivals
from pipeline.compare.horizons import by_horizon, drawn
from pipeline.compare.seconds import on_front
from pipeline.compare.statistics import holm
from pipeline.compare.summary import summarise
from pipeline.compare.words import BEHIND
from pipeline.systems.psrnn.comparison import FORECASTS, columns
from pipeline.systems.psrnn.labels import label

NO_CLIENT: Any = None
SEEDS = 12
CHANCE = np.random.default_rng(0).normal(scale=0.01, size=(50, SEEDS))
MODELS = {"psrnn": "skip", "lstm": "skip", "var": "", "psrnn_kernel": "kernel", "lstm_kernel": "kernel"}
MODELS |= {"no_state_kernel": "kernel"}


def model_of(arm: str) -> str:
    return arm.removesuffix("_kernel")


def jobs(data: str = "waves", seconds: float = 1.0, epochs: int = 0, **errors: tuple[float, float]) -> pd.DataFrame:
    """An arm a keyword, with its error at horizons 1 and 5; `SEEDS` seeds each, with a little noise of its own."""
    rows = []
    for place, (arm, (first, fifth)) in enumerate(errors.items()):
        for seed in range(SEEDS):
            noise = math.exp(CHANCE[place, seed])
            rows.append({
                "run": f"{arm}{seed}", "run_id": f"{arm}{seed}", "data": data, "stand_in": False, "arm": arm,
                "model": model_of(arm), "readout": MODELS.get(arm, "kernel"), "sampler": "", "kernel": "", "count": 10,
                "seed": seed, "parameters": 7, "epochs": epochs, "seconds": seconds * (place + 1),
                "overrides": f"seed={seed}", "validation_mse": first, "test_mse": first * noise,
                "test_mse_horizon_5": fifth * noise, "stable": True, "first_step": 4,
            })  # fmt: skip
    return pd.DataFrame(rows)


def compare(figure: str, challenger: str | None = None) -> SimpleNamespace:
    return SimpleNamespace(figure=figure, baseline=None, challenger=challenger)


ALL = jobs(
    psrnn=(1.0, 4.0), lstm=(1.0, 4.0), var=(1.2, 5.0), psrnn_kernel=(0.8, 3.0), lstm_kernel=(0.9, 2.5),
    no_state_kernel=(0.8, 3.5),
)  # fmt: skip


def test_who_is_claimed_to_be_behind_whom() -> None:
    found = [tuple(each) for each in rivals(ALL, "psrnn", "no_state")]
    assert found == [
        (PUBLISHED, "psrnn", ["lstm", "var"]), (EQUAL, "psrnn", ["lstm"]), (PUBLISHED, "psrnn_kernel", ["lstm", "var"]),
        (EQUAL, "psrnn_kernel", ["lstm_kernel"]), (ADDED, "psrnn_kernel", ["no_state_kernel"]),
    ]  # fmt: skip
    alone = rivals(ALL, "psrnn_kernel", "no_state")
    assert tuple(alone[0]) == (PUBLISHED, "psrnn_kernel", ["lstm", "psrnn", "var"])
    assert alone[1:] == rivals(ALL, "psrnn", "no_state")[3:]
    assert rivals(ALL, "gru", "no_state") == []


def test_a_model_without_a_readout_has_no_equal() -> None:
    table = jobs(var=(1.0, 1.0), last_value=(1.0, 1.0)).assign(readout="")
    assert [each.claim for each in rivals(table, "var", "no_state")] == [PUBLISHED]


def test_claims_by_horizon() -> None:
    tables = summarise(ALL, compare("contenders", "psrnn"), NO_CLIENT, FORECASTS).tables
    claims = tables["claims.csv"].set_index(["arm", "claim", "horizon"])["verdict"]
    expected = {
        ("psrnn_kernel", PUBLISHED, 1): "holds", ("psrnn_kernel", PUBLISHED, 5): "holds",
        ("psrnn_kernel", EQUAL, 1): "holds", ("psrnn_kernel", EQUAL, 5): "does not hold",
        ("psrnn_kernel", ADDED, 1): "undecided", ("psrnn_kernel", ADDED, 5): "holds",
        ("psrnn", PUBLISHED, 1): "undecided", ("psrnn", EQUAL, 1): "undecided", ("psrnn", PUBLISHED, 5): "undecided",
        ("psrnn", EQUAL, 5): "undecided",
    }  # fmt: skip
    assert claims.to_dict() == expected
    behind = tables["claims.csv"].set_index(["arm", "claim", "horizon"])["not ahead of"]
    assert behind["psrnn_kernel", EQUAL, 5] == "lstm_kernel"
    assert behind["psrnn_kernel", PUBLISHED, 1] == ""
    paired = tables["paired.csv"]
    assert len(paired) == 2 * 7  # horizons × pairs of arms, as often as a claim is about them
    pairs = paired.drop_duplicates(["arm", "against", "horizon"])
    assert len(pairs) == 2 * 6  # the LSTM is published and has an equal readout
    np.testing.assert_array_equal(pairs["p_holm"], holm(pairs["p"].to_numpy()))
    assert (paired.groupby(["arm", "against", "horizon"])["p_holm"].nunique() == 1).all()
    row = paired.set_index(["claim", "arm", "against", "horizon"]).loc[(EQUAL, "psrnn_kernel", "lstm_kernel", 5)]
    wide = ALL.pivot(index="seed", columns="arm", values="test_mse_horizon_5")
    assert row["ratio"] == pytest.approx(np.exp(np.log(wide["psrnn_kernel"] / wide["lstm_kernel"]).mean()))


def test_a_model_whose_forecasts_diverge_is_not_ahead_by_those_that_do_not() -> None:
    table = jobs(psrnn_kernel=(0.8, 3.0), lstm_kernel=(0.9, 3.5))
    diverged = (table["arm"] == "psrnn_kernel") & (table["seed"] < 3)
    table.loc[diverged, "test_mse_horizon_5"] = math.inf
    claims = summarise(table, compare("contenders", "psrnn"), NO_CLIENT, FORECASTS).tables["claims.csv"]
    found = {row.horizon: (row.verdict, row.behind) for row in claims.rename(columns={BEHIND: "behind"}).itertuples()}
    assert found == {1: ("holds", ""), 5: ("undecided", "lstm_kernel")}
    table.loc[(table["arm"] == "lstm_kernel") & (table["seed"] < 3), "test_mse_horizon_5"] = math.inf
    claims = summarise(table, compare("contenders", "psrnn"), NO_CLIENT, FORECASTS).tables["claims.csv"]
    assert claims["verdict"].tolist() == ["holds", "holds"]


def test_a_job_whose_forecasts_diverge_counts_as_unstable_at_that_horizon_alone() -> None:
    """Though its error is a finite number, as it may be for a few steps."""
    table = jobs(psrnn_kernel=(0.8, 3.0), lstm_kernel=(0.9, 3.5)).assign(stable_horizon_5=True)
    diverged = (table["arm"] == "lstm_kernel") & (table["seed"] < 2)
    table.loc[diverged, ["test_mse_horizon_5", "stable_horizon_5"]] = [1e29, False]
    tables = summarise(table, compare("contenders", "psrnn"), NO_CLIENT, FORECASTS).tables
    means = tables["means.csv"].set_index(["arm", "horizon"])
    assert means["unstable_share"].to_dict() == {
        ("lstm_kernel", 1): 0, ("lstm_kernel", 5): 2 / SEEDS, ("psrnn_kernel", 1): 0, ("psrnn_kernel", 5): 0,
    }  # fmt: skip
    assert means.loc[("lstm_kernel", 5), "error"] < 10
    paired = tables["paired.csv"]
    assert paired.groupby("horizon")["unstable_pairs"].max().to_dict() == {1: 0, 5: 2}


def test_the_validation_error_is_of_the_draws_that_the_error_beside_it_is_of() -> None:
    """One of two LSTMs is unstable, the other diverges at five steps; one of the PSRNNs at five, the other nowhere."""
    table = jobs(lstm=(1.0, 2.0), psrnn=(1.0, 2.0)).assign(stable_horizon_5=True)
    table = table[table["seed"] < 2].assign(validation_mse=[9e9, 0.5, 8.0, 0.25])
    table["stable"] = [False, True, True, True]
    table["test_mse_horizon_5"] = [1.0, math.inf, math.inf, 2.0]
    means = summarise(table, compare("contenders"), NO_CLIENT, FORECASTS).tables["means.csv"]
    found = means.set_index(["arm", "horizon"])["validation_mse"]
    assert found["lstm", 1] == 0.5
    assert math.isnan(found["lstm", 5])
    assert (found["psrnn", 1], found["psrnn", 5]) == (4.125, 0.25)
    assert list(means)[-4:] == ["parameters", "validation_mse", "seconds", "front"]


def test_jobs_of_an_arm_that_all_diverge_are_shown_as_they_are() -> None:
    table = jobs(psrnn_kernel=(0.8, 3.0), lstm_kernel=(0.9, 4e5)).assign(stable_horizon_5=True)
    table.loc[table["arm"] == "lstm_kernel", "stable_horizon_5"] = False
    means = summarise(table, compare("contenders"), NO_CLIENT, FORECASTS).tables["means.csv"]
    row = means.set_index(["arm", "horizon"]).loc[("lstm_kernel", 5)]
    assert row["unstable_share"] == 0
    assert 1e5 < row["error"] < 1e6


def test_jobs_that_count_nowhere_do_not_hide_that_all_others_of_their_arm_diverge() -> None:
    """One that is unstable at all horizons, and one that was not scored so far ahead."""
    table = jobs(lstm_kernel=(0.9, 40.0)).assign(stable_horizon_5=False)
    table.loc[0, ["stable", "stable_horizon_5"]] = [False, True]
    table["stable_horizon_5"] = table["stable_horizon_5"].astype(object)
    table.loc[1, ["test_mse_horizon_5", "stable_horizon_5"]] = [math.nan, None]
    ahead = by_horizon(table, FORECASTS).query("count == 5").set_index("seed")["stable"]
    assert ahead.to_dict() == {0: False} | dict.fromkeys(range(2, SEEDS), True)


def test_jobs_that_do_not_say_whether_forecasts_diverge_count_as_stable() -> None:
    older, newer = jobs(lstm=(1.0, 2.0)), jobs(lstm=(1.0, 2.0)).assign(stable_horizon_5=False)
    long = by_horizon(pd.concat([older, newer], ignore_index=True), FORECASTS).set_index("count")["stable"]
    assert long.loc[5].tolist() == [True] * SEEDS + [False] * SEEDS
    assert long.loc[1].all()


def test_holm_adjusts_each_data_set_and_split_by_itself() -> None:
    both = pd.concat([ALL.assign(varied=""), ALL.assign(varied="data.seed=1", run_id=ALL["run_id"] + "b")])
    table = summarise(both, compare("contenders", "psrnn"), NO_CLIENT, FORECASTS).tables["paired.csv"]
    assert set(table["varied"]) == {"", "data.seed=1"}
    alone = summarise(ALL, compare("contenders", "psrnn"), NO_CLIENT, FORECASTS).tables["paired.csv"]
    for _, rows in table.groupby("varied"):
        np.testing.assert_array_equal(rows["p_holm"], alone["p_holm"])


def test_stand_in_data_give_no_claim() -> None:
    table = ALL.assign(stand_in=True)
    claims = summarise(table, compare("contenders", "psrnn"), NO_CLIENT, FORECASTS).tables["claims.csv"]
    assert set(claims["verdict"]) == {"no claim (stand-in data)"}


def test_jobs_of_older_versions_have_one_horizon_and_one_claim() -> None:
    old = ALL.drop(columns=["readout", "seconds", "epochs", "test_mse_horizon_5"])
    old = old[~old["arm"].str.endswith("_kernel")]
    summary = summarise(old, compare("contenders", "psrnn"), NO_CLIENT, FORECASTS)
    assert set(summary.figures) == {"figures/contenders"}
    assert summary.tables["claims.csv"][["claim", "arm", "horizon"]].to_numpy().tolist() == [[PUBLISHED, "psrnn", 1]]
    assert "seconds" not in summary.tables["means.csv"]


def test_a_horizon_that_some_jobs_were_not_scored_at_leaves_them_out() -> None:
    table = ALL.copy()
    table.loc[table["arm"] == "var", "test_mse_horizon_5"] = math.nan
    long = by_horizon(table, FORECASTS)
    assert len(long) == 2 * len(table) - SEEDS
    assert set(long.loc[long["arm"] == "var", "count"]) == {1}


def test_the_page_says_what_it_shows() -> None:
    summary = summarise(ALL, compare("contenders", "psrnn"), NO_CLIENT, FORECASTS)
    for words in (
        "### Ahead of every published baseline", "### Ahead of every model at equal readout",
        "### Better than the same readout without a state", "| waves | 5 | PSRNN (kernel) | LSTM (kernel) |",
        "`front` says that no other row",
    ):  # fmt: skip
        assert words in summary.text
    titles = [panel.get_title() for panel in summary.figures["figures/contenders"].axes]
    assert titles == ["waves", "waves, 5 steps ahead"]


def front(rows: list[tuple[float, float]]) -> list[bool]:
    return on_front(pd.DataFrame(rows, columns=["error", "seconds"])).tolist()


def test_the_front_of_error_and_seconds() -> None:
    assert front([(1.0, 1.0), (0.5, 2.0), (0.7, 3.0), (0.5, 2.5)]) == [True, True, False, False]
    assert front([(1.0, 1.0), (1.0, 1.0)]) == [True, True]
    assert front([(math.nan, 0.1), (1.0, 1.0)]) == [False, True]


@pytest.mark.parametrize("figure", ["contenders", "seconds"])
def test_a_job_that_was_resumed_has_no_seconds_to_compare(figure: str) -> None:
    both = jobs(var=(1.0, 5.0), gru=(0.5, 2.0))
    known, none = both.copy(), both.copy()
    known.loc[known.index[known["arm"] == "gru"][0], "seconds"] = math.nan
    none.loc[none["arm"] == "gru", "seconds"] = math.nan
    for table, fronts in ((known, {"gru": True, "var": True}), (none, {"gru": False, "var": True})):
        summary = summarise(table, compare(figure), NO_CLIENT, FORECASTS)
        means = summary.tables["means.csv"]
        assert means[means["horizon"] == 1].set_index("arm")["front"].to_dict() == fronts
        assert "Jobs that were stopped and gone on with are left out of that" in summary.text
        assert "figures/seconds" in summary.figures
    assert "gone on with" not in summarise(both, compare(figure), NO_CLIENT, FORECASTS).text
    lost = summarise(both.assign(seconds=math.nan), compare(figure), NO_CLIENT, FORECASTS)
    assert not lost.tables["means.csv"]["front"].any()


def test_errors_against_seconds_of_models_that_were_trained_for_several_epochs() -> None:
    trained = [jobs(seconds=1.0 + epochs, epochs=epochs, lstm_kernel=(1 / (1 + epochs), 3.0)) for epochs in (1, 5)]
    table = pd.concat([*trained, jobs(seconds=0.5, no_state_kernel=(0.9, 3.0))], ignore_index=True)
    summary = summarise(table, compare("seconds"), NO_CLIENT, FORECASTS)
    means = summary.tables["means.csv"]
    assert means[["horizon", "arm", "epochs"]].to_numpy().tolist() == [
        [1, "lstm_kernel", 1], [1, "lstm_kernel", 5], [1, "no_state_kernel", 0],
        [5, "lstm_kernel", 1], [5, "lstm_kernel", 5], [5, "no_state_kernel", 0],
    ]  # fmt: skip
    assert means["seconds"].tolist() == [2.0, 6.0, 0.5] * 2
    assert means.loc[means["horizon"] == 1, "front"].all()
    (panel, _) = summary.figures["figures/seconds"].axes
    words = [text.get_text() for text in panel.texts]
    assert words == [" (1)", "1 (5)", "2"]
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")


def test_the_lines_of_many_arms_are_told_apart_by_their_numbers() -> None:
    arms = {f"model{i:02d}": (1.0 + i, 1.0) for i in range(9)}
    means = summarise(jobs(**arms), compare("contenders"), NO_CLIENT, FORECASTS).tables["means.csv"]
    figure = figures.error_by_seconds(drawn(means[means["horizon"] == 1]), FORECASTS, title="t")
    assert figure.get_suptitle() == "t"
    (panel,) = figure.axes
    assert [text.get_text() for text in panel.texts] == [str(i + 1) for i in range(9)]
    labels = panel.get_legend_handles_labels()[1]
    assert labels == ["smallest error so far", *(f"{i + 1}: model{i:02d}" for i in range(9))]


def test_what_is_read_of_a_run() -> None:
    tags = {"arm": "psrnn_kernel", "model": "psrnn", "sampler": "iid", "kernel": "gaussian", "stability": "stable"}
    metrics = {
        "model/parameters": 3.0, "load/seconds": 9.0, "two_stage/seconds": 2.0, "bptt/seconds": 0.5,
        "evaluate/seconds": 7.0, "evaluate/test_mse": 1.0, "evaluate/test_mse_horizon_1": 1.0,
        "evaluate/test_mse_horizon_20": 5.0, "evaluate/test_mse_persistence_horizon_20": 6.0,
    }  # fmt: skip
    parameters = {"features.count": "10", "refine.epochs": "20"}
    data = SimpleNamespace(tags={**tags, "readout": "kernel"}, params=parameters, metrics=metrics)
    row = columns(SimpleNamespace(data=data))
    assert row["seconds"] == 2.5
    assert (row["test_mse_horizon_20"], row["stable_horizon_20"]) == (5.0, True)
    assert (row["readout"], row["epochs"]) == ("kernel", 20)
    assert not any("persistence" in name or name.endswith("_1") for name in row)
    data.tags = tags | {"diverged.horizons": "5,20"}
    row = columns(SimpleNamespace(data=data))
    assert (row["readout"], row["stable_horizon_20"]) == ("", False)
    data.tags = tags | {"diverged.horizons": "2"}
    assert columns(SimpleNamespace(data=data))["stable_horizon_20"] is True
    data.tags = tags | {"resumed": "true"}
    assert math.isnan(columns(SimpleNamespace(data=data))["seconds"])  # its clock counted the last process alone


def test_names_of_models_with_their_readouts() -> None:
    names = ("psrnn_kernel", "echo_state_linear", "psrnn_cp", "psrnn_cp_skip", "own_kernel")
    assert [label(name) for name in names] == [
        "PSRNN (kernel)", "echo state network (linear)", "factorised PSRNN", "factorised PSRNN (skip)", "own_kernel",
    ]  # fmt: skip


def test_ticks_of_a_narrow_logarithmic_axis_are_a_few_numbers() -> None:
    means = pd.DataFrame({"data": "waves", "arm": ["lstm", "psrnn"], "error": [0.85, 0.88], "error_low": 0.84,
                          "error_high": 0.89})  # fmt: skip
    (panel,) = figures.contender_figure(means, FORECASTS, title="narrow").axes
    low, high = panel.get_xlim()
    shown = [text.get_text() for text in panel.get_xticklabels() if low <= text.get_position()[0] <= high]
    assert 2 <= len(shown) <= 5
    assert all(low <= float(text) <= high for text in shown)
    assert not len(panel.xaxis.get_minorticklocs())


@pytest.mark.parametrize("draw", [figures.contender_figure, figures.error_by_seconds])
def test_an_axis_of_a_single_value_has_room_around_it(draw: Any) -> None:
    """Rounding gives about one value in six a margin of one unit in the last place, to which no axis can be set."""
    for error in np.exp(np.random.default_rng(0).uniform(-8, 2, size=12)):
        ends = {"error": error, "error_low": np.nextafter(error, 0), "error_high": np.nextafter(error, 9)}
        means = pd.DataFrame([{"data": "waves", "arm": "gru", "seconds": error, "front": True, "horizon": 1} | ends])
        figure = draw(means, FORECASTS, title="one")
        figure.canvas.draw()
        (panel,) = figure.axes
        np.testing.assert_allclose(panel.get_xlim(), [error / 2, error * 2], rtol=1e-6)
