"""The objective of detectors: forms side by side, the same copies in the same turn."""

from __future__ import annotations

import pytest
import torch

from models.forms.detect.boxes import Truth
from models.forms.detect.objective import DetectionObjective, side_by_side
from models.forms.detect.yolo import YoloV3


def show(form: int, turn: int) -> tuple[torch.Tensor, Truth]:
    """A form of a size and a box of its own."""
    ink = torch.zeros(32 + 8 * form, 48)
    ink[8:20, 8:30] = (turn % 7) / 7
    return ink, Truth(torch.tensor([[8.0, 8.0, 30.0, 20.0]]), torch.tensor([1]))


def objective(batch: int = 2) -> DetectionObjective:
    """Of three forms."""
    detector = YoloV3(width=16, depth=1, anchors=((22.0, 12.0),)).network(seed=0)
    return DetectionObjective(detector, show, 3, batch=batch)


def test_forms_of_unequal_size_are_padded_with_paper() -> None:
    images = side_by_side([torch.ones(2, 3), torch.ones(3, 2)])
    assert images.shape == (2, 1, 3, 3)
    assert images[0, 0].tolist() == [[1, 1, 1], [1, 1, 1], [0, 0, 0]]
    assert images[1, 0].tolist() == [[1, 1, 0]] * 3


def test_every_form_comes_once_in_a_turn_and_the_same_generator_gives_the_same_turn() -> None:
    own = list(objective().batches(torch.Generator().manual_seed(3)))
    assert sorted(form for batch in own for form in batch.forms) == [0, 1, 2]
    assert len({batch.turn for batch in own}) == 1
    assert own == list(objective().batches(torch.Generator().manual_seed(3)))
    generator = torch.Generator().manual_seed(3)
    assert next(objective().batches(generator)).turn != next(objective().batches(generator)).turn


def test_the_loss_is_the_sum_over_forms() -> None:
    own = objective(batch=1)
    batches = list(own.batches(torch.Generator().manual_seed(0)))
    loss = own.loss(batches[0])
    ink, truth = show(batches[0].forms[0], batches[0].turn)
    expected = sum(own.model.losses(ink[None, None], [truth]).values())
    torch.testing.assert_close(loss.total, expected)
    assert loss.weight == 1


def test_without_a_form_there_is_nothing_to_learn() -> None:
    with pytest.raises(ValueError, match="no form to learn from"):
        DetectionObjective(YoloV3(anchors=((8.0, 8.0),)).network(), show, 0, batch=1)
