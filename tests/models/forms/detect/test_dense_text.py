"""EAST, PixelLink and CRAFT: what cells are told, what becomes of it, and one form by heart."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from drawn_forms import LARGE_WORDS, learned, precision
from models.forms.detect.boxes import Truth, overlaps
from models.forms.detect.craft import Craft, between_of, characters_of, heats
from models.forms.detect.dense_text import DenseTextSettings, Map, hard_mean, words_of
from models.forms.detect.east import East, merged_along, overlap_logs, shrunk, true_distances
from models.forms.detect.pixel_link import STEPS, PixelLink, fair_weights, joined, neighbours
from models.runtime.plain import made_of, plain

IMAGE, TRUTH = LARGE_WORDS
ALL = {
    "east": East(width=16, depth=1),
    "pixel_link": PixelLink(width=16, depth=1),
    "craft": Craft(width=16, depth=2),
}
EMPTY = Truth(torch.zeros(0, 4), torch.zeros(0, dtype=torch.int64))


@pytest.mark.parametrize("name", ALL)
def test_it_learns_one_form_by_heart(name: str) -> None:
    detector = ALL[name].network()
    before = torch.get_rng_state()
    curve = learned(detector, LARGE_WORDS, steps=70, rate=1e-2)
    assert curve[-1] < 0.5 * curve[0]
    assert precision(detector, LARGE_WORDS) == 1.0
    assert precision(ALL[name].network(), LARGE_WORDS) < 0.3
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", ALL)
def test_losses_are_means_over_forms_and_other_classes_are_background(name: str) -> None:
    detector = ALL[name].network()
    stamped = Truth(torch.cat([TRUTH.boxes, torch.tensor([[100.0, 60, 150, 90]])]), torch.tensor([1, 1, 1, 3]))
    white = torch.zeros_like(IMAGE)
    together = detector.losses(torch.stack([IMAGE, white]), [stamped, EMPTY])
    alone = [detector.losses(image[None], [truth]) for image, truth in ((IMAGE, TRUTH), (white, EMPTY))]
    for part, loss in together.items():
        assert loss.isfinite()
        torch.testing.assert_close(loss, torch.stack([own[part] for own in alone]).mean(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ALL)
def test_settings_are_plain_and_checked(name: str) -> None:
    settings: DenseTextSettings = ALL[name]
    assert made_of(plain(settings, "detector")) == settings
    assert settings.prepared([], []) is settings
    with pytest.raises(ValueError, match="cell_score must be a number above 0 and below 1"):
        type(settings)(cell_score=1.0)
    with pytest.raises(ValueError, match="depth must be"):
        type(settings)(depth=0)


def test_low_scores_are_left_out_and_boxes_lie_on_the_form() -> None:
    detector = ALL["east"].network().eval()
    with torch.no_grad():
        detector.say.bias.copy_(torch.tensor([2.0, 3.0, 3.0, 3.0, 3.0]))  # pyright: ignore
    (found,) = detector.detect(IMAGE[None])
    assert len(found.boxes) > 0
    assert found.boxes.amin() >= 0
    assert (found.boxes <= torch.tensor([160.0, 96.0, 160.0, 96.0])).all()
    assert len(detector.detect(IMAGE[None], 0.99)[0].boxes) == 0


def test_cells_of_boxes() -> None:
    boxes = torch.tensor([[0.0, 0, 4, 4], [2.1, 0, 12, 8], [3.0, 3, 5, 5]])
    lying = Map(2, 3, 4)
    inside = lying.inside(boxes)
    assert inside[0].tolist() == [[True, False, False], [False, False, False]]
    assert inside[1].tolist() == [[False, True, True], [False, True, True]]
    assert not inside[2].any()  # no centre of a cell is in it
    assert lying.owners(torch.tensor([[0.0, 0, 8, 4], [4.0, 0, 12, 8]])).tolist() == [[0, 0, 1], [-1, 1, 1]]
    assert lying.owners(torch.zeros(0, 4)).tolist() == [[-1] * 3] * 2


def test_the_hardest_negative_cells_count() -> None:
    positive, negative = torch.tensor([1.0, 2.0]), torch.tensor([0.5, 9.0, 0.1, 0.2, 3.0, 0.4, 0.3, 0.6, 0.0])
    expected = (1 + 2 + 9 + 3 + 0.6 + 0.5 + 0.4 + 0.3) / 8
    assert float(hard_mean(positive, negative, torch.ones(2))) == pytest.approx(expected)
    assert float(hard_mean(positive[:0], negative, positive[:0])) == pytest.approx(float(negative.mean()))


def test_east_decodes_what_it_is_told() -> None:
    lying, boxes = Map(24, 40, 4), TRUTH.boxes
    middles = lying.owners(shrunk(boxes))
    positive = middles >= 0
    said = torch.zeros(5, 24, 40)
    said[0] = torch.where(positive, 5.0, -5.0)
    said[1:, positive] = true_distances(boxes[middles[positive]], positive, lying).log()
    found = East().network().found(said, lying)
    assert (overlaps(boxes, found.boxes).amax(1) > 0.999).all()
    assert len(found.boxes) == 3
    torch.testing.assert_close(found.scores, torch.full((3,), 5.0).sigmoid())


def test_the_middle_of_a_box_and_the_overlap_around_a_cell() -> None:
    assert shrunk(torch.tensor([[0.0, 0, 40, 10]])).tolist() == [[3, 3, 37, 7]]
    one, other = torch.tensor([[1.0], [1.0], [2.0], [2.0]]), torch.tensor([[2.0], [1.0], [1.0], [1.0]])
    shared, joint = 2 * 2, 9 + 6 - 4
    torch.testing.assert_close(overlap_logs(one, other), torch.tensor([math.log((shared + 1) / (joint + 1))]))
    assert float(overlap_logs(one, one)) == 0.0


def test_boxes_that_follow_each_other_are_merged_by_their_scores() -> None:
    boxes = torch.tensor([[0.0, 0, 10, 10], [1.0, 0, 11, 10], [50.0, 0, 60, 10], [0.0, 0, 10, 10]])
    merged, totals, counts = merged_along(boxes, torch.tensor([0.75, 0.25, 0.5, 0.5]))
    assert merged.tolist() == [[0.25, 0, 10.25, 10], [50, 0, 60, 10], [0, 0, 10, 10]]
    assert totals.tolist() == [1.0, 0.5, 0.5]
    assert counts.tolist() == [2, 1, 1]


def groups_by_search(positive: np.ndarray, links: np.ndarray, least: int) -> np.ndarray:
    """Words by walking along links, cell by cell."""
    rows, columns = positive.shape
    numbers, count = np.zeros((rows, columns), int), 0
    for start in zip(*positive.nonzero(), strict=True):
        if numbers[start]:
            continue
        group, left = {start}, [start]
        while left:
            row, column = left.pop()
            for place, (down, right) in enumerate(STEPS):
                near = (row + down, column + right)
                if 0 <= near[0] < rows and 0 <= near[1] < columns and positive[near] and near not in group:
                    back = STEPS.index((-down, -right))
                    if links[(place, row, column)] or links[(back, *near)]:
                        group.add(near)
                        left.append(near)
        count += len(group) >= least
        for cell in group:
            numbers[cell] = count if len(group) >= least else -1
    return np.maximum(numbers, 0)


def test_cells_are_joined_as_by_a_search() -> None:
    for seed in range(6):
        chance = np.random.default_rng(seed)
        positive, links = chance.uniform(size=(9, 11)) < 0.6, chance.uniform(size=(8, 9, 11)) < 0.12
        found = joined(positive, links, 3)
        assert found.max() > 1
        assert found.tolist() == groups_by_search(positive, links, 3).tolist()
    assert joined(np.zeros((3, 4), bool), np.ones((8, 3, 4), bool), 1).tolist() == [[0] * 4] * 3


def test_pixel_link_tells_touching_words_apart() -> None:
    boxes, lying = torch.tensor([[8.0, 8, 40, 24], [40.0, 12, 80, 28]]), Map(10, 24, 4)
    owners = lying.owners(boxes)
    links = torch.stack([neighbours(owners, step) == owners for step in STEPS])
    said = torch.cat([(owners >= 0)[None], links]) * 8.0 - 4.0
    found = PixelLink().network().found(said, lying)
    assert found.boxes.tolist() == boxes.tolist()
    torch.testing.assert_close(found.scores, torch.full((2,), 4.0).sigmoid())
    said[1:] = 4.0  # with all links they are one
    assert len(PixelLink().network().found(said, lying).boxes) == 1


def test_every_word_has_the_same_weight_in_pixel_link() -> None:
    owners = torch.tensor([[0, 0, 0, -1], [2, -1, -1, -1]])
    assert fair_weights(owners).tolist() == [[2 / 3, 2 / 3, 2 / 3, 0], [2, 0, 0, 0]]
    assert fair_weights(torch.full((2, 2), -1)).sum() == 0


@pytest.mark.parametrize("height", [20, 26, 40])
def test_craft_decodes_what_it_is_told(height: int) -> None:
    boxes = torch.tensor([[10.0, 9.0, 10.0 + 4.0 * height, 9.0 + height]])
    words, lying = Truth(boxes, torch.tensor([1])), Map(20, 50, 4)
    characters = characters_of(words, 0)
    said = torch.stack([heats(own, lying) for own in (characters, between_of(characters))]).logit(1e-6)
    found = Craft().network().found(said, lying)
    assert len(found.boxes) == 1
    assert float((found.boxes - boxes).abs().amax()) <= 2.0  # half a cell


def test_characters_that_are_known_are_taken() -> None:
    known = torch.tensor([[0.0, 0, 10, 8], [10.0, 0, 14, 8]])
    truth = Truth(torch.tensor([[0.0, 0, 14, 8], [20.0, 0, 30, 8], [20.0, 0, 36, 8]]), torch.tensor([1, 3, 1]),
                  (known, known[:0], known[:0]))  # fmt: skip
    words = words_of(truth)
    assert characters_of(words, 0).tolist() == known.tolist()
    assert characters_of(words, 1).tolist() == [[x, 0, x + 4, 8] for x in (20, 24, 28, 32)]
    assert between_of(known).tolist() == [[5, 2, 12, 6]]
    assert len(between_of(known[:1])) == 0


def test_a_map_of_no_box_is_cold() -> None:
    assert heats(torch.zeros(0, 4), Map(3, 4, 4)).tolist() == [[0.0] * 4] * 3
    warm: Tensor = heats(torch.tensor([[0.0, 0, 8, 8]]), Map(4, 4, 4))
    assert float(warm.amax()) < 1.0
    assert float(warm[0, 0]) == float(warm[1, 1]) > float(warm[2, 2])
