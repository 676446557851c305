"""What the parent of a multirun of `recipe=mctn` says, of made-up tables of jobs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from models.mctn.arms import ARMS
from pipeline.compare.claims import DOES_NOT_HOLD, HOLDS, NO_CLAIM, UNDECIDED
from pipeline.systems.mctn import by_video, claims, goals, labels, multirun, redraw, tables, thesis
from pipeline.systems.mctn.comparison import columns

SEEDS = range(8)
R2 = {"none-t": None, "cyclic-t-v": 0.49, "cyclic-t-v-a": 0.48, "simple-t-v": 0.5, "shuffled-t-v": -0.02}
ERRORS = {"none-t": 1.1, "cyclic-t-v": 0.8, "cyclic-t-v-a": 0.7, "simple-t-v": 0.8, "shuffled-t-v": 1.1}


def job(arm: str, seed: int, error: float, r2: float | None, **other: Any) -> dict[str, Any]:
    own: dict[str, Any] = {
        "run": f"{arm}-{seed}", "run_id": f"{arm}{seed}{other}", "data": "cycles", "stand_in": False, "arm": arm,
        "read": "t", "label_kind": "score", "positive_from": "0.0", "bar": "words_and_vader", "count": 0, "seed": seed,
        "parameters": 60000, "parameters_at_test": 30000, "validation_error": error, "test_error": error,
        "overrides": "", "stable": True, "varied": "", "contaminated": False, "unlinked": False, "fold": 0,
        "split": "published", "missing": "va", "seconds": 2.0, "test_mae": error, "test_accuracy": 0.7, "test_f1": 0.69,
        "test_correlation": 0.5, "translation_r2_v": np.nan if r2 is None else r2,
    }  # fmt: skip
    return own | other


def jobs_of(errors: dict[str, float] = ERRORS, r2: dict[str, Any] = R2, **other: Any) -> pd.DataFrame:
    """Jobs of several arms and seeds; arms of one seed have a share of their error in common."""
    chance = np.random.default_rng(5)
    common, own = 1 + 0.1 * chance.random(len(SEEDS)), lambda: 1 + 0.02 * (chance.random() - 0.5)
    return pd.DataFrame(
        [
            job(arm, seed, error * common[seed] * own(), r2[arm], **other)
            for arm, error in errors.items()
            for seed in SEEDS
        ]
    )


def verdicts(jobs: pd.DataFrame) -> dict[str, str]:
    named = labels.labelled(jobs)
    paired = claims.paired_of(named, tables.means_of(named))
    return {f"{row['control']} {row['challenger']}": row["verdict"] for row in paired.to_dict("records")}


def test_arms_are_seen_beside_what_shows_where_a_gain_comes_from() -> None:
    assert verdicts(jobs_of()) == {
        "none cyclic-t-v": HOLDS, "shuffled cyclic-t-v": HOLDS, "simple cyclic-t-v": UNDECIDED,
        "none cyclic-t-v-a": HOLDS, "fewer cyclic-t-v-a": HOLDS, "none simple-t-v": HOLDS, "none shuffled-t-v": HOLDS,
    }  # fmt: skip
    assert verdicts(jobs_of(ERRORS | {"cyclic-t-v": 1.3}))["none cyclic-t-v"] == DOES_NOT_HOLD
    assert verdicts(jobs_of(ERRORS | {"shuffled-t-v": 0.9}))["none shuffled-t-v"] == DOES_NOT_HOLD


def test_nothing_is_claimed_without_ground() -> None:
    assert set(verdicts(jobs_of(stand_in=True)).values()) == {NO_CLAIM}
    assert set(verdicts(jobs_of(contaminated=True)).values()) == {claims.CONTAMINATED}
    found = verdicts(jobs_of(r2=dict.fromkeys(R2, 0.004)))
    assert found.pop("none shuffled-t-v") == HOLDS
    assert set(found.values()) == {claims.NO_TRANSLATION}
    unknown = verdicts(jobs_of(r2=dict.fromkeys(R2)))
    assert unknown["none cyclic-t-v"] == claims.NO_TRANSLATION
    few = verdicts(jobs_of().query("seed < 2"))
    assert set(few.values()) == {UNDECIDED}


def test_every_arm_is_seen_beside_arms_that_exist() -> None:
    pairs = claims.pairs_of([*ARMS, "tfidf"], ["tfidf"])
    named = {pair for pair in pairs if pair.control not in ("bar", "settings")}
    assert {pair.against for pair in named} <= set(ARMS)
    assert {pair.challenger for pair in pairs if pair.control == "bar"} == set(ARMS)
    assert claims.Pair("concat", "cyclic-t-a-v", "concat-at-v") in named
    assert claims.Pair("double", "cyclic-t-v-a", "double-t-v-a") in named
    assert claims.Pair("fusion", "cyclic-t-v-a", "none-tva") in named
    assert claims.Pair("none", "paired-t-av", "none-t") in named
    assert not [pair for pair in named if pair.challenger in ("none-t", "double-t-a", "concat-tv-a")]


def test_settings_are_compared_with_the_default_ones_and_data_apart() -> None:
    rows = [
        job("cyclic-t-a", seed, 1 + seed / 10 + more, 0.3, varied=f"data.link={link}, mctn.share={share}")
        for link in ("true", "false") for share, more in (("core", 0.0), ("none", 0.01)) for seed in SEEDS
    ]  # fmt: skip
    named = labels.labelled(pd.DataFrame(rows))
    assert set(named["arm"]) == {"cyclic-t-a share=core", "cyclic-t-a share=none"}
    paired = claims.paired_of(named, tables.means_of(named))
    assert paired["data"].tolist() == ["cycles, data.link=false", "cycles, data.link=true"]
    assert set(paired["control"]) == {"settings"}
    assert set(paired["challenger"]) == {"cyclic-t-a share=none"}
    assert (paired["ratio"] > 1).all()


def test_folds_are_units_of_pairs() -> None:
    rows = [
        job(arm, seed, error + 0.1 * fold + 0.01 * seed, 0.2, fold=fold, varied=f"data.fold={fold}")
        for arm, error in (("none-t", 1.0), ("cyclic-t-v", 0.9)) for fold in range(5) for seed in range(2)
    ]  # fmt: skip
    named = labels.labelled(pd.DataFrame(rows))
    assert set(named["data"]) == {"cycles"}
    assert set(named["arm"]) == {"none-t", "cyclic-t-v"}
    paired = claims.paired_of(named, tables.means_of(named))
    assert paired["pairs"].tolist() == [10]


def test_a_baseline_stands_beside_each_seed_with_its_error_of_the_fold() -> None:
    rows = [
        job("none-t", seed, 1.0 + fold + seed / 10, None, fold=fold, bar="audio", bar_error=2.0 + fold,
            varied=f"data.fold={fold}")
        for fold in range(2) for seed in range(2)
    ]  # fmt: skip
    rows += [job("median", 0, 5.0 + fold, None, fold=fold, varied=f"data.fold={fold}") for fold in range(2)]
    named = labels.labelled(pd.DataFrame(rows))
    errors = claims.errors_of(named, tables.means_of(named)).set_index(["arm", "seed"])["error"]
    assert errors["audio"].tolist() == [2.0, 2.0, 3.0, 3.0]
    assert errors["median"].tolist() == [5.0, 5.0, 6.0, 6.0]
    assert errors["none-t"].tolist() == [1.0, 1.1, 2.0, 2.1]


def test_default_settings_are_no_other_arm() -> None:
    dropout = "mctn.modality_dropout"
    rows = [
        job("none-tva", seed, 1 + seed / 9, None, read="tva", varied=f"{dropout}={p}")
        for p in (0, 0.3)
        for seed in SEEDS
    ]
    rows += [job("cyclic-t-v-a", seed, 0.9 + seed / 9, 0.5, varied=f"{dropout}=0") for seed in SEEDS]
    named = labels.labelled(pd.DataFrame(rows))
    paired = claims.paired_of(named, tables.means_of(named))
    assert paired[["control", "challenger", "against"]].to_numpy().tolist() == [
        ["fusion", "cyclic-t-v-a modality_dropout=0", "none-tva modality_dropout=0"],
        ["settings", "none-tva modality_dropout=0.3", "none-tva modality_dropout=0"],
    ]


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
    assert found["table"].unique().tolist() == ["2.3", "2.4"]
    row = found[(found["table"] == "2.4") & (found["arm"] == "cyclic-t-a")].iloc[0]
    assert (row["model"], row["figure"], row["printed_mae"], row["jobs"]) == ("T ⇆ A", "a", 0.977, 8)
    assert "| a | T ⇆ V | cyclic-t-v (not run) |" in summary.text
    assert "0.764, 0.764, 0.977, 0.636" in summary.text
    assert claims.NO_TRANSLATION in summary.text
    (panel,) = summary.figures["figures/arms"].axes
    assert [label.get_text() for label in panel.get_yticklabels()] == ["none-t", "cyclic-t-a"]
    assert "\n\n## mosi\n\nTable 2.3 of the thesis: more modalities\n\n| figure | model | arm | read |" in summary.text


def test_goals_by_hand() -> None:
    def found(jobs: pd.DataFrame) -> dict[str, str]:
        named = labels.labelled(jobs)
        table = goals.goals_of(named, claims.paired_of(named, tables.means_of(named)))
        return dict(zip(table["goal"], table["verdict"], strict=True))

    gain, shuffled = (f"ratio of errors, {arm} / none-t, " for arm in ("cyclic-t-v", "shuffled-t-v"))
    assert found(jobs_of()) == {f"{gain}below 0.85": HOLDS, f"{shuffled}1 within its interval": HOLDS}
    assert found(jobs_of(ERRORS | {"cyclic-t-v": 1.0}))[f"{gain}below 0.85"] == DOES_NOT_HOLD
    unlinked = found(jobs_of(ERRORS | {"cyclic-t-v": 1.1}, unlinked=True))
    assert unlinked[f"{gain}1 within its interval"] == HOLDS
    mosi = {"cyclic-t-a": 1.05, "none-t": 1.05}
    kept = found(jobs_of(mosi, {"cyclic-t-a": 0.0, "none-t": None}, data="mosi"))
    assert kept["mae of cyclic-t-a at most 1.14"] == HOLDS
    assert kept["accuracy of cyclic-t-a at least 0.7"] == HOLDS
    other = found(jobs_of(mosi, {"cyclic-t-a": 0.0, "none-t": None}, data="mosi", split="extractor"))
    assert list(other) == ["difference of errors, cyclic-t-a − none-t, within ±0.03: no gain"]
    assert kept["difference of errors, cyclic-t-a − none-t, within ±0.03: no gain"] == HOLDS
    assert set(found(jobs_of(stand_in=True)).values()) == {NO_CLAIM}


def test_errors_without_other_modalities_have_to_be_the_same_to_the_last_bit() -> None:
    jobs = jobs_of({"cyclic-t-v": 1.0})
    for factor, verdict in ((1.0, HOLDS), (1 + 1e-15, DOES_NOT_HOLD)):
        table = goals.goals_of(jobs.assign(missing_error=jobs["test_error"] * factor), pd.DataFrame())
        assert table["verdict"].tolist() == [verdict]
    fused = jobs.assign(arm="none-tva", read="tva", missing_error=2 * jobs["test_error"])
    table = goals.goals_of(pd.concat([jobs.assign(missing_error=jobs["test_error"]), fused]), pd.DataFrame())
    assert table["goal"].tolist() == [
        "error of cyclic-t-v without va is that with all, to the last bit",
        "ratio of errors without va, cyclic-t-v / none-tva, below 1",
    ]
    np.testing.assert_allclose(table.loc[1, ["value", "low", "high"]].tolist(), 0.5)


def predictions(shares: np.ndarray, *, per: int = 20, seed: int = 0) -> pd.DataFrame:
    """Groups of as many samples, with that share of correct ones each."""
    chance = np.random.default_rng(seed)
    label = chance.choice([-1.0, 1.0], len(shares) * per)
    right = np.concatenate([np.arange(per) < round(share * per) for share in shares])
    group = np.repeat([f"video{i}" for i in range(len(shares))], per)
    return pd.DataFrame({"group": group, "label": label, "prediction": np.where(right, label, -label)})


def test_accuracy_by_video_is_wider_than_by_sample() -> None:
    shares = np.tile([1.0, 0.4], 15)
    counted = by_video.correct_by_group(predictions(shares), "0.0")
    row = by_video.accuracy_row(counted, counted)
    assert row["accuracy"] == pytest.approx(0.7)
    by_hand = 1.96 * shares.std() / np.sqrt(len(shares))
    assert row["high"] - row["low"] == pytest.approx(2 * by_hand, rel=0.1)
    assert (row["difference"], row["difference_low"], row["difference_high"]) == (0, 0, 0)
    few = by_video.accuracy_row(by_video.correct_by_group(predictions(shares[:4]), "0.0"), None)
    assert np.isnan([few["low"], few["high"]]).all()


def test_correct_is_the_same_sign_or_the_same_class() -> None:
    table = pd.DataFrame({"group": ["a", "a", "b"], "label": [0.0, -1.0, 2.0], "prediction": [0.5, np.nan, 1.0]})
    assert by_video.correct_by_group(table, "0.0")["correct"].tolist() == [1.0, 1.0]
    assert by_video.correct_by_group(table, "")["correct"].tolist() == [0.0, 0.0]


def test_accuracy_is_that_of_all_jobs_of_an_arm_beside_its_control() -> None:
    jobs = labels.labelled(jobs_of({"none-t": 1.0, "cyclic-t-v": 0.9}, R2))
    counted = {
        run: by_video.correct_by_group(predictions(np.full(10, 0.8 if "cyclic" in run else 0.7)), "0.0")
        for run in jobs["run_id"]
    }
    table = multirun.accuracy_of(jobs, counted).set_index("arm")
    np.testing.assert_allclose(table.loc["cyclic-t-v", ["accuracy", "difference"]].tolist(), [0.8, 0.1])
    assert table["against"].tolist() == ["none-t", ""]
    assert multirun.control_of("cyclic-t-v share=none") == "none-t share=none"
    means = tables.means_of(jobs, table.reset_index()).set_index("arm")
    np.testing.assert_allclose(means["accuracy_low"], [0.8, 0.7])


def test_columns_are_read_from_a_run() -> None:
    tags = {"arm": "cyclic-t-a", "read": "t", "label_kind": "score", "positive_from": "0.0", "contaminated": "true"}
    metrics = {"evaluate/test_error": 1.0, "evaluate/translation_r2_a": -0.01, "evaluate/seconds": 3.0,
               "model/parameters": 10.0, "model/parameters_at_test": 4.0, "fit/seconds": 2.0}  # fmt: skip
    data = SimpleNamespace(tags=tags, metrics=metrics, params={"data.link": "False", "mctn.bar": "tfidf"})
    own = columns(SimpleNamespace(data=data))
    assert own == {
        **tags, "contaminated": True, "unlinked": True, "split": "", "fold": 0, "bar": "tfidf", "missing": "",
        "parameters": 10, "parameters_at_test": 4, "seconds": 2.0, "translation_r2_a": -0.01,
    }  # fmt: skip


def test_a_page_is_made_again_from_its_files(tmp_path: Path) -> None:
    jobs = jobs_of(bar_error=1.0, bar_mae=1.0)
    counted = {run: by_video.correct_by_group(predictions(np.full(10, 0.7)), "0.0") for run in jobs["run_id"]}
    named = labels.labelled(jobs)
    first = multirun.summary_of(named, multirun.accuracy_of(named, counted), tmp_path.name)
    jobs.to_csv(tmp_path / "jobs.csv", index=False)
    first.tables["accuracy.csv"].to_csv(tmp_path / "accuracy.csv", index=False)
    again = redraw.multirun_from(tmp_path)
    assert again.text == first.text
    assert set(again.tables) == {"means.csv", "paired.csv", "claims.csv", "goals.csv"}


def test_a_bar_of_data_drawn_anew_is_paired_by_seed() -> None:
    jobs = pd.DataFrame([job("none-t", seed, 1.0 + seed, None, bar="audio", bar_error=2.0 + seed) for seed in range(3)])
    named = labels.labelled(jobs)
    errors = claims.errors_of(named, tables.means_of(named))
    assert errors.loc[errors["arm"] == "audio", "error"].tolist() == [2.0, 3.0, 4.0]
