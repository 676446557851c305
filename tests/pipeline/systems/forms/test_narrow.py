"""Average precision of the narrower half of words."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.forms.detect.average_precision import curve
from models.forms.detect.boxes import CLASSES, WORD, Detections, Truth
from pipeline.systems.forms.segmentation.multirun import NARROW_WORDS, errors_of
from pipeline.systems.forms.segmentation.narrow import median_width, narrow_of, narrow_precision
from pipeline.systems.forms.segmentation.scores import found_table, truth_table

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
    found, there = found_table("test", both, [TRUTH, empty]), truth_table("test", [TRUTH, empty])
    assert there["narrow_word"].tolist() == [3, 0]  # the median of 20, 30, 60, 70 and 90 is 60
    whole, drawn = errors_of(found, there, {"part": "test", "scored": NARROW_WORDS})
    assert whole == pytest.approx(1 - narrow_precision(both, [TRUTH, empty]))  # pyright: ignore
    assert np.isnan(drawn).mean() == pytest.approx(0.25, abs=0.03)  # draws of the second form alone
