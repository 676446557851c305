"""R-FCN: it learns one form by heart, and its losses by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from drawn_forms import ONE_FORM, WORDS_ALONE, learned, precision
from models.forms.detect.boxes import Truth
from models.forms.detect.detector import MOST_FOUND
from models.forms.detect.r_fcn import RFCN
from models.forms.detect.suppression import suppress
from models.forms.detect.two_stage import region_losses, region_targets
from models.forms.detect.yolo import YoloV3
from models.runtime.plain import made_of, plain

IMAGE, TRUTH = ONE_FORM
SMALL = RFCN(width=32, depth=1, proposals=40).prepared([IMAGE], [TRUTH])
EMPTY = Truth(torch.zeros(0, 4), torch.zeros(0, dtype=torch.int64))


def total(losses: dict[str, Tensor]) -> float:
    return sum(float(loss.detach()) for loss in losses.values())


def test_it_learns_one_form_by_heart() -> None:
    detector = SMALL.network()
    before = torch.get_rng_state()
    curve = learned(detector, ONE_FORM, steps=90, rate=5e-3)  # at 1e-2 rounding decides what is found
    assert curve[-1] < 0.4 * curve[0]
    assert precision(detector, ONE_FORM) == 1.0
    assert precision(SMALL.network(), ONE_FORM) < 0.3
    assert torch.equal(torch.get_rng_state(), before)  # nothing is drawn


def test_forms_with_more_boxes_than_half_of_the_proposals_are_refused() -> None:
    """Boxes without a proposal are never found, which no loss says."""
    many = Truth(TRUTH.boxes[:1].repeat(5, 1), TRUTH.classes[:1].repeat(5))
    assert RFCN(proposals=10).prepared([], [TRUTH, many]).proposals == 10
    with pytest.raises(ValueError, match=r"proposals=9 .* form 2 of the training forms has 5; raise it to 10 or more"):
        RFCN(proposals=9).prepared([], [Truth(TRUTH.boxes[:2], TRUTH.classes[:2]), many])
    with pytest.raises(ValueError, match="has 5; raise it and candidates to 10 or more"):
        RFCN(proposals=9, candidates=9).prepared([], [many])
    more = Truth(TRUTH.boxes[:1].repeat(501, 1), TRUTH.classes[:1].repeat(501))
    with pytest.raises(ValueError, match="has 501; cut it into pieces, as at most 500 boxes are found on a form"):
        RFCN().prepared([], [more])


def test_losses_are_means_over_forms_whatever_else_is_in_the_batch() -> None:
    detector, forms = SMALL.network(), [ONE_FORM, WORDS_ALONE, (IMAGE, EMPTY)]
    together = detector.losses(torch.stack([image for image, _ in forms]), [truth for _, truth in forms])
    alone = [detector.losses(image[None], [truth]) for image, truth in forms]
    assert set(together) == {"proposal_loss", "class_loss", "box_loss"}
    for name, loss in together.items():
        torch.testing.assert_close(loss, torch.stack([own[name] for own in alone]).mean(), rtol=1e-4, atol=1e-5)


def test_a_form_is_read_alike_in_any_batch() -> None:
    detector = SMALL.network().eval()
    alone, both = detector.detect(IMAGE[None], 0.1), detector.detect(torch.stack([IMAGE, WORDS_ALONE[0]]), 0.1)
    assert len(alone[0].boxes) == len(both[0].boxes) > 0
    torch.testing.assert_close(both[0].scores, alone[0].scores, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("image", [torch.zeros(1, 1, 64, 96), torch.ones(1, 1, 64, 96), torch.zeros(1, 1, 9, 5)])
def test_white_black_and_tiny_forms_give_numbers(image: Tensor) -> None:
    detector = SMALL.network().eval()
    loss = detector.losses(image, [EMPTY])
    assert math.isfinite(total(loss))
    assert all(own.isfinite().all() for own in detector.detect(image)[0])


def test_the_hardest_proposals_count() -> None:
    """By hand: four proposals, of which two have a box; two of largest loss are counted."""
    regions = torch.tensor([[0.0, 0, 10, 10], [20.0, 0, 30, 10], [50.0, 50, 60, 60], [70.0, 50, 80, 60]])
    truth = Truth(torch.tensor([[0.0, 0, 10, 10], [22.0, 0, 32, 10]]), torch.tensor([1, 4]))
    kinds, targets = region_targets(regions, truth)
    assert kinds.tolist() == [1, 4, 0, 0]
    torch.testing.assert_close(targets[:2], torch.tensor([[0.0, 0, 0, 0], [2.0, 0, 0, 0]]))  # in tenths
    said = torch.zeros(4, 10)
    said[2, 0] = 9.0  # the third is known to be nothing; the other three cost ln 6 each, the second its offset too
    offset = 2.0 - 1 / 2
    found = region_losses(said, regions, truth, 2)
    torch.testing.assert_close(found, torch.tensor([2 * math.log(6) / 2, offset / 2]))
    every = region_losses(said, regions, truth, 64)
    torch.testing.assert_close(every, torch.tensor([3 * math.log(6) / 4, offset / 4]), rtol=1e-3, atol=1e-3)


def test_the_seed_draws_the_weights() -> None:
    one, same, other = (SMALL.network(seed=seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["maps.weight"], other["maps.weight"])


def test_settings_are_plain_and_batch_norm_is_part_of_the_state() -> None:
    assert made_of(plain(SMALL, "detector")) == SMALL
    assert SMALL.prepared([], []) == SMALL
    assert not list(SMALL.network().buffers())[1:]  # the shapes of anchors alone
    assert "trunk.stem.0.1.running_mean" in replace(SMALL, norm="batch").network().state_dict()


@pytest.mark.parametrize(
    ("given", "said"),
    [({"stride": 3}, "stride must be one of 2, 4, 8, 16"), ({"width": 40}, "multiple of 16"),
     ({"depth": 0}, "depth must be"), ({"norm": "layer"}, "norm must be one of group, batch"),
     ({"bins": 0}, "bins must be"), ({"proposals": 0}, "proposals must be"), ({"hard_examples": 0}, "hard_examples"),
     ({"most_overlap": 1.1}, "most_overlap must be"), ({"most_overlap": -0.1}, "most_overlap must be"),
     ({"decay": 0.0}, "decay must be a number above 0"), ({"candidates": 0}, "candidates must be"),
     ({"candidates": 149}, "candidates must be at least proposals=150, got 149"),
     ({"anchors": [(3.0, 0.0)]}, "anchors must be a number above 0"), ({"anchors": []}, "at least one")],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        RFCN(**given)  # pyright: ignore[reportArgumentType]


def test_what_is_missing_is_said() -> None:
    with pytest.raises(ValueError, match="anchors are not known yet"):
        RFCN().network()
    with pytest.raises(ValueError, match="anchors need training forms"):
        RFCN().prepared([], [])
    with pytest.raises(
        ValueError, match=r"images must be floats of shape \(form, 1, height, width\), got \(1, 3, 8, 8\)"
    ):
        SMALL.network().detect(torch.zeros(1, 3, 8, 8))
    with pytest.raises(ValueError, match=r"form 0, box 2: .* outside of 96 x 40"):
        SMALL.network().losses(IMAGE[None, :, :40], [TRUTH])


@pytest.mark.parametrize(
    "made", [RFCN(width=32, depth=1, proposals=40), YoloV3(width=32, depth=1)], ids=["r_fcn", "yolo"]
)
def test_boxes_of_a_class_overlap_by_as_much_as_may_be(made: RFCN | YoloV3) -> None:
    """All detections beneath a bound of 1, suppressed by themselves, are those of a smaller bound."""
    image = torch.zeros(1, 1, 32, 32)
    networks = {
        bound: replace(made, anchors=[(12.0, 12.0), (20.0, 8.0)], most_overlap=bound, decay=None).network()
        for bound in (0.6, 1.0)
    }
    found, every = (networks[bound].eval().detect(image, 0.0)[0] for bound in (0.6, 1.0))
    kept = every.at(suppress(every, most_overlap=0.6))
    assert 0 < len(kept.scores) < len(every.scores) < MOST_FOUND
    torch.testing.assert_close(found.boxes, kept.boxes, rtol=0, atol=0)
    torch.testing.assert_close(found.classes, kept.classes)
    torch.testing.assert_close(found.scores, kept.scores, rtol=0, atol=0)
