"""Shapes of anchors and where they stand."""

from __future__ import annotations

import pytest
import torch

from models.forms.detect.anchors import anchor_shapes, anchors_on


def boxes_of(sides: list[tuple[float, float]]) -> torch.Tensor:
    return torch.tensor([(3.0, 4.0, 3.0 + width, 4.0 + height) for width, height in sides])


def test_each_group_of_boxes_gets_a_shape() -> None:
    groups = [
        [(10.0 + i, 10.0) for i in range(3)],
        [(100.0 + i, 30.0) for i in range(3)],
        [(60.0, 60.0 + i) for i in range(3)],
    ]
    boxes = boxes_of([side for group in groups for side in group])
    assert anchor_shapes(boxes, 3) == ((11.0, 10.0), (101.0, 30.0), (60.0, 61.0))


def test_the_order_of_boxes_does_not_matter_and_few_shapes_are_returned_as_they_are() -> None:
    boxes = boxes_of([(20.0, 10.0), (30.0, 12.0), (30.0, 12.0), (90.0, 40.0), (25.0, 50.0), (70.0, 9.0), (80.0, 11.0)])
    assert anchor_shapes(boxes.flip(0), 3) == anchor_shapes(boxes, 3)
    assert anchor_shapes(boxes[:3], 5) == ((20.0, 10.0), (30.0, 12.0))


@pytest.mark.parametrize("boxes", [torch.zeros(0, 4), torch.tensor([[3.0, 3.0, 3.0, 9.0]])])
def test_boxes_without_area_are_refused(boxes: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="anchors need training boxes, each with an area"):
        anchor_shapes(boxes)


def test_anchors_stand_around_the_centres_of_cells() -> None:
    found = anchors_on(torch.tensor([[4.0, 2.0], [6.0, 6.0]]), 2, 3, 8)
    assert found.shape == (12, 4)
    assert found[0].tolist() == [2.0, 3.0, 6.0, 5.0]  # around (4, 4)
    assert found[3].tolist() == [9.0, 1.0, 15.0, 7.0]  # the second shape around (12, 4)
    assert found[6].tolist() == [2.0, 11.0, 6.0, 13.0]  # around (4, 12)
