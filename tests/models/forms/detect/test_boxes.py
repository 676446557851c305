"""Overlaps and offsets, beside loops."""

from __future__ import annotations

import pytest
import torch

from models.forms.detect import boxes as own
from models.forms.detect.boxes import Truth, decode, encode, overlaps, refuse_bad
from strewn_boxes import overlap, some_boxes


def test_overlaps_are_those_of_the_loop() -> None:
    one, other = some_boxes(20, 0), some_boxes(30, 1)
    expected = [[overlap(a, b) for b in other.tolist()] for a in one.tolist()]
    assert overlaps(one, other).tolist() == expected
    assert overlaps(one, one).diagonal().tolist() == [1.0] * 20
    point = torch.tensor([[3.0, 3.0, 3.0, 3.0]])
    assert overlaps(point, point).tolist() == [[0.0]]


def test_decoding_undoes_encoding() -> None:
    boxes, anchors = some_boxes(200, 2, whole=False), some_boxes(200, 3, whole=False)
    torch.testing.assert_close(decode(encode(boxes, anchors), anchors), boxes, rtol=1e-5, atol=1e-4)
    one, anchor = torch.tensor([[10.0, 10.0, 30.0, 20.0]]), torch.tensor([[5.0, 5.0, 15.0, 25.0]])
    expected = torch.tensor([[1.0, 0.0, 0.6931472, -0.6931472]])
    torch.testing.assert_close(encode(one, anchor), expected)


def test_wild_offsets_stay_numbers() -> None:
    decoded = decode(torch.full((1, 4), 1e4), torch.tensor([[0.0, 0.0, 8.0, 8.0]]))
    assert decoded.isfinite().all()
    assert own.clipped(decoded, 50, 70).tolist()[0][2:] == [70.0, 50.0]


@pytest.mark.parametrize(
    ("box", "kind", "said"),
    [([5, 5, 5, 9], 1, "no area"), ([9, 5, 5, 9], 1, "swapped"), ([5, 5, 9, 51], 1, "outside of 70 x 50"),
     ([-1, 5, 9, 9], 1, "outside"), ([float("nan"), 5, 9, 9], 1, "no area"), ([5, 5, 9, 9], 0, "none of 1 to 5"),
     ([5, 5, 9, 9], 6, "none of 1 to 5")],
)  # fmt: skip
def test_bad_truth_is_named(box: list[float], kind: int, said: str) -> None:
    good = Truth(torch.tensor([[0.0, 0.0, 70.0, 50.0]]), torch.tensor([5]))
    refuse_bad([good], 50, 70)
    bad = Truth(torch.cat([good.boxes, torch.tensor([box]).float()]), torch.tensor([5, kind]))
    with pytest.raises(ValueError, match=f"^form 1, box 1: .*{said}"):
        refuse_bad([good, bad], 50, 70)


def test_boxes_of_another_shape_are_named() -> None:
    with pytest.raises(ValueError, match=r"form 0: boxes must have shape \(2, 4\), got \(2, 3\)"):
        refuse_bad([Truth(torch.zeros(2, 3), torch.ones(2))], 50, 70)
