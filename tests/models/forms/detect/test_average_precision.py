"""Average precision beside a sweep over all thresholds."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.forms.detect.average_precision import curve, hits_of, precision_of, weighted_average
from models.forms.detect.boxes import Detections, Truth, overlaps


def found_of(boxes: list[list[float]], scores: list[float]) -> Detections:
    return Detections(
        torch.tensor(boxes).reshape(-1, 4), torch.ones(len(boxes), dtype=torch.int64), torch.tensor(scores)
    )


def truth_of(boxes: list[list[float]]) -> Truth:
    return Truth(torch.tensor(boxes).reshape(-1, 4), torch.ones(len(boxes), dtype=torch.int64))


def swept(found: list[Detections], truths: list[Truth], least_overlap: float) -> list[tuple[float, float]]:
    """Precision and recall at each score, each counted from the start."""
    points = []
    for least in sorted({score for own in found for score in own.scores.tolist()}, reverse=True):
        hits, named = set[tuple[int, int]](), 0
        for form, (own, truth) in enumerate(zip(found, truths, strict=True)):
            for place, score in enumerate(own.scores.tolist()):
                if score < least:
                    continue
                named += 1
                shares = overlaps(own.boxes[place : place + 1], truth.boxes)[0].tolist() or [0.0]
                if max(shares) >= least_overlap:
                    hits.add((form, shares.index(max(shares))))
        points.append((len(hits) / named, len(hits) / sum(len(truth.boxes) for truth in truths)))
    return points


def area(points: list[tuple[float, float]]) -> float:
    """The mean over true boxes of the best precision at their recall or further on."""
    recalls = sorted({recall for _, recall in points})
    steps = zip(recalls, [0.0, *recalls], strict=False)
    return sum((high - low) * max(p for p, r in points if r >= high) for high, low in steps)


def some_forms(seed: int) -> tuple[list[Detections], list[Truth]]:
    chance = torch.Generator().manual_seed(seed)
    found, truths = [], []
    for count in (4, 0, 6):
        corners = torch.rand(count, 2, generator=chance) * 50
        boxes = torch.cat([corners, corners + 10 + torch.rand(count, 2, generator=chance) * 20], 1)
        shaken = boxes.repeat(3, 1) + torch.randn(3 * count, 4, generator=chance) * 3
        more = torch.cat([shaken, torch.tensor([[0.0, 0.0, 5.0, 5.0]])])
        scores = torch.randint(0, 9, (len(more),), generator=chance) / 9
        found.append(Detections(more, torch.ones(len(more), dtype=torch.int64), scores))
        truths.append(Truth(boxes, torch.ones(count, dtype=torch.int64)))
    return found, truths


@pytest.mark.parametrize("least_overlap", [0.5, 0.75])
def test_the_curve_is_that_of_the_sweep(least_overlap: float) -> None:
    for seed in range(6):
        found, truths = some_forms(seed)
        own, expected = curve(found, truths, 1, least_overlap=least_overlap), swept(found, truths, least_overlap)
        assert own is not None
        np.testing.assert_allclose(np.stack([own.precision, own.recall], 1), expected, rtol=1e-12)
        assert own.average() == pytest.approx(area(expected), rel=1e-12)
        assert own.last_recall == max(recall for _, recall in expected)
        assert own.average() <= own.last_recall
        eleven = [max((p for p, r in expected if r >= at / 10 - 1e-9), default=0.0) for at in range(11)]
        assert own.average(eleven_points=True) == pytest.approx(np.mean(eleven), rel=1e-12)


def test_neither_the_order_of_detections_nor_that_of_forms_matters() -> None:
    found, truths = some_forms(0)
    turned = [each.at(torch.arange(len(each.scores) - 1, -1, -1)) for each in found][::-1]
    assert precision_of(turned, truths[::-1]) == precision_of(found, truths)


def test_a_second_detection_of_a_box_is_false() -> None:
    """By hand: right, doubled, right: precision 1, 1/2, 2/3 at recall 1/2, 1/2, 1."""
    one, other = [0.0, 0.0, 10.0, 10.0], [20.0, 0.0, 30.0, 10.0]
    found = [found_of([one, [1.0, 0.0, 11.0, 10.0], other], [0.9, 0.8, 0.7])]
    own = curve(found, [truth_of([one, other])], 1)
    assert own is not None
    assert own.precision.tolist() == [1, 1 / 2, 2 / 3]
    assert own.recall.tolist() == [0.5, 0.5, 1.0]
    assert own.average() == pytest.approx(0.5 * 1 + 0.5 * 2 / 3)
    assert own.average(eleven_points=True) == pytest.approx((6 * 1 + 5 * 2 / 3) / 11)


def test_an_overlap_of_exactly_the_least_counts() -> None:
    found = [found_of([[0.0, 0.0, 5.0, 10.0]], [0.9])]
    own = curve(found, [truth_of([[0.0, 0.0, 10.0, 10.0]])], 1)
    assert own is not None
    assert own.average() == 1.0


def test_nothing_found_scores_zero_and_classes_that_are_away_are_named() -> None:
    whole = precision_of([found_of([], [])], [truth_of([[0.0, 0.0, 10.0, 10.0]])])
    assert whole.by_class == {"word": 0.0}
    assert whole.recalls == {"word": 0.0}
    assert whole.absent == ("signature", "stamp", "date", "noise")
    assert np.isnan(precision_of([found_of([], [])], [truth_of([])]).mean)


def test_classes_are_kept_apart_and_averaged() -> None:
    boxes = torch.tensor([[0.0, 0.0, 10.0, 10.0], [20.0, 0.0, 30.0, 10.0]])
    truth = Truth(boxes, torch.tensor([1, 4]))
    found = Detections(boxes, torch.tensor([1, 3]), torch.tensor([0.9, 0.9]))
    whole = precision_of([found], [truth])
    assert whole.by_class == {"word": 1.0, "date": 0.0}
    assert whole.mean == 0.5


def test_unequal_numbers_of_forms_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shorter|longer"):
        precision_of([], [truth_of([])])


def test_forms_that_count_once_have_the_average_of_the_curve_and_twice_that_of_two_copies() -> None:
    found, truths = some_forms(4)
    scores = np.concatenate([own.scores.double().numpy() for own in found])
    hits = np.concatenate([hits_of(*pair) for pair in zip(found, truths, strict=True)])
    form = np.repeat(np.arange(len(found)), [len(own.scores) for own in found])
    counts = np.array([len(truth.boxes) for truth in truths], float)
    weights = np.stack([np.ones(len(found)), np.arange(len(found)), np.zeros(len(found))]).astype(float)
    drawn = weighted_average(scores, hits, weights[:, form], weights @ counts)
    whole = curve(found, truths, 1)
    copies = [place for place in range(len(found)) for _ in range(place)]
    several = curve([found[place] for place in copies], [truths[place] for place in copies], 1)
    assert whole is not None
    assert several is not None
    np.testing.assert_allclose(drawn, [whole.average(), several.average(), np.nan], rtol=1e-12)


def test_of_two_detections_of_a_box_the_better_one_hits_and_a_box_of_another_class_is_none() -> None:
    found = Detections(torch.tensor([[0.0, 0, 10, 10], [0, 0, 10, 9], [0, 0, 10, 10]]), torch.tensor([1, 1, 2]),
                       torch.tensor([0.9, 0.8, 0.7]))  # fmt: skip
    assert hits_of(found, Truth(torch.tensor([[0.0, 0, 10, 10]]), torch.tensor([1]))).tolist() == [True, False, False]
    assert hits_of(found, Truth(torch.zeros(0, 4), torch.zeros(0, dtype=torch.int64))).tolist() == [False] * 3
