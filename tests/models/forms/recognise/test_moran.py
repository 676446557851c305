"""MORAN: offsets beside a sampling pixel by pixel, padding, and words learned by heart."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn.functional import pad

from models.forms.images import Crops, crops_of
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.moran import MORAN, MORANNetwork, Rectifier

ALPHABET = Alphabet(tuple("abdegrot"))
SMALL = MORAN(height=16, units=24)


def disturbed(rectifier: Rectifier) -> None:
    """Gives the last layer weights, so that pixels move."""
    with torch.no_grad():
        for own in rectifier.say.parameters():
            own.normal_(0, 0.3, generator=torch.Generator().manual_seed(3))


@pytest.fixture(scope="module")
def network() -> MORANNetwork:
    made = SMALL.network(ALPHABET, seed=1).eval()
    disturbed(made.rectifier)
    return made


def sampled(ink: list[list[float]], y: float, x: float) -> float:
    """Returns the bilinear interpolation at a place, with paper around the image."""
    top, left = math.floor(y), math.floor(x)
    return sum(
        (1 - abs(y - row)) * (1 - abs(x - column)) * ink[row][column]
        for row in (top, top + 1)
        for column in (left, left + 1)
        if 0 <= row < len(ink) and 0 <= column < len(ink[0])
    )


def test_each_pixel_is_the_ink_at_its_offset(word_images: list[Tensor], network: MORANNetwork) -> None:
    crops = crops_of(word_images[:1], 16)
    moved, offsets = network.rectifier(crops), network.rectifier.offsets(crops)[0].tolist()
    assert 0.5 < max(abs(own) for map_ in offsets for row in map_ for own in row) <= 0.25 * 16
    ink = crops.ink[0, 0].tolist()
    expected = [
        [sampled(ink, y + offsets[0][y][x], x + offsets[1][y][x]) for x in range(len(ink[0]))] for y in range(16)
    ]
    torch.testing.assert_close(moved.ink[0, 0], torch.tensor(expected), rtol=1e-4, atol=1e-5)


def test_before_any_training_no_pixel_moves_but_offsets_have_a_gradient(word_images: list[Tensor]) -> None:
    made, crops = SMALL.network(ALPHABET), crops_of(word_images, 16)
    torch.testing.assert_close(made.rectifier(crops).ink, crops.ink, rtol=1e-5, atol=1e-5)
    made.losses(crops, ["ada", "otto", "berg"])["decoder_loss"].backward()
    gradient = made.rectifier.say.weight.grad
    assert gradient is not None
    assert gradient.abs().max() > 0


def test_padding_and_neighbours_do_not_change_what_is_read(word_images: list[Tensor], network: MORANNetwork) -> None:
    crops = crops_of(word_images, 16)
    wider = Crops(pad(crops.ink, (0, 9)), crops.widths)
    together, padded = network.remember(crops), network.remember(wider)
    for place, image in enumerate(word_images):
        alone = network.remember(crops_of([image], 16)).states[0]
        torch.testing.assert_close(together.states[place, : len(alone)], alone, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(padded.states[place, : len(alone)], alone, rtol=1e-4, atol=1e-5)
    assert [own.text for own in network.read(wider)] == [own.text for own in network.read(crops)]


def test_it_learns_words_by_heart(word_images: list[Tensor], words: list[str], learn: Callable[..., None]) -> None:
    made = SMALL.network(ALPHABET)
    learn(made, word_images, words, steps=80, rate=0.01)
    found = made.read_words(word_images)
    assert [own.text for own in found] == words
    assert all(0.5 < own.probability <= 1 for own in found)


@pytest.mark.parametrize("wrong", [{"height": 24}, {"width": 16}, {"reach": 1.5}, {"units": 0}])
def test_settings_that_cannot_be_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        MORAN(**wrong)
