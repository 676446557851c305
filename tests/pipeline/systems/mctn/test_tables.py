"""The tables of a multirun of `recipe=mctn` and what they are made of, of made-up jobs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mctn_jobs import ERRORS, R2, job, jobs_of
from models.mctn.arms import ARMS
from pipeline.compare.claims import DOES_NOT_HOLD, HOLDS, UNDECIDED
from pipeline.systems.mctn import claims, labels, multirun, tables, thesis
from pipeline.systems.mctn.comparison import columns


def test_a_table_of_which_nothing_can_be_run_says_why() -> None:
    named = labels.labelled(jobs_of({"none-t": 1.0}, R2, data="mmmo"))
    text = multirun.summary_of(named, pd.DataFrame(), "mmmo").text
    assert "cyclic-t-v-a (not run)" in text
    assert "YouTube, is left out" in text


def test_means_have_the_bar_that_jobs_carry_once() -> None:
    measured = {"bar_error": 1.099, "bar_mae": 1.099, "bar_accuracy": 0.729, "bar_f1": 0.729, "bar_correlation": 0.613}
    named = labels.labelled(jobs_of(**measured))
    means = tables.means_of(named).set_index("arm")
    assert means.index.tolist() == [*(arm for arm in ARMS if arm in ERRORS), "words_and_vader"]
    bar = means.loc["words_and_vader"]
    assert (bar["mae"], bar["accuracy"], bar["read"], bar["bar"]) == (1.099, 0.729, "t", True)
    own = jobs_of()
    np.testing.assert_allclose(means.loc["none-t", "mae"], own.loc[own["arm"] == "none-t", "test_mae"].mean())
    np.testing.assert_allclose(means.loc["none-t", "mae_sd"], own.loc[own["arm"] == "none-t", "test_mae"].std())
    ran = [*jobs_of(**measured).to_dict("records"), job("words_and_vader", 0, 1.0, None)]
    again = tables.means_of(labels.labelled(pd.DataFrame(ran))).set_index("arm")
    assert again.loc["words_and_vader", "mae"] == 1.0
    assert again["bar"].sum() == 1
    paired = claims.paired_of(named, tables.means_of(named))
    ahead = paired[paired["control"] == "bar"].set_index("challenger")
    assert ahead.loc["cyclic-t-v-a", ["pairs", "verdict"]].tolist() == [8, HOLDS]
    assert ahead.loc["none-t", "verdict"] in (UNDECIDED, DOES_NOT_HOLD)


def test_the_thesis_is_printed_beside_what_was_found() -> None:
    assert [len(table.rows) for table in thesis.TABLES] == [2, 2, 6, 12, 18]
    assert {row.arm for table in thesis.TABLES for row in table.rows} <= set(ARMS)
    r2 = {"cyclic-t-a": 0.0, "none-t": None}
    named = labels.labelled(jobs_of({"cyclic-t-a": 1.1, "none-t": 1.2}, r2, data="mosi"))
    summary = multirun.summary_of(named, pd.DataFrame(), "mosi")
    found = summary.tables["thesis.csv"]
    assert found["table"].unique().tolist() == ["2.1", "2.3", "2.4"]
    row = found[(found["table"] == "2.4") & (found["arm"] == "cyclic-t-a")].iloc[0]
    assert (row["model"], row["figure"], row["printed_mae"], row["jobs"]) == ("T ⇆ A", "a", 0.977, 8)
    assert "| a | T ⇆ V | cyclic-t-v (not run) |" in summary.text
    assert "The published split cannot have it" in summary.text
    assert "0.764, 0.764, 0.977, 0.636" in summary.text
    assert claims.NO_TRANSLATION in summary.text
    (panel,) = summary.figures["figures/arms"].axes
    assert [label.get_text() for label in panel.get_yticklabels()] == ["none-t", "cyclic-t-a"]
    assert "\n\n## mosi\n\nTable 2.1 of the thesis: CMU-MOSI beside early fusion\n\n| figure |" in summary.text
    assert "\n\nTable 2.3 of the thesis: more modalities\n\n| figure | model | arm | read |" in summary.text


def test_columns_are_read_from_a_run() -> None:
    tags = {"arm": "cyclic-t-a", "read": "t", "label_kind": "score", "positive_from": "0.0", "contaminated": "true"}
    metrics = {"evaluate/test_error": 1.0, "evaluate/translation_r2_a": -0.01, "evaluate/seconds": 3.0,
               "model/parameters": 10.0, "model/parameters_at_test": 4.0, "fit/seconds": 2.0}  # fmt: skip
    data = SimpleNamespace(
        tags=tags, metrics=metrics, params={"data.link": "False", "data.three": "True", "mctn.bar": "tfidf"}
    )
    own = columns(SimpleNamespace(data=data))
    assert own == {
        **tags, "contaminated": True, "unlinked": True, "three": True, "split": "", "fold": 0, "bar": "tfidf",
        "missing": "", "parameters": 10, "parameters_at_test": 4, "seconds": 2.0, "translation_r2_a": -0.01,
    }  # fmt: skip


def test_a_bar_of_data_drawn_anew_has_a_spread() -> None:
    jobs = pd.DataFrame([job("none-t", seed, 1.0 + seed, None, bar="audio", bar_error=2.0 + seed) for seed in range(3)])
    named = labels.labelled(jobs)
    row = tables.means_of(named).set_index("arm").loc["audio"]
    assert row[["jobs", "error", "error_sd"]].tolist() == [3, 3.0, 1.0]
    same = tables.means_of(named.assign(bar_error=2.0)).set_index("arm").loc["audio"]
    assert (same["jobs"], same["error"]) == (1, 2.0)
    assert np.isnan(same["error_sd"])


@pytest.mark.parametrize(
    ("other", "count", "said"),
    [
        ({}, 686, "Here as in the thesis: published split, 686 test utterances."),
        ({}, 6, "Here: published split, 6 test utterances; the thesis: published split, 686. These are not the same"),
        (
            {"split": "extractor"},
            752,
            "Here: split of the features, 752 test utterances; the thesis: published split, 686.",
        ),
        (
            {"stand_in": True},
            686,
            "Here: generated utterances in place of missing files, 686 test utterances; the thesis",
        ),
        (
            {"data": "mmmo", "split": "official"},
            80,
            "Here: official split, 80 test utterances. The thesis does not say",
        ),
        ({"split": "extractor"}, None, "Here: split of the features; the thesis: published split, 686.\n\n"),
    ],
)
def test_tables_say_which_test_part_they_are_of(other: dict[str, Any], count: int | None, said: str) -> None:
    jobs = {"cyclic-t-v-a": 1.0, "none-tva": 1.0}
    named = labels.labelled(jobs_of(jobs, dict.fromkeys(jobs), **({"data": "mosi"} | other)))
    row = {"data": named["data"].iloc[0], "arm": "none-tva", "samples": count, "low": 0.1, "high": 0.2}
    text = multirun.summary_of(named, pd.DataFrame([row] if count else []), "mine").text
    assert said in text.partition("## Claims")[0]


def test_a_table_of_classes_is_not_compared_with_one_of_scores_unsaid() -> None:
    named = labels.labelled(jobs_of({"none-tva": 1.0}, {"none-tva": None}, data="mmmo", split="official"))
    text = multirun.summary_of(named, pd.DataFrame(), "mmmo").text
    assert "The thesis learns classes here, by their cross-entropy" in text


@pytest.mark.parametrize(("arm", "said"), [("double-v-a", True), ("none-tva", True), ("paired-t-av", False)])
def test_steps_that_are_joined_by_place_are_said_to_be(arm: str, said: bool) -> None:
    for data, is_mmmo in (("mmmo", True), ("mosi", False)):
        named = labels.labelled(jobs_of({arm: 1.0}, {arm: 0.1}, data=data))
        text = multirun.summary_of(named, pd.DataFrame(), "mine").text
        assert ("are not paired with those of the same word" in text) is (said and is_mmmo)


def test_mean_word_vectors_of_generated_utterances_are_not_called_so() -> None:
    jobs = {"bar": "word_vectors", "bar_error": 1.0, "bar_mae": 1.0}
    for other, shown in ({}, True), ({"data": "mosi"}, False), ({"data": "mosi", "stand_in": True}, True):
        named = labels.labelled(jobs_of({"none-t": 1.1}, **jobs, **other))
        summary = multirun.summary_of(named, pd.DataFrame(), "mine")
        called = "word_vectors (no words: ridge on mean text vectors)"
        assert (f"| {called} (the bar) |" in summary.text) is shown
        assert (f"ahead of {called} |" in summary.text) is shown
        (panel,) = summary.figures["figures/arms"].axes
        assert (f"line: {called}, the bar" in panel.get_title().replace("\n", " ")) is shown
        assert summary.tables["paired.csv"]["against"].tolist() == ["word_vectors"]
