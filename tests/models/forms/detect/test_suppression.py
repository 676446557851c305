"""Suppression, hard and soft, beside loops."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from models.forms.detect import suppression
from models.forms.detect.boxes import Detections, no_detections
from models.forms.detect.suppression import softened, suppress
from strewn_boxes import overlap, some_boxes


def of_smaller(one: list[float], other: list[float]) -> float:
    """The shared area over that of the smaller box."""
    sides = [max(0.0, min(one[i + 2], other[i + 2]) - max(one[i], other[i])) for i in (0, 1)]
    return sides[0] * sides[1] / min((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))


def kept_by_loop(found: Detections, most_overlap: float, share: Callable = overlap) -> list[int]:
    """Greedy suppression, one box after the other."""
    boxes, classes, scores = (part.tolist() for part in found)
    left, kept = list(range(len(scores))), list[int]()
    while left:
        best = max(left, key=lambda place: (scores[place], -place))
        kept.append(best)
        left = [
            place for place in left
            if place != best
            and not (classes[place] == classes[best] and share(boxes[place], boxes[best]) > most_overlap)
        ]  # fmt: skip
    return kept


@pytest.mark.parametrize("block", [7, 256])
@pytest.mark.parametrize("most_overlap", [0.0, 0.3, 0.5, 1.0])
def test_suppression_keeps_what_the_loop_keeps(
    most_overlap: float, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suppression, "BLOCK", block)
    for seed in range(5):
        chance = torch.Generator().manual_seed(seed)
        boxes = some_boxes(60, seed, whole=seed % 2 == 0)
        boxes = torch.cat([boxes, boxes[:9]])  # equal boxes
        scores = torch.randint(1, 12, (len(boxes),), generator=chance) / 12  # equal scores
        found = Detections(boxes, torch.randint(1, 4, (len(boxes),), generator=chance), scores)
        expected = kept_by_loop(found, most_overlap)
        assert suppress(found, most_overlap=most_overlap).tolist() == expected
        assert suppress(found, most_overlap=most_overlap, most=4).tolist() == expected[:4]
        smaller = kept_by_loop(found, most_overlap, of_smaller)
        assert suppress(found, most_overlap=most_overlap, of_smaller=True).tolist() == smaller


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
    assert suppress(no_detections(torch.device("cpu")), most_overlap=0.5).tolist() == []


def softened_by_loop(found: Detections, decay: float, least_score: float) -> list[tuple[int, float]]:
    """Places in the order in which they are taken, with their scores then."""
    boxes, classes, scores = (part.tolist() for part in found)
    left, taken = dict(enumerate(scores)), list[tuple[int, float]]()
    while left:
        best = max(left, key=lambda place: (left[place], -place))
        score = left.pop(best)
        if score < least_score:
            break
        taken.append((best, score))
        for place in left:
            if classes[place] == classes[best]:
                left[place] *= math.exp(-(overlap(boxes[place], boxes[best]) ** 2) / decay)
    return taken


def test_each_detection_is_taken_once_though_scores_fall_to_0() -> None:
    steps = torch.arange(40.0)[:, None]
    near = Detections(
        torch.tensor([[0.0, 0.0, 90.0, 90.0]]) + steps, torch.ones(40, dtype=torch.int64), 1 - steps[:, 0] / 50
    )
    kept = softened(near, decay=1e-3, least_score=0.0, most=100)
    assert sorted(kept.boxes[:, 0].tolist()) == list(range(40))
    assert kept.scores.tolist() == sorted(kept.scores.tolist(), reverse=True)
    assert float(kept.scores.min()) >= 0


@pytest.mark.parametrize("part", ["boxes", "scores"])
def test_what_is_not_finite_is_refused(part: str) -> None:
    found = Detections(torch.ones(2, 4), torch.ones(2, dtype=torch.int64), torch.ones(2))
    broken = found._replace(**{part: getattr(found, part) * float("nan")})
    with pytest.raises(ValueError, match="not finite"):
        softened(broken, decay=0.5, least_score=0.05, most=9)


@pytest.mark.parametrize("decay", [0.05, 0.5, 5.0])
def test_soft_suppression_takes_what_the_loop_takes(decay: float) -> None:
    for seed in range(5):
        chance = torch.Generator().manual_seed(seed)
        boxes = some_boxes(60, seed, whole=False)
        scores = torch.rand(60, generator=chance)
        found = Detections(boxes, torch.randint(1, 4, (60,), generator=chance), scores.double())
        expected = softened_by_loop(found, decay, 0.2)
        before = found.scores.clone()
        kept = softened(found, decay=decay, least_score=0.2, most=100)
        places = [place for place, _ in expected]
        assert kept.boxes.tolist() == boxes[places].tolist()
        assert kept.classes.tolist() == found.classes[places].tolist()
        scores = torch.tensor([score for _, score in expected], dtype=torch.float64)
        torch.testing.assert_close(kept.scores, scores, rtol=1e-12, atol=0)
        assert torch.equal(found.scores, before)
        few = softened(found, decay=decay, least_score=0.2, most=4)
        assert few.boxes.tolist() == kept.boxes[:4].tolist()


def test_a_score_falls_by_the_overlap_with_a_better_one_of_its_class() -> None:
    boxes = torch.tensor([[0.0, 0.0, 3.0, 1.0], [1.0, 0.0, 4.0, 1.0], [0.0, 0.0, 3.0, 1.0], [9.0, 0.0, 12.0, 1.0]])
    found = Detections(boxes, torch.tensor([1, 1, 2, 1]), torch.tensor([0.9, 0.8, 0.7, 0.1]))
    kept = softened(found, decay=0.5, least_score=0.05, most=10)  # the first two share 2 of 4
    torch.testing.assert_close(kept.scores, torch.tensor([0.9, 0.7, 0.8 * math.exp(-0.5), 0.1]))
    assert len(softened(found, decay=0.5, least_score=0.5, most=10).scores) == 2
    equal = Detections(boxes[:1].repeat(3, 1), torch.ones(3, dtype=torch.int64), torch.full((3,), 0.5))
    assert softened(equal, decay=0.5, least_score=0.0, most=10).scores.tolist() == pytest.approx(
        [0.5 * math.exp(-2 * taken) for taken in range(3)]
    )


@pytest.mark.parametrize("decay", [0.0, -1.0, float("nan")])
def test_a_decay_that_is_not_above_0_is_refused(decay: float) -> None:
    with pytest.raises(ValueError, match="decay must be a number above 0"):
        softened(no_detections(torch.device("cpu")), decay=decay, least_score=0.0)


def test_nothing_is_left_of_nothing() -> None:
    assert len(softened(no_detections(torch.device("cpu")), decay=0.5, least_score=0.0, most=9).scores) == 0
