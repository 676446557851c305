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
