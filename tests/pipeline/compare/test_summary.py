"""What parents of multiruns show, from tables of jobs made by hand; and when a first model counts as blown up."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hydra.utils import get_object
from omegaconf import OmegaConf

from data.base import Dataset, Sequences
from models.baselines.persistence import Persistence
from models.forecasting.filtering import MaskedSequences, filter_sequences
from models.forecasting.horizons import horizon_errors
from models.forecasting.readout import FittedReadout
from pipeline.compare import figures
from pipeline.compare.comparison import Comparison, other_scores, stored_error
from pipeline.compare.summary import kept_up, summarise
from pipeline.host.errors import PipelineError
from pipeline.host.paths import conf_folder
from pipeline.plotting import MSE
from pipeline.systems.psrnn.comparison import FORECASTS
from pipeline.systems.psrnn.figures import horizon_curve
from pipeline.systems.psrnn.first_model import judge, mean_predictor_mse
from pipeline.systems.psrnn.labels import label, name_of
from pipeline.systems.psrnn.load import load

NO_CLIENT: Any = None
ACCURACY = replace(FORECASTS, higher_is_better=True, label="accuracy (share of rows)", counted_as="trees")
CAPTIONS = (
    "Error: geometric mean of the test errors over seeds, with its 95 % interval from 3 seeds on",
    "geometric mean of the ratios, with its 95 % interval from 3 pairs on",
)


def jobs(**errors: list[float]) -> pd.DataFrame:
    """One data set, one count; an arm a keyword, an error a seed."""
    rows = [
        {
            "run": f"{arm}{seed}", "run_id": f"{arm}{seed}", "data": "waves", "stand_in": False, "arm": arm,
            "model": arm, "sampler": "", "kernel": "", "count": 10, "seed": seed, "parameters": 7,
            "overrides": f"seed={seed}", "validation_mse": error / 2, "test_mse": error, "stable": math.isfinite(error),
            "first_step": 4,
        }
        for arm, values in errors.items() for seed, error in enumerate(values)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def compare(figure: str, **named: str) -> SimpleNamespace:
    return SimpleNamespace(**{"figure": figure, "baseline": None, "challenger": None, **named})


def test_contenders_ahead_of_all_or_not() -> None:
    low = [0.10, 0.11, 0.12, 0.10, 0.11, 0.12, 0.10]
    table = jobs(psrnn=low, lstm=[2 * e for e in low], var=[3 * e for e in low])
    claims = summarise(table, compare("contenders", challenger="psrnn"), NO_CLIENT, FORECASTS).tables["claims.csv"]
    assert claims[["verdict", "not ahead of"]].to_numpy().tolist() == [["holds", ""]]
    table = jobs(psrnn=low, lstm=[0.9 * e for e in low], var=[3 * e for e in low])
    claims = summarise(table, compare("contenders", challenger="psrnn"), NO_CLIENT, FORECASTS).tables["claims.csv"]
    assert claims[["verdict", "not ahead of"]].to_numpy().tolist() == [["does not hold", "lstm"]]
    level = [e * factor for e, factor in zip(low, [0.9, 1.1, 0.95, 1.05, 0.9, 1.1, 1.0], strict=True)]
    claims = summarise(
        jobs(psrnn=low, lstm=level), compare("contenders", challenger="psrnn"), NO_CLIENT, FORECASTS
    ).tables["claims.csv"]
    assert claims[["verdict", "not ahead of"]].to_numpy().tolist() == [["undecided", "lstm"]]
    table = jobs(psrnn=low, lstm=[math.inf] * len(low))
    claims = summarise(table, compare("contenders", challenger="psrnn"), NO_CLIENT, FORECASTS).tables["claims.csv"]
    assert claims["verdict"].tolist() == ["undecided"]


def test_pages_show_the_names_that_people_use_and_tables_those_of_the_settings() -> None:
    table = jobs(psrnn=[0.2, 0.2, 0.3], last_value=[0.1, 0.1, 0.1], var=[0.3, 0.3, 0.3])
    summary = summarise(table, compare("contenders", challenger="psrnn"), NO_CLIENT, FORECASTS)
    assert summary.tables["means.csv"]["arm"].tolist() == ["last_value", "psrnn", "var"]
    for words in ("| waves | 1 | last value | 3 |", "| waves | 1 | PSRNN | 3 |", "| waves | 1 | ridge VAR | 3 |"):
        assert words in summary.text
    assert "undecided | last value, ridge VAR |" in summary.text
    (panel,) = summary.figures["figures/contenders"].axes
    assert [tick.get_text() for tick in panel.get_yticklabels()] == ["ridge VAR", "PSRNN", "last value"]


@pytest.mark.parametrize(
    "asked",
    [compare("contenders", challenger="bad"), compare("contenders"), compare("count", baseline="good"),
     compare("count", baseline="good", challenger="bad")],
)  # fmt: skip
def test_what_is_better_when_higher_is_compared_by_no_ratio(asked: SimpleNamespace) -> None:
    table = jobs(bad=[0.6 + 0.01 * i for i in range(8)], good=[0.9 + 0.01 * i for i in range(8)])
    with pytest.raises(PipelineError, match=r"pairs are compared by the ratio of their errors, and .* higher is bett"):
        summarise(table, asked, NO_CLIENT, ACCURACY)


def test_the_best_is_at_the_top_whichever_direction_is_better() -> None:
    means = pd.DataFrame({"data": "d", "arm": ["a", "b", "c"], "error": [0.9, 0.6, 0.7]})
    means = means.assign(error_low=means["error"], error_high=means["error"])
    for comparison, upwards in ((ACCURACY, ["b", "c", "a"]), (FORECASTS, ["a", "c", "b"])):
        (panel,) = figures.contender_figure(means, comparison, title="t").axes
        assert [tick.get_text() for tick in panel.get_yticklabels()] == upwards


def test_figures_and_words_are_those_of_the_metric() -> None:
    def shown(comparison: Comparison) -> tuple[str, str, str]:
        figure = summarise(jobs(one=[0.5]), compare("count"), NO_CLIENT, comparison).figures["figures/error_by_count"]
        return figure.get_suptitle(), figure.get_supxlabel().split("\n")[0], figure.get_supylabel()

    forecasts = ("test error by number of frequencies (waves: 1 seeds)", "frequencies m", MSE)
    assert shown(FORECASTS) == forecasts
    assert shown(ACCURACY) == ("test accuracy by number of trees (waves: 1 seeds)", "trees m", ACCURACY.label)
    uncounted = replace(FORECASTS, label="seconds", counted_as=None)
    assert shown(uncounted) == ("test error (waves: 1 seeds)", figures.BAND, "seconds")
    ranked = summarise(jobs(one=[0.5]), compare("trials"), NO_CLIENT, ACCURACY)
    assert ranked.text.startswith("Trials by validation accuracy (1 of 1")


@pytest.mark.parametrize("figure", ["count", "epoch"])
def test_captions_and_columns_in_words_are_those_of_the_metric(figure: str) -> None:
    table = jobs(one=[0.5, 0.25])
    text = summarise(table, compare(figure), lambda _: table.assign(epoch=0), ACCURACY).text
    assert "Accuracy: geometric mean of the test accuracy over seeds, with its 95 % interval from" in text
    assert "| accuracy | accuracy_low | accuracy_high |" in text
    assert "rror" not in text


def test_every_forecaster_has_words() -> None:
    for path in (conf_folder() / "model").glob("*.yaml"):
        target = str(OmegaConf.load(path)["_target_"])
        assert name_of(get_object(target)) == path.stem
        assert FORECASTS.named(path.stem) != path.stem or target.startswith("models.ssgp")
    assert (label("ar4"), label("arima"), label("iid")) == ("AR(4)", "arima", "iid")


def test_a_method_without_a_name_is_called_by_its_class_and_equal_labels_are_drawn_apart() -> None:
    class Mine: ...

    assert name_of(Mine()) == "Mine"
    errors = pd.DataFrame([[1.0, 2.0]], index=[1], columns=["last value", "last value"])
    (panel,) = horizon_curve(errors, title="t").axes
    assert [line.get_ydata().tolist() for line in panel.lines] == [[1.0], [2.0]]


def test_a_job_that_blew_up_is_counted_and_in_no_mean() -> None:
    table = jobs(iid=[1.0, 1.0, 1.0, math.inf])
    summary = summarise(table, compare("count"), NO_CLIENT, FORECASTS)
    means = summary.tables["means.csv"]
    assert means["error"].tolist() == [1.0]
    assert means["unstable_share"].tolist() == [0.25]
    assert summary.tables["by_arm_and_count.csv"]["unstable_jobs"].tolist() == [1]


@pytest.mark.parametrize("figure", ["count", "epoch", "contenders"])
def test_captions_say_which_mean_it_is_and_from_how_many_seeds_on_there_are_intervals(figure: str) -> None:
    def known(errors: list[float]) -> bool:
        table = jobs(lstm=errors, psrnn=errors)
        curves = table.assign(epoch=0)
        summary = summarise(table, compare(figure, baseline="lstm", challenger="psrnn"), lambda _: curves, FORECASTS)
        lines = summary.text.splitlines()
        means, ratios = (next(i for i, line in enumerate(lines) if words in line) for words in CAPTIONS)
        assert means < next(i for i, line in enumerate(lines) if "| error | error_low |" in line) < ratios
        assert ratios < next(i for i, line in enumerate(lines) if "| ratio | ratio_low |" in line)
        found = summary.tables["means.csv"]
        assert found["error"].tolist() == pytest.approx([math.prod(errors) ** (1 / len(errors))] * 2)
        return bool(found["error_low"].notna().all() and summary.tables["paired.csv"]["ratio_low"].notna().all())

    assert [known(errors) for errors in ([1.0, 4.0], [1.0, 2.0, 4.0])] == [False, True]


def test_studies_among_forecasters_are_listed_and_in_no_figure() -> None:
    forecasters = jobs(iid=[1.0, 2.0, 3.0], orthogonal=[1.0, 1.5, 2.0])
    study = {"run": "trace-seed0", "run_id": "t", "data": "diag", "stand_in": False, "seed": 0, "overrides": "seed=0"}
    table = pd.concat([forecasters, pd.DataFrame([study])], ignore_index=True)
    mixed, plain = (summarise(each, compare("count"), NO_CLIENT, FORECASTS) for each in (table, forecasters))
    assert mixed.tables["jobs.csv"]["run"].tolist() == table["run"].tolist()
    pd.testing.assert_frame_equal(mixed.tables["by_arm_and_count.csv"], plain.tables["by_arm_and_count.csv"])
    pd.testing.assert_frame_equal(mixed.tables["means.csv"], plain.tables["means.csv"])
    assert mixed.text == plain.text


@pytest.mark.parametrize("figure", ["count", "epoch"])
def test_jobs_that_nothing_tells_apart_are_said_to_be_pooled(figure: str) -> None:
    table = pd.concat([jobs(iid=[1.0, 2.0]), jobs(iid=[10.0, 20.0])])
    with pytest.warns(UserWarning, match="4 of 4 jobs agree in data, arm, kernel, count and seed and are pooled"):
        summary = summarise(table, compare(figure), lambda found: found.assign(epoch=0), FORECASTS)
    assert summary.text.startswith("**4 of 4 jobs agree")
    assert summary.tables["means.csv"]["jobs"].tolist() == [4]


def test_jobs_that_nothing_tells_apart_are_said_to_be_so_where_they_are_not_compared() -> None:
    table = pd.concat([jobs(iid=[1.0], sobol=[2.0])] * 2)
    with (
        pytest.warns(UserWarning, match="4 of 4 jobs agree in data, arm, kernel, count and seed and are pooled"),
        pytest.raises(ValueError, match="compare jobs that differ in nothing else"),
    ):
        summarise(table, compare("count", baseline="iid", challenger="sobol"), NO_CLIENT, FORECASTS)


def test_trials_show_no_test_error() -> None:
    summary = summarise(jobs(lstm=[0.4, 0.2]), compare("trials"), NO_CLIENT, FORECASTS)
    assert list(summary.tables) == ["trials.csv"]
    assert summary.tables["trials.csv"]["validation_mse"].tolist() == [0.1, 0.2]
    assert "test" not in " ".join(summary.tables["trials.csv"].columns)


def test_a_curve_that_ended_early_stays_where_it_ended_and_keeps_its_gaps() -> None:
    rows = [("a", 0, 3.0), ("a", 1, math.nan), ("a", 2, 1.0), ("b", 0, 5.0)]
    curves = pd.DataFrame(rows, columns=["arm", "epoch", "test_mse"]).assign(data="waves", count=1, seed=0)
    full = kept_up(curves)
    np.testing.assert_array_equal(full[full["arm"] == "a"]["test_mse"], [3.0, math.nan, 1.0])
    assert full[full["arm"] == "b"]["test_mse"].tolist() == [5.0, 5.0, 5.0]
    assert full[full["arm"] == "b"]["epoch"].tolist() == [0, 1, 2]
    alike = kept_up(curves.assign(arm="a"))
    np.testing.assert_array_equal(alike["test_mse"], [3.0, math.nan, 1.0, 5.0, 5.0, 5.0])


@pytest.mark.parametrize(("value", "kept"), [(0.5, 0.5), (1.7976931348623157e308, math.inf), (math.nan, math.inf)])
def test_errors_as_the_store_keeps_them(value: float, kept: float) -> None:
    assert stored_error(value) == kept


def test_tables_have_every_number_of_an_evaluation_but_the_error_and_the_seconds() -> None:
    metrics = {"evaluate/test_b": 2.0, "evaluate/test_error": 1.0, "fit/loss": 3.0, "evaluate/seconds": 4.0,
               "evaluate/test_a": 1.7976931348623157e308}  # fmt: skip
    run = SimpleNamespace(data=SimpleNamespace(metrics=metrics))
    assert list(other_scores(run, "evaluate/test_error").items()) == [("test_b", 2.0), ("test_a", math.inf)]


def noise() -> Dataset:
    generator = np.random.default_rng(0)
    parts = [Sequences.from_arrays([generator.standard_normal((200, 2))], [name]) for name in ("a", "b", "c")]
    return Dataset("noise", *parts, feature_names=("x", "y"), units=("", ""), source="test")


def test_a_draw_that_is_worse_than_the_mean_is_unstable_and_a_poor_baseline_is_not() -> None:
    parts = load(noise(), span=1, first_step=1, dtype=torch.float64, device=torch.device("cpu")).parts
    assert mean_predictor_mse(parts.validation) == pytest.approx(1.0, abs=0.2)
    last = Persistence(dimension=2).to(torch.float64)
    with pytest.warns(UserWarning, match=r"than predicting the mean: validation error 2\.\d+, where the mean has"):
        drawn = judge(last, parts, FittedReadout({}, None, None))
    poor = judge(last, parts, FittedReadout({}, None, None), drawn=False)
    assert not drawn.stable(drawn.train_mse, drawn.validation_mse)
    assert poor.stable(poor.train_mse, poor.validation_mse)
    assert drawn.stable(0.5, 0.5), "refinement may bring a draw below the mean"
    assert not poor.stable(0.5, math.nan)
    assert not poor.stable(math.inf, 0.5)


def test_a_forecast_that_is_not_a_number_is_infinitely_wrong() -> None:
    class Broken(Persistence):
        def predict(self, state):
            return torch.where(state[0] > 0, torch.nan, state[0])

        filter_observed = None  # the last value's own, which does not ask `predict`

    values = torch.tensor([[[-1.0], [1.0], [-1.0], [-1.0]]])
    mask = torch.ones_like(values, dtype=torch.bool)
    filtered = filter_sequences(Broken(dimension=1), values, mask)
    for horizons in ([1], [1, 2]):
        errors = horizon_errors(
            Broken(dimension=1), filtered, MaskedSequences(values, mask, mask), horizons, first_step=1
        )[1]
        np.testing.assert_array_equal(errors[0, :, 0], [math.nan, 4.0, math.inf, 0.0])


def test_jobs_that_were_not_scored_over_the_same_steps_are_said_not_to_compare() -> None:
    table = jobs(psrnn=[0.1, 0.2, 0.3], lstm=[0.2, 0.3, 0.4])
    assert "same steps" not in summarise(table, compare("contenders", challenger="psrnn"), NO_CLIENT, FORECASTS).text
    table.loc[table["arm"] == "lstm", "first_step"] = 8
    for figure in ("contenders", "trials"):
        with pytest.warns(UserWarning, match=r"not all jobs were scored over the same steps \(waves: from step 4, 8\)"):
            text = summarise(table, compare(figure, challenger="psrnn"), NO_CLIENT, FORECASTS).text
        assert text.startswith("**not all jobs were scored over the same steps")


def test_the_table_of_trials_leaves_out_what_a_multirun_says_to_its_jobs() -> None:
    told = "+experiment=tune tune.trial={} tracking.parent=0a1b tracking.experiment='my data\\'s, 2' update={}"
    table = jobs(psrnn=[0.2, 0.1]).assign(overrides=[told.format(i, "tracking=1" if i else "sign") for i in (0, 1)])
    found = summarise(table, compare("trials"), NO_CLIENT, FORECASTS)
    kept = ["+experiment=tune tune.trial=1 update=tracking=1", "+experiment=tune tune.trial=0 update=sign"]
    assert found.tables["trials.csv"]["overrides"].tolist() == kept
    assert "tracking.parent" not in found.text
