"""The refiner: losses written out, the history of outputs, and faint ink that is imitated."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from models.forms.refiner import (
    GANRefiner,
    History,
    PatchDiscriminator,
    Refiner,
    discriminator_loss,
    refiner_loss,
    trained_refiner,
)

SMALL = GANRefiner(units=1, steps=100, batch=8, history=12)


def strokes(count: int, darkness: float, seed: int) -> Tensor:
    """Returns images of two bars of that ink."""
    chance, images = torch.Generator().manual_seed(seed), torch.zeros(count, 16, 24)
    for image, (row, column) in zip(images, torch.randint(2, 12, (count, 2), generator=chance).tolist(), strict=True):
        image[row : row + 3, 3:21] = darkness
        image[2:14, column : column + 3] = darkness
    return images


def random_weights(refiner: Refiner) -> Refiner:
    with torch.no_grad():
        refiner.say.weight.normal_(0, 3, generator=torch.Generator().manual_seed(0))
    return refiner


def test_losses_are_those_written_out() -> None:
    chance = torch.Generator().manual_seed(0)
    logits, others = (torch.randn(count, 2, 3, generator=chance) for count in (2, 4))
    ink, refined = (torch.rand(2, 1, 5, 4, generator=chance) for _ in range(2))
    of_refined = [1 / (1 + math.exp(-own)) for own in logits.flatten().tolist()]
    of_real = [1 / (1 + math.exp(-own)) for own in others.flatten().tolist()]
    changed = sum(
        abs(one - other) for one, other in zip(refined.flatten().tolist(), ink.flatten().tolist(), strict=True)
    )
    expected = (sum(-math.log(1 - own) for own in of_refined) + 0.3 * changed) / 2
    assert float(refiner_loss(logits, refined, ink, 0.3)) == pytest.approx(expected, rel=1e-5)
    expected = -sum(map(math.log, of_refined)) / 2 - sum(math.log(1 - own) for own in of_real) / 4
    assert float(discriminator_loss(logits, others)) == pytest.approx(expected, rel=1e-5)


def test_a_refined_image_keeps_its_shape_and_range_and_is_alone() -> None:
    refiner, chance = random_weights(Refiner(SMALL)), torch.Generator().manual_seed(1)
    images = [torch.rand(9, 30, generator=chance), torch.zeros(17, 8), torch.ones(17, 8)]
    found = refiner.refined(images)
    assert [own.shape for own in found] == [own.shape for own in images]
    assert all(own.min() >= 0 and own.max() <= 1 for own in found)
    together = refiner(torch.stack(images[1:]).unsqueeze(1))
    torch.testing.assert_close(together[1, 0], found[2])


def test_before_training_ink_is_nearly_what_it_was() -> None:
    images = strokes(2, 1.0, 0)
    assert float((torch.stack(Refiner(SMALL).refined(list(images))) - images).abs().max()) < 0.02


def test_a_patch_is_judged_for_every_8_by_8_pixels_by_what_is_near() -> None:
    judge, ink = PatchDiscriminator(4), torch.zeros(1, 1, 32, 64)
    before = judge(ink)
    assert before.shape == (1, 4, 8)
    ink[..., 60:] = 1
    changed = (judge(ink) != before)[0].any(0).tolist()
    assert changed[-1]
    assert not any(changed[:6])


def test_half_of_a_batch_are_earlier_outputs_and_no_more_are_kept_than_asked() -> None:
    history = History(5, torch.Generator().manual_seed(0))
    batches = [torch.full((4, 1, 2, 2), float(step)) for step in range(6)]
    assert history.mixed(batches[0]) is batches[0]
    for step, batch in enumerate(batches[1:], start=1):
        mixed = history.mixed(batch)[:, 0, 0, 0].tolist()
        assert mixed[:2] == [step, step]
        assert all(own < step for own in mixed[2:])
        assert len(mixed) == 4
        assert len(history.kept) == min(2 * (step + 1), 5)
    assert {float(own[0, 0, 0]) for own in history.kept} != {0.0, 1.0, 2.0}


def test_dark_ink_becomes_as_faint_as_the_real_one() -> None:
    dark, faint = strokes(20, 1.0, 0), strokes(20, 0.5, 1)
    refiner, losses = trained_refiner(SMALL, dark, faint, seed=0)
    assert losses.shape == (100, 2)
    found = torch.stack(refiner.refined(list(dark)))
    assert 0.2 < float(found[dark == 1].mean()) < 0.75
    assert float(found[dark == 0].mean()) < 0.1


def test_the_same_seed_gives_the_same_weights() -> None:
    settings, dark, faint = replace(SMALL, steps=3), strokes(5, 1.0, 0), strokes(5, 0.5, 1)
    one, same, other = (trained_refiner(settings, dark, faint, seed=seed).refiner.say.weight for seed in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_losses_that_are_not_finite_end_the_training() -> None:
    dark = strokes(5, 1.0, 0)
    with pytest.raises(ValueError, match="take a smaller rate"):
        trained_refiner(replace(SMALL, rate=1e30), dark, dark)


@pytest.mark.parametrize(
    ("synthetic", "real", "said"),
    [(torch.zeros(2, 9, 9), torch.zeros(2, 9, 8), "both of one size"),
     (torch.zeros(0, 9, 9), torch.zeros(1, 9, 9), "synthetic"),
     (torch.zeros(2, 9, 7), torch.zeros(2, 9, 7), "at least 8"),
     (torch.zeros(1, 9, 9), torch.full((1, 9, 9), 2.0), "real images have ink outside")],
)  # fmt: skip
def test_images_that_cannot_be_are_refused(synthetic: Tensor, real: Tensor, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        trained_refiner(SMALL, synthetic, real)


@pytest.mark.parametrize("wrong", [{"batch": 1}, {"closeness": -1.0}, {"rate": 0.0}, {"width": 0}])
def test_settings_that_cannot_be_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        GANRefiner(**wrong)
