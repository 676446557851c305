"""The character model: frames, padding, a trunk of a word model, and words learned by heart."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn.functional import pad

from models.forms.images import crops_of
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.character import Character, CharacterNetwork
from models.forms.recognise.word import Word
from models.sequence.ctc import ctc_losses

ALPHABET = Alphabet(tuple("abdegrot"))
SMALL = Character(height=16)


@pytest.fixture(scope="module")
def network() -> CharacterNetwork:
    return SMALL.network(ALPHABET, seed=1).eval()


def test_frames_are_two_pixels_wide_and_padding_changes_nothing(
    network: CharacterNetwork, word_images: list[Tensor]
) -> None:
    crops = crops_of(word_images, 16)
    together, frames = network(crops)
    assert frames.tolist() == [(width + 1) // 2 for width in crops.widths.tolist()]
    assert together.shape[2] == len(ALPHABET) + 1
    wider, _ = network(crops._replace(ink=pad(crops.ink, (0, 11))))
    for place, (image, count) in enumerate(zip(word_images, frames.tolist(), strict=True)):
        alone, _ = network(crops_of([image], 16))
        torch.testing.assert_close(together[place, :count], alone[0], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(wider[place, :count], alone[0], rtol=1e-4, atol=1e-5)


def test_a_loss_is_in_nats_a_character(network: CharacterNetwork, word_images: list[Tensor], words: list[str]) -> None:
    crops = crops_of(word_images, 16)
    each = ctc_losses(*network(crops), ALPHABET.encode(words)) / torch.tensor([3, 4, 4])
    torch.testing.assert_close(network.losses(crops, words)["ctc_loss"], each.mean())


def test_it_starts_from_the_trunk_of_a_word_model(network: CharacterNetwork, word_images: list[Tensor]) -> None:
    word = Word(height=16, vocabulary=("ada",)).network(ALPHABET, seed=5)
    own, crops = SMALL.network(ALPHABET, seed=1), crops_of(word_images, 16)
    torch.testing.assert_close(own.trunk(*crops), network.trunk(*crops))
    own.start(word)
    torch.testing.assert_close(own.trunk(*crops), word.trunk(*crops))
    with torch.no_grad():
        own.trunk.stem.weight.zero_()
    assert word.trunk.stem.weight.any()
    assert torch.equal(own.say.weight, network.say.weight)
    with pytest.raises(ValueError, match=r"height=16 and width=8, the word model that it starts from height=32"):
        own.start(Word(vocabulary=("ada",)).network(ALPHABET))


def test_it_learns_words_by_heart(word_images: list[Tensor], words: list[str], learn: Callable[..., None]) -> None:
    network = SMALL.network(ALPHABET)
    learn(network, word_images, words, steps=50, rate=0.003)
    found = network.read_words(word_images)
    assert [own.text for own in found] == words
    assert all(0.1 < own.probability <= 1 for own in found)


def test_what_cannot_be_read_is_refused(network: CharacterNetwork, word_images: list[Tensor]) -> None:
    with pytest.raises(ValueError, match=r"text 0 has \d+ symbols and needs"):
        network.losses(crops_of(word_images[:1], 16), ["ada" * 100])
    with pytest.raises(ValueError, match="must be"):
        Character(width=24)
