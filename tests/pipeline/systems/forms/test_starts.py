"""Arms are compared over drawn cases and over starts of training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from pipeline.compare.bootstrap import DRAWS, rates
from pipeline.systems.forms.arms import compared_arms, over_starts, said_of_seeds
from pipeline.systems.forms.reading import multirun as reading
from pipeline.systems.forms.recognition import multirun as recognition
from pipeline.systems.forms.segmentation import multirun as segmentation

ERRORS = {"faster_rcnn": (30.0, 40.0, 20.0), "r_fcn": (25.0, 15.0, 35.0)}  # by seed; of r_fcn lower in the mean alone
NAMES = {"data": "forms", "part": "test"}


def jobs_of(errors: dict[str, tuple[float, ...]], **more: Any) -> pd.DataFrame:
    rows = [(f"{arm} {seed}", arm, arm, seed) for arm, own in errors.items() for seed in range(len(own))]
    jobs = pd.DataFrame(rows, columns=["run_id", "arm", "model", "seed"])
    return jobs.assign(data="forms", scored="words", augment="none", settings=[()] * len(jobs), seconds=1.0,
                       parameters=1.0, **more)  # fmt: skip


def tables_of(errors: dict[str, tuple[float, ...]], **more: Any) -> dict[str, Any]:
    """The cases are alike, so that starts alone differ."""

    def errors_of(run: str, draws: int) -> tuple[float, np.ndarray]:
        arm, seed = run.split()
        return rates(np.full(4, errors[arm][int(seed)]), np.full(4, 100), draws)

    return compared_arms(jobs_of(errors, **more), NAMES, errors_of, jobs_of(errors))


def test_what_starts_of_training_differ_by_is_part_of_the_interval() -> None:
    tables = tables_of(ERRORS)
    (mean, _), (pair,) = (tables[name].to_dict("records") for name in ("means", "paired"))
    assert (mean["error"], mean["low"], mean["high"]) == pytest.approx((30.0, 20.0, 40.0))
    assert (pair["difference"], pair["low"], pair["high"]) == pytest.approx((-5.0, -25.0, 15.0))
    assert pair["p"] > 0.3
    assert pair["verdict"] == "undecided"


def test_starts_are_drawn_alike_for_all_arms_whatever_order_their_jobs_have() -> None:
    alike = {"r_fcn": (10.0, 20.0, 60.0), "faster_rcnn": (12.0, 22.0, 62.0)}
    (pair,) = tables_of(alike)["paired"].to_dict("records")
    assert (pair["low"], pair["high"], pair["verdict"]) == (pytest.approx(2.0), pytest.approx(2.0), "does not hold")
    every = {f"{arm} {seed}": error for arm, own in alike.items() for seed, error in enumerate(own)}
    mixed = jobs_of(alike).sort_values("run_id", ascending=False).sort_values("arm", kind="stable")
    mixed = mixed.iloc[[2, 0, 1, 3, 4, 5]]
    (pair,) = compared_arms(mixed, NAMES, lambda run, _: (every[run], np.full(DRAWS, every[run])), mixed)[
        "paired"
    ].to_dict("records")
    assert (abs(pair["low"]), abs(pair["high"])) == (pytest.approx(2.0), pytest.approx(2.0))


@pytest.mark.parametrize(
    ("starts", "said"),
    [(1, "undecided: one seed"), (2, "undecided: two seeds"), (3, "holds")],
)
def test_few_starts_give_no_verdict_and_the_numbers_stay(starts: int, said: str) -> None:
    clear = {"faster_rcnn": (30.0,) * starts, "r_fcn": (10.0,) * starts}
    for name in ("paired", "claims"):
        (row,) = tables_of(clear)[name].to_dict("records")
        assert (row["difference"], row["verdict"]) == (-20.0, said)
        assert row["p"] < 0.01
    assert tables_of(clear, stand_in=True)["claims"]["verdict"].tolist() == ["no claim (stand-in data)"]


def test_connected_ink_is_not_trained_and_hangs_on_no_seed() -> None:
    jobs = jobs_of({"components": (30.0,), "components, wide": (10.0,), "r_fcn": (5.0,)}).assign(
        model=["components", "components", "r_fcn"]
    )
    errors = dict(zip(jobs["run_id"], (30.0, 10.0, 5.0), strict=True))
    table = compared_arms(jobs, NAMES, lambda run, draws: (errors[run], np.full(draws, errors[run])), jobs)["paired"]
    assert table["arm"].tolist() == ["components, wide", "r_fcn", "r_fcn"]
    assert table["verdict"].tolist() == ["holds", "undecided: one seed", "undecided: one seed"]


def test_arms_with_unequal_seeds_are_not_paired_and_that_is_said() -> None:
    errors = {**ERRORS, "yolo_v3": (9.0, 9.0)}
    tables = tables_of(errors)
    assert tables["means"]["arm"].tolist() == ["faster_rcnn", "r_fcn", "yolo_v3"]
    assert tables["paired"][["arm", "against"]].to_numpy().tolist() == [["r_fcn", "faster_rcnn"]]
    said = said_of_seeds(jobs_of(errors), segmentation.SETS)
    assert said.startswith(
        "forms, words: arms have unequal seeds (faster_rcnn: 0, 1, 2; r_fcn: 0, 1, 2; yolo_v3: 0, 1)."
    )
    assert said_of_seeds(jobs_of(ERRORS), segmentation.SETS) == ""


def test_what_detectors_are_scored_by_makes_no_sets_of_recognisers() -> None:
    """They are paired whatever it is."""
    jobs = jobs_of({"crnn": (9.0, 9.0), "moran": (9.0, 9.0, 9.0)})
    swept = jobs.assign(scored=np.where(jobs["arm"] == "crnn", "words", "classes"))
    assert said_of_seeds(swept, segmentation.SETS) == ""
    for stage in (recognition, reading):
        assert said_of_seeds(swept, stage.SETS).startswith(
            "forms: arms have unequal seeds (crnn: 0, 1; moran: 0, 1, 2)."
        )


def test_a_draw_of_starts_has_the_mean_of_those_that_were_drawn() -> None:
    drawn = over_starts([np.zeros(DRAWS), np.full(DRAWS, 3.0), np.full(DRAWS, 9.0)], range(3))
    assert set(np.round(drawn).astype(int)) == {0, 1, 2, 3, 4, 5, 6, 7, 9}
    assert drawn.mean() == pytest.approx(4.0, abs=0.1)
