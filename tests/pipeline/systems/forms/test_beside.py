"""What stands beside recognisers that are compared: corrected readings, the nearest training image, and seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from pipeline.compare.statistics import holm
from pipeline.systems.forms.labels import NEAREST
from pipeline.systems.forms.recognition.attention import by_arm, in_groups
from pipeline.systems.forms.recognition.beside import rates_by_reading, with_nearest
from pipeline.systems.forms.recognition.multirun import compared, summary_of

SEEDS = 3
JOBS = pd.DataFrame([
    {"run_id": f"{arm}{seed}", "data": "dhsd", "arm": arm, "seed": seed, "model": arm, "augment": "none",
     "settings": (), "seconds": 1.0, "parameters": 5, "test_cer": 10.0 * seed, "test_word_accuracy": 0.5,
     "test_cer_corrected": 10.0 * seed + 1, "test_word_accuracy_corrected": 0.6, "test_cer_retrieval": 40.0,
     "test_word_accuracy_retrieval": 0.7}
    for arm in ("crnn", "moran") for seed in range(SEEDS)
])  # fmt: skip
READ = pd.concat([
    pd.DataFrame({"run_id": run, "image": range(40), "characters": 4, "faults": 2 if "crnn" in run else 0,
                  "faults_nearest": [1, 0] * 20})
    for run in JOBS["run_id"]
])  # fmt: skip


def test_the_nearest_training_image_is_an_arm_with_intervals_and_no_seeds() -> None:
    jobs, read = with_nearest(JOBS, READ)
    tables = compared(jobs, read, {"data": "dhsd", "part": "test"})
    means = tables["means"].set_index("arm")
    assert means.loc["nearest training image", "error"] == pytest.approx(100 * 20 / 160)
    assert means.loc["nearest training image", "low"] < 12.5 < means.loc["nearest training image", "high"]
    assert means.loc["crnn", "error"] == 50.0
    verdicts = tables["paired"].set_index(["arm", "against"])["verdict"]
    assert verdicts["nearest training image", "crnn"] == "holds"
    assert verdicts["nearest training image", "moran"] == "does not hold"
    few, read = with_nearest(JOBS[JOBS["seed"] == 0], READ[READ["run_id"].isin(["crnn0", "moran0"])])
    assert set(compared(few, read, {"data": "dhsd", "part": "test"})["paired"]["verdict"]) == {"undecided: one seed"}


def test_pairs_with_the_nearest_training_image_change_no_other_pair_and_need_no_equal_seeds() -> None:
    names, read = {"data": "dhsd", "part": "test"}, READ[READ["image"] < 12]
    before = compared(JOBS, read, names)["paired"]
    after = compared(*with_nearest(JOBS, read), names)["paired"]
    pd.testing.assert_frame_equal(after[:1], before)
    nearest = after[after["arm"] == NEAREST]
    assert nearest["against"].tolist() == ["crnn", "moran"]
    np.testing.assert_allclose(nearest["p_holm"], holm(nearest["p"].to_numpy()))
    fewer = JOBS[JOBS["run_id"] != "moran2"]
    uneven = compared(*with_nearest(fewer, read), names)["paired"]
    assert uneven["against"].tolist() == ["crnn", "moran"]
    assert uneven["p"].tolist() == nearest["p"].tolist()  # both arms read the same with every seed
    text = summary_of(fewer, {"read.csv": read.assign(part="test")}, "t").text
    assert "Drawn of dhsd: 12 images. The nearest training image is not trained" in text


@pytest.mark.parametrize("faults", [np.r_[[1] * 200, [0] * 40], np.r_[[1.0] * 200, [np.nan] * 40], None])
def test_the_nearest_training_image_is_left_out_where_jobs_differ_in_it_or_lack_it(faults: Any) -> None:
    read = READ.drop(columns="faults_nearest") if faults is None else READ.assign(faults_nearest=faults)
    jobs, kept = with_nearest(JOBS, read)
    assert jobs is JOBS
    assert kept is read


def test_rates_are_by_reading_and_those_of_the_nearest_training_image_stand_once() -> None:
    rates = rates_by_reading(JOBS)
    assert rates["arm"].tolist() == ["crnn", "crnn", "moran", "moran", "nearest training image"]
    assert rates["reading"].tolist() == ["read", "corrected"] * 2 + ["nearest"]
    assert rates.loc[1, ["cer", "cer_low", "cer_high", "accuracy"]].tolist() == [11, 1, 21, 0.6]
    tenths = rates_by_reading(JOBS.assign(test_cer_retrieval=0.1))  # three of which have a mean of 0.10000000000000002
    assert tenths.loc[4, ["arm", "cer"]].tolist() == ["nearest training image", 0.1]
    unlike = JOBS.assign(test_cer_retrieval=[40.0] * SEEDS + [50.0] * SEEDS)
    assert rates_by_reading(unlike).query("reading == 'nearest'")["arm"].tolist() == ["crnn", "moran"]
    assert not len(rates_by_reading(JOBS[["data", "arm"]]))


def test_attention_is_told_by_position_with_the_lowest_and_the_highest_seed() -> None:
    near = {"crnn0": [0.0, 0.5, 0.2], "crnn1": [1.0, 0.1, 0.4]}
    counts = {"position": [1, 6, 7], "texts": [4, 3, 1], "equal": 0.1}
    rows = pd.concat([pd.DataFrame({"run_id": run, "near": own, **counts}) for run, own in near.items()])
    table = by_arm(JOBS, rows)
    assert table[["near", "lowest", "highest"]].to_numpy() == pytest.approx(
        np.array([[0.5, 0, 1], [0.3, 0.1, 0.5], [0.3, 0.2, 0.4]])
    )
    groups = in_groups(JOBS, rows)
    assert groups["from position"].tolist() == [1, 6]
    assert groups["characters"].tolist() == [4, 4]
    first, second = (3 * 0.5 + 0.2) / 4, (3 * 0.1 + 0.4) / 4
    assert groups.loc[1, ["near", "lowest", "highest"]].tolist() == pytest.approx([(first + second) / 2, second, first])
