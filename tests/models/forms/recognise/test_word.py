"""ResNet-18 and the word model: sizes of maps, scores of one image alone, vocabularies, words learned by heart."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from models.forms.images import crops_of
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.own_group_norm import OwnGroupNorm
from models.forms.recognise.resnet import Residual, ResNet18
from models.forms.recognise.word import Word, WordNetwork

ALPHABET = Alphabet.alphanumeric()
SMALL = Word(height=16, vocabulary=("berg", "ada", "otto"))


@pytest.fixture(scope="module")
def network() -> WordNetwork:
    return SMALL.network(ALPHABET, seed=1).eval()


def test_the_trunk_has_the_layers_of_resnet_18_and_halves_an_image_once() -> None:
    trunk = ResNet18(8)
    convolutions = [own for own in trunk.modules() if isinstance(own, nn.Conv2d)]
    assert len([own for own in convolutions if own.kernel_size != (1, 1)]) == 17  # and one linear layer: 18
    assert [own.stride for own in convolutions] == [(2, 2)] + [(1, 1)] * (len(convolutions) - 1)
    widths = torch.tensor([33, 20])
    maps = trunk(torch.rand(2, 1, 16, 33), widths)
    assert maps.shape == (2, 64, 8, 17)
    assert trunk.frames(widths).tolist() == [17, 10]
    assert not maps[1, :, :, 10:].any()


def test_a_residual_unit_is_that_written_out() -> None:
    torch.manual_seed(0)
    unit, maps = Residual(16, 32), torch.rand(2, 16, 4, 9)
    norm = [nn.functional.group_norm] * 3
    found = norm[0](unit.first(maps), 2).relu()
    found = norm[1](unit.second(found), 2)
    assert unit.across is not None
    expected = (found + norm[2](unit.across(maps), 2)).relu()
    torch.testing.assert_close(unit(maps, torch.ones(2, 1, 1, 9, dtype=torch.bool)), expected, rtol=1e-4, atol=1e-5)


def test_fewer_channels_than_a_group_are_normalised_together() -> None:
    maps, everywhere = torch.rand(2, 8, 3, 5), torch.ones(2, 1, 1, 5, dtype=torch.bool)
    torch.testing.assert_close(OwnGroupNorm(8)(maps, everywhere), nn.functional.group_norm(maps, 1))


def test_scores_do_not_depend_on_other_crops_nor_on_padding(network: WordNetwork, word_images: list[Tensor]) -> None:
    crops = crops_of(word_images, 16)
    together = network(crops)
    for place, image in enumerate(word_images):
        torch.testing.assert_close(network(crops_of([image], 16))[0], together[place], rtol=1e-4, atol=1e-5)
    wider = crops._replace(ink=pad(crops.ink, (0, 9)))
    torch.testing.assert_close(network(wider), together, rtol=1e-4, atol=1e-5)


def test_a_loss_is_minus_the_log_probability_of_the_word(network: WordNetwork, word_images: list[Tensor]) -> None:
    crops = crops_of(word_images, 16)
    found = network.losses(crops, ["Ada!", "otto", "berg"])  # the alphabet folds
    log_p = network(crops)
    torch.testing.assert_close(found["word_loss"], -(log_p[0, 1] + log_p[1, 2] + log_p[2, 0]) / 3)
    torch.testing.assert_close(log_p.exp().sum(1), torch.ones(3))
    for reading, own in zip(network.read(crops), log_p, strict=True):
        assert reading.text == SMALL.network(ALPHABET).words[int(own.argmax())]
        assert reading.probability == pytest.approx(float(own.exp().max().detach()))


def test_it_learns_words_by_heart(word_images: list[Tensor], words: list[str], learn: Callable[..., None]) -> None:
    settings = Word(height=16).prepared(words, ALPHABET)
    assert settings.vocabulary == ("ada", "berg", "otto")
    network = settings.network(ALPHABET)
    learn(network, word_images, words, steps=60, rate=0.003)
    found = network.read_words(word_images[::-1])
    assert [own.text for own in found] == words[::-1]
    assert all(0.5 < own.probability <= 1 for own in found)


def test_a_vocabulary_that_is_set_stays() -> None:
    assert SMALL.prepared(["Otto", "berg"], ALPHABET) == SMALL
    with pytest.raises(ValueError, match=r"cannot learn 'hof': it is not in the vocabulary of 3 words, nor are 1 more"):
        SMALL.prepared(["otto", "hof", "see"], ALPHABET)


@pytest.mark.parametrize(
    ("vocabulary", "said"),
    [(None, "needs a vocabulary"), ((), "has no word"), (("ada", "berg", "ada"), "'ada' comes twice"),
     (("Ada", "ada"), "'ada' comes twice, as the alphabet spells it"), (("ada", "ü"), "has no symbol")],
)  # fmt: skip
def test_vocabularies_that_cannot_be_are_refused(vocabulary: tuple[str, ...] | None, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Word(vocabulary=vocabulary).network(ALPHABET)


def test_words_that_the_alphabet_cannot_write_are_refused() -> None:
    with pytest.raises(ValueError, match="'x' "):
        Word(vocabulary=("ada", "axt")).network(Alphabet(tuple("adt")))


@pytest.mark.parametrize("wrong", [{"height": 15}, {"width": 24}, {"width": 0}])
def test_sizes_that_cannot_be_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Word(**wrong)
