"""Overlaps, offsets and suppression, beside loops."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from models.forms.detect import boxes as own
from models.forms.detect.boxes import Detections, Truth, decode, encode, overlaps, refuse_bad, suppress


def some_boxes(count: int, seed: int, *, whole: bool = True) -> Tensor:
    """Boxes on a form of 100 pixels; `whole` ones have many equal overlaps."""
    chance = torch.Generator().manual_seed(seed)
    corners = torch.rand(count, 2, generator=chance) * 80
    boxes = torch.cat([corners, corners + 2 + torch.rand(count, 2, generator=chance) * 30], 1)
    return boxes.round() if whole else boxes


def overlap(one: list[float], other: list[float]) -> float:
    """Intersection over union, written out."""
    wide = max(0.0, min(one[2], other[2]) - max(one[0], other[0]))
    high = max(0.0, min(one[3], other[3]) - max(one[1], other[1]))
    both = (one[2] - one[0]) * (one[3] - one[1]) + (other[2] - other[0]) * (other[3] - other[1]) - wide * high
    return wide * high / both if both else 0.0


def kept_by_loop(found: Detections, most_overlap: float) -> list[int]:
    """Greedy suppression, one box after the other."""
    boxes, classes, scores = (part.tolist() for part in found)
    left, kept = list(range(len(scores))), list[int]()
    while left:
        best = max(left, key=lambda place: (scores[place], -place))
        kept.append(best)
        left = [
            place for place in left
            if place != best
            and not (classes[place] == classes[best] and overlap(boxes[place], boxes[best]) > most_overlap)
        ]  # fmt: skip
    return kept


def test_overlaps_are_those_of_the_loop() -> None:
    one, other = some_boxes(20, 0), some_boxes(30, 1)
    expected = [[overlap(a, b) for b in other.tolist()] for a in one.tolist()]
    assert overlaps(one, other).tolist() == expected
    assert overlaps(one, one).diagonal().tolist() == [1.0] * 20
    point = torch.tensor([[3.0, 3.0, 3.0, 3.0]])
    assert overlaps(point, point).tolist() == [[0.0]]


@pytest.mark.parametrize("block", [7, 256])
@pytest.mark.parametrize("most_overlap", [0.0, 0.3, 0.5, 1.0])
def test_suppression_keeps_what_the_loop_keeps(
    most_overlap: float, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own, "BLOCK", block)
    for seed in range(5):
        chance = torch.Generator().manual_seed(seed)
        boxes = some_boxes(60, seed, whole=seed % 2 == 0)
        boxes = torch.cat([boxes, boxes[:9]])  # equal boxes
        scores = torch.randint(1, 12, (len(boxes),), generator=chance) / 12  # equal scores
        found = Detections(boxes, torch.randint(1, 4, (len(boxes),), generator=chance), scores)
        expected = kept_by_loop(found, most_overlap)
        assert suppress(found, most_overlap=most_overlap).tolist() == expected
        assert suppress(found, most_overlap=most_overlap, most=4).tolist() == expected[:4]


def test_of_equal_boxes_and_scores_the_first_is_kept_in_each_class() -> None:
    boxes, scores = torch.tensor([[0.0, 0.0, 9.0, 9.0]]).repeat(5, 1), torch.tensor([0.5, 0.5, 0.5, 0.9, 0.9])
    found = Detections(boxes, torch.tensor([1, 2, 1, 3, 3]), scores)
    assert suppress(found, most_overlap=0.3).tolist() == [3, 0, 1]


def test_an_overlap_of_exactly_the_most_is_kept() -> None:
    boxes = torch.tensor([[0.0, 0.0, 4.0, 1.0], [2.0, 0.0, 6.0, 1.0]])  # they share 2 of 6
    found = Detections(boxes, torch.tensor([1, 1]), torch.tensor([0.9, 0.8]))
    assert len(suppress(found, most_overlap=0.34)) == 2
    assert len(suppress(found, most_overlap=0.33)) == 1
    exact = found._replace(boxes=torch.tensor([[0.0, 0.0, 3.0, 1.0], [1.0, 0.0, 4.0, 1.0]]))  # 2 of 4
    assert len(suppress(exact, most_overlap=0.5)) == 2


def test_a_long_chain_of_boxes_that_hit_each_other_drops_every_other_one() -> None:
    starts = torch.arange(300.0)
    boxes = torch.stack([starts, starts * 0, starts + 2, starts * 0 + 1], 1)  # neighbours share a third
    found = Detections(boxes, torch.ones(300, dtype=torch.int64), 1 - starts / 300)
    assert suppress(found, most_overlap=0.3).tolist() == list(range(0, 300, 2))


def test_nothing_is_kept_of_nothing() -> None:
    assert suppress(own.no_detections(torch.device("cpu")), most_overlap=0.5).tolist() == []


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
