"""Which anchors count, and what they cost."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, smooth_l1_loss

from drawn_forms import ONE_FORM
from models.forms.detect import proposals as own
from models.forms.detect.boxes import encode, overlaps
from models.forms.detect.proposals import Proposals, Raw, form_loss, labels


def test_labels_by_hand() -> None:
    anchors = torch.tensor([[0.0, 0, 10, 10], [0, 0, 10, 6], [0, 0, 10, 4], [50, 50, 60, 60], [0, 0, 2, 10]])
    truth = torch.tensor([[0.0, 0, 10, 10], [52, 52, 80, 80]])
    positive, negative, meant = labels(anchors, truth)
    assert positive.tolist() == [True, True, False, True, False]  # the fourth is the best of the second box
    assert negative.tolist() == [False, False, False, False, True]  # the third, with 0.4, does not count
    assert meant.tolist()[:4] == [0, 0, 0, 1]


def test_the_first_of_equally_good_anchors_is_a_box_s_best() -> None:
    anchors = torch.tensor([[0.0, 0, 10, 10], [20.0, 0, 30, 10], [90.0, 0, 95, 5]])
    positive, _, meant = labels(anchors, torch.tensor([[8.0, 0, 22, 10]]))
    assert positive.tolist() == [True, False, False]
    assert int(meant[0]) == 0


def test_an_anchor_that_is_the_best_of_several_boxes_means_the_last_of_them() -> None:
    anchors = torch.tensor([[0.0, 0, 10, 10], [90.0, 0, 95, 5]])
    positive, _, meant = labels(anchors, torch.tensor([[0.0, 0, 9, 9], [1.0, 1, 4, 4], [6.0, 6, 12, 12]]))
    assert positive.tolist() == [True, False]
    assert int(meant[0]) == 2


def test_the_loss_is_the_mean_of_losses_of_drawn_anchors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "SAMPLED", 12)
    chance = torch.Generator().manual_seed(0)
    anchors = torch.tensor([[x, y, x + 8.0, y + 8.0] for x in range(0, 40, 2) for y in range(0, 12, 2)])
    boxes = torch.tensor([[4.0, 2, 12, 10], [20.0, 1, 29, 9]])
    said, offsets = torch.randn(len(anchors), generator=chance), torch.randn(len(anchors), 4, generator=chance)
    positive, negative, meant = labels(anchors, boxes)
    assert positive.sum() > 6
    costs = binary_cross_entropy_with_logits(said, positive.float(), reduction="none")
    drawn = []
    for _ in range(3000):
        ones, others = (part.nonzero()[:, 0] for part in (positive, negative))
        chosen = torch.cat([ones[torch.randperm(len(ones), generator=chance)[:6]],
                            others[torch.randperm(len(others), generator=chance)[:6]]])  # fmt: skip
        drawn.append(costs[chosen].mean())
    distance = smooth_l1_loss(offsets, encode(boxes[meant], anchors), beta=1 / 9, reduction="none").sum(1)[positive]
    sample = torch.stack(drawn)
    expected, error = sample.mean() + distance.mean(), sample.std() / 3000**0.5
    assert abs(float(form_loss(said, offsets, anchors, boxes) - expected)) < 4 * float(error)


def test_a_form_without_boxes_costs_its_background_alone() -> None:
    anchors, said = torch.tensor([[0.0, 0, 9, 9], [3.0, 0, 12, 9]]), torch.tensor([0.0, 0.0])
    cost = form_loss(said, torch.zeros(2, 4), anchors, torch.zeros(0, 4))
    assert float(cost) == pytest.approx(0.6931472)


def test_proposals_are_the_anchors_moved_clipped_and_kept_apart() -> None:
    made = Proposals([(16.0, 16.0)], stride=8, width=16, norm="group")
    raw = Raw(torch.tensor([[3.0, 2.0, 1.0, 0.0]]), torch.zeros(1, 4, 4),
              torch.tensor([[-8.0, -8, 8, 8], [0.0, 0, 9, 8], [20.0, 20, 36, 36], [60.0, 0, 70, 9]]))  # fmt: skip
    (boxes,) = made.propose(raw, 40, 60, 10, candidates=4)
    assert boxes.tolist() == [[0, 0, 8, 8], [20, 20, 36, 36]]  # the second hides behind the first, the last is outside
    assert len(made.propose(raw, 40, 60, 1, candidates=4)[0]) == 1
    assert len(made.propose(raw, 40, 60, 10, candidates=2)[0]) == 1  # both lie on the same box


def test_anchors_of_a_map_are_as_many_as_what_is_said() -> None:
    made = Proposals([(16.0, 16.0), (30.0, 9.0)], stride=8, width=16, norm="group")
    raw = made(torch.randn(2, 16, 5, 7, generator=torch.Generator().manual_seed(0)))
    assert raw.objectness.shape == (2, 70)
    assert raw.offsets.shape == (2, 70, 4)
    assert raw.anchors.shape == (70, 4)
    assert overlaps(ONE_FORM[1].boxes, raw.anchors).amax() > 0
    assert float(made.loss(raw, [ONE_FORM[1], ONE_FORM[1]]).detach()) > 0
