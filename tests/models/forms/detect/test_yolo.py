"""YOLO-v3: which cells mean which boxes, what they cost, and one form by heart."""

from __future__ import annotations

import math

import pytest
import torch

from drawn_forms import ONE_FORM, WORDS_ALONE, learned, precision
from models.forms.detect.boxes import Truth
from models.forms.detect.yolo import CellPredictions, YoloV3, rows_of
from models.runtime.plain import made_of, plain

IMAGE, TRUTH = ONE_FORM
SMALL = YoloV3(width=32, depth=1).prepared([IMAGE], [TRUTH])
PRIORS = ((16.0, 16.0), (32.0, 8.0))


def test_a_box_is_meant_by_the_cell_of_its_centre_and_the_prior_of_its_shape() -> None:
    boxes = torch.tensor([[0.0, 0, 30, 10], [18.0, 10, 34, 26], [17.0, 9, 33, 25], [0.0, 0, 31, 8]])
    rows, meant = rows_of(boxes, torch.tensor(PRIORS), 8, 5)
    assert meant.tolist() == [0, 1]  # the third is in the row of the second, the fourth in that of the first
    assert rows.tolist() == [2 * 1 + 1, 2 * (2 * 5 + 3)]


def test_what_is_said_becomes_boxes_and_its_loss_by_hand() -> None:
    network = YoloV3(anchors=PRIORS).network()
    rows = 3 * 2 * 2  # three cells by two
    said = CellPredictions(torch.zeros(rows, 2), torch.zeros(rows, 2), torch.zeros(rows), torch.zeros(rows, 5))
    boxes = network.boxes(said, 3)
    assert boxes[0].tolist() == [-4.0, -4.0, 12.0, 12.0]  # around (4, 4)
    assert boxes[9].tolist() == [-4.0, 8.0, 28.0, 16.0]  # the second prior around (12, 12)
    truth = Truth(torch.tensor([[4.0, 4.0, 20.0, 20.0]]), torch.tensor([4]))  # centre (12, 12), of the first shape
    loss = network._form(said, truth, 3)
    # the cell of the centre says the box to the pixel; no other row overlaps it by more than a half
    torch.testing.assert_close(loss, torch.tensor([12 * math.log(2), 5 * math.log(2), 0.0]))
    moved = Truth(truth.boxes + torch.tensor([2.0, 0, 2, 0]), truth.classes)
    torch.testing.assert_close(network._form(said, moved, 3)[2], torch.tensor(1 / 16))


def test_a_box_that_overlaps_by_more_than_half_but_is_not_the_one_does_not_count() -> None:
    network = YoloV3(anchors=((16.0, 16.0), (16.0, 15.0))).network()
    said = CellPredictions(torch.zeros(12, 2), torch.zeros(12, 2), torch.zeros(12), torch.zeros(12, 5))
    truth = Truth(torch.tensor([[4.0, 4.0, 20.0, 20.0]]), torch.tensor([4]))
    assert float(network._form(said, truth, 3)[0]) == pytest.approx(11 * math.log(2))  # the other shape of the cell


def test_it_learns_one_form_by_heart() -> None:
    detector = SMALL.network()
    before = torch.get_rng_state()
    curve = learned(detector, ONE_FORM, steps=60, rate=1e-2)
    assert curve[-1] < 0.05 * curve[0]
    assert precision(detector, ONE_FORM) == 1.0
    assert precision(SMALL.network(), ONE_FORM) < 0.3
    assert torch.equal(torch.get_rng_state(), before)


def test_losses_are_means_over_forms() -> None:
    detector = SMALL.network()
    empty = Truth(torch.zeros(0, 4), torch.zeros(0, dtype=torch.int64))
    forms = [ONE_FORM, WORDS_ALONE, (torch.zeros(1, 64, 96), empty)]
    together = detector.losses(torch.stack([image for image, _ in forms]), [truth for _, truth in forms])
    alone = [detector.losses(image[None], [truth]) for image, truth in forms]
    assert set(together) == {"object_loss", "class_loss", "box_loss"}
    for name, loss in together.items():
        torch.testing.assert_close(loss, torch.stack([own[name] for own in alone]).mean(), rtol=1e-4, atol=1e-5)


def test_settings_are_plain_and_anchors_are_needed() -> None:
    assert made_of(plain(SMALL, "detector")) == SMALL
    with pytest.raises(ValueError, match="anchors are not known yet"):
        YoloV3().network()
    with pytest.raises(ValueError, match="shapes must be"):
        YoloV3(shapes=0)
