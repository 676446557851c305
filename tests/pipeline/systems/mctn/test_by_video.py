"""Scores with intervals over groups of samples, as videos, of made-up predictions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mctn_jobs import R2, jobs_of
from pipeline.systems.mctn import by_video, labels, multirun, redraw, tables


def predictions(shares: np.ndarray, *, per: int = 20, seed: int = 0) -> pd.DataFrame:
    """Groups of as many samples, with that share of correct ones each."""
    chance = np.random.default_rng(seed)
    label = chance.choice([-1.0, 1.0], len(shares) * per)
    right = np.concatenate([np.arange(per) < round(share * per) for share in shares])
    group = np.repeat([f"video{i}" for i in range(len(shares))], per)
    return pd.DataFrame({"group": group, "label": label, "prediction": np.where(right, label, -label)})


def summed(predicted: pd.DataFrame, positive_from: str = "0.0") -> pd.DataFrame:
    return by_video.mean_over_jobs([by_video.sums_by_group(predicted, positive_from)])


def test_scores_by_video_are_wider_than_by_sample() -> None:
    shares = np.tile([1.0, 0.4], 15)
    counted = summed(predictions(shares))
    row = by_video.row_of(counted, counted, one_draw=True)
    assert (row["groups"], row["samples"], row["accuracy"]) == (30, 600, pytest.approx(0.7))
    by_hand = 1.96 * shares.std() / np.sqrt(len(shares))
    assert row["high"] - row["low"] == pytest.approx(2 * by_hand, rel=0.1)
    assert (row["difference"], row["difference_low"], row["difference_high"]) == (0, 0, 0)
    assert (row["mae_difference"], row["mae_difference_low"], row["mae_difference_high"]) == (0, 0, 0)
    few = by_video.row_of(summed(predictions(shares[:4])), None, one_draw=True)
    assert np.isnan([few["low"], few["high"], few["mae_low"], few["mae_high"]]).all()
    assert few["mae"] == pytest.approx(0.6)  # a wrong sample is off by 2


def test_absolute_errors_by_video_by_hand() -> None:
    """Means of groups of like size are drawn like independent numbers; what two arms have in common cancels."""
    chance = np.random.default_rng(3)
    group, label = np.repeat([f"v{i}" for i in range(40)], 10), chance.normal(size=400)
    off = np.repeat(chance.random(40), 10)
    tables = [
        summed(pd.DataFrame({"group": group, "label": label, "prediction": label + off + more})) for more in (0.5, 0.2)
    ]
    row = by_video.row_of(*tables, one_draw=True)
    assert row["mae"] == pytest.approx(off.mean() + 0.5)
    half = 1.96 * off.std() / np.sqrt(40)
    assert row["mae_high"] - row["mae"] == pytest.approx(half, rel=0.1)
    assert row["mae"] - row["mae_low"] == pytest.approx(half, rel=0.1)
    found = [row[name] for name in ("mae_difference", "mae_difference_low", "mae_difference_high")]
    np.testing.assert_allclose(found, 0.3)


def test_groups_that_one_job_lacks_are_no_part_of_a_difference() -> None:
    more = summed(predictions(np.full(12, 0.5)))
    row = by_video.row_of(more, more.iloc[:10] * [1.0, 2.0, 1.0], one_draw=True)
    assert row["difference"] == pytest.approx(-0.5)
    assert row["difference_high"] == pytest.approx(-0.5)
    assert "difference" not in by_video.row_of(more, more.iloc[:0], one_draw=True)


def test_there_is_no_interval_where_groups_of_a_name_are_other_samples() -> None:
    first, second = (by_video.sums_by_group(predictions(np.full(10, 0.5), seed=seed), "0.0") for seed in (0, 1))
    assert by_video.are_of_one_draw([first, first])
    assert not by_video.are_of_one_draw([first, second])
    row = by_video.row_of(by_video.mean_over_jobs([first, second]), None, one_draw=False)
    assert (row["drawn_anew"], row["accuracy"], row["mae"]) == (True, 0.5, 1.0)
    assert np.isnan([row["low"], row["high"], row["mae_low"], row["mae_high"]]).all()
    jobs = labels.labelled(jobs_of({"none-t": 1.0}, R2))
    counted = {run: [first, second][place % 2] for place, run in enumerate(jobs["run_id"])}
    table = multirun.accuracy_of(jobs, counted)
    assert "Seeds have test samples of their own" in multirun.summary_of(jobs, table, "anew").text
    same = multirun.accuracy_of(jobs, dict.fromkeys(counted, first))
    assert "Seeds have test samples of their own" not in multirun.summary_of(jobs, same, "same").text


def test_correct_is_the_same_sign_or_the_same_class_of_samples_with_a_prediction() -> None:
    table = pd.DataFrame({"group": ["a", "a", "b"], "label": [0.0, -1.0, 2.0], "prediction": [0.5, np.nan, 1.0]})
    scores = by_video.sums_by_group(table, "0.0")
    assert scores["correct"].tolist() == [1.0, 1.0]
    assert scores["samples"].tolist() == [1.0, 1.0]
    assert scores["absolute"].tolist() == [0.5, 1.0]
    classes = by_video.sums_by_group(table, "")
    assert classes["correct"].tolist() == [0.0, 0.0]
    assert classes["absolute"].isna().all()
    row = by_video.row_of(summed(predictions(np.full(9, 0.5)), ""), None, one_draw=True)
    assert np.isnan([row["mae"], row["mae_low"]]).all()
    assert row["low"] == row["accuracy"] == 0.5


def test_accuracy_is_that_of_all_jobs_of_an_arm_beside_its_control() -> None:
    jobs = labels.labelled(jobs_of({"none-t": 1.0, "cyclic-t-v": 0.9}, R2))
    counted = {
        run: by_video.sums_by_group(predictions(np.full(10, 0.8 if "cyclic" in run else 0.7)), "0.0")
        for run in jobs["run_id"]
    }
    table = multirun.accuracy_of(jobs, counted).set_index("arm")
    np.testing.assert_allclose(table.loc["cyclic-t-v", ["accuracy", "difference"]].tolist(), [0.8, 0.1])
    assert table["against"].tolist() == ["none-t", ""]
    ran = ["none-t share=core", "none-t share=none", "none-v"]
    assert multirun.control_of("cyclic-t-v share=none", ran) == "none-t share=none"
    assert multirun.control_of("cyclic-v-a share=none", ran) == "none-v"
    assert multirun.control_of("simple-a-v-t", ran) is None
    means = tables.means_of(jobs, table.reset_index()).set_index("arm")
    np.testing.assert_allclose(means["accuracy_low"], [0.8, 0.7])


def test_a_page_is_made_again_from_its_files(tmp_path: Path) -> None:
    jobs = jobs_of(bar_error=1.0, bar_mae=1.0)
    counted = {run: by_video.sums_by_group(predictions(np.full(10, 0.7)), "0.0") for run in jobs["run_id"]}
    named = labels.labelled(jobs)
    first = multirun.summary_of(named, multirun.accuracy_of(named, counted), tmp_path.name)
    jobs.to_csv(tmp_path / "jobs.csv", index=False)
    first.tables["accuracy.csv"].to_csv(tmp_path / "accuracy.csv", index=False)
    again = redraw.multirun_from(tmp_path)
    assert again.text == first.text
    assert set(again.tables) == {"means.csv", "paired.csv", "claims.csv", "goals.csv"}
