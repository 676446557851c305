"""Average precision of the narrower half of words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from models.forms.detect.average_precision import curve
from models.forms.detect.boxes import CLASSES, WORD, Detections, Truth
from pipeline.compare.panels import joined
from pipeline.systems.forms.multirun import rows_in
from pipeline.systems.forms.segmentation.multirun import NARROW_WORDS, errors_of, summary_of
from pipeline.systems.forms.segmentation.narrow import median_width, narrow_of, narrow_precision
from pipeline.systems.forms.segmentation.scores import hits_table, truth_table

STAMP = CLASSES.index("stamp")


def boxes(*widths: int) -> torch.Tensor:
    """Boxes of some widths, each on a line of its own."""
    return torch.tensor([[0.0, 30.0 * place, width, 30.0 * place + 10] for place, width in enumerate(widths)])


TRUTH = Truth(boxes(20, 30, 60, 90, 10), torch.tensor([WORD] * 4 + [STAMP]))
FOUND = Detections(
    torch.cat([boxes(20, 30, 60, 90, 10), torch.tensor([[200.0, 0.0, 225.0, 10.0], [200.0, 0.0, 290.0, 10.0]])]),
    torch.tensor([WORD] * 4 + [STAMP] + [WORD] * 2),
    torch.tensor([0.6, 0.3, 0.9, 0.8, 0.99, 0.5, 0.95]),
)


def test_what_means_a_wider_word_counts_nowhere_and_what_means_none_by_its_own_width() -> None:
    assert median_width([TRUTH]) == 45.0
    assert narrow_of(FOUND, TRUTH, 45.0).tolist() == [True, True, False, False, False, True, False]
    wide = FOUND.at(torch.tensor([0, 2]))._replace(
        boxes=torch.tensor([[0.0, 60.0, 40.0, 70.0], [0.0, 0.0, 50.0, 10.0]])
    )
    assert narrow_of(wide, TRUTH, 45.0).tolist() == [False, False]  # a part of a wide word; the second means none


def test_the_precision_is_that_of_the_narrow_words_alone() -> None:
    # found: 0.6 right, 0.5 wrong, 0.3 right
    assert narrow_precision([FOUND], [TRUTH]) == pytest.approx(0.5 * 1 + 0.5 * 2 / 3)
    assert curve([FOUND], [TRUTH], WORD).average() != narrow_precision([FOUND], [TRUTH])  # pyright: ignore
    assert narrow_precision([FOUND], [Truth(boxes(9), torch.tensor([STAMP]))]) is None
    assert np.isnan(median_width([Truth(boxes(9), torch.tensor([STAMP]))]))


def test_a_parent_counts_it_from_the_tables_of_a_job() -> None:
    both, empty = [FOUND, FOUND.at(torch.tensor([4]))], Truth(boxes(70), torch.tensor([WORD]))
    found, there = hits_table("test", both, [TRUTH, empty]), truth_table("test", [TRUTH, empty])
    assert there["narrow_word"].tolist() == [3, 0]  # the median of 20, 30, 60, 70 and 90 is 60
    whole, drawn = errors_of(found, there, {"part": "test", "scored": NARROW_WORDS})
    assert whole == pytest.approx(1 - narrow_precision(both, [TRUTH, empty]))  # pyright: ignore
    assert np.isnan(drawn).mean() == pytest.approx(0.25, abs=0.03)  # draws of the second form alone


def jobs_of(*arms: str) -> pd.DataFrame:
    jobs = pd.DataFrame({"arm": arms, "run_id": arms, "model": arms, "data": "forms", "scored": "words", "seed": 0})
    return jobs.assign(augment="none", settings=[()] * len(arms), seconds=1.0, parameters=1.0)


@pytest.mark.parametrize("others", [[], ["r_fcn"]])
def test_a_job_that_found_no_box_is_compared_with_an_average_precision_of_zero(tmp_path, others) -> None:
    found = {"components": [FOUND.at(torch.tensor([], dtype=torch.long))], "r_fcn": [FOUND]}
    arms, tables = ["components", *others], []
    for arm in arms:
        hits_table("test", found[arm], [TRUTH]).to_csv(tmp_path / arm, index=False)
        tables.append(rows_in(tmp_path / arm, None).assign(run_id=arm))
    there = joined([truth_table("test", [TRUTH]).assign(run_id=arm) for arm in arms])
    means = summary_of(jobs_of(*arms), {"found.csv": joined(tables), "boxes.csv": there}, "of test").tables["means.csv"]
    errors = means[means["scored"] == "words"].set_index("arm")["error"]
    assert errors["components"] == 1.0
    assert (errors[others] < 1.0).all()
