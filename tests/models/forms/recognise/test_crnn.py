"""CRNN: what it reads hangs on the image alone, and it learns words by heart."""

from __future__ import annotations

import pytest
import torch

from data.forms.hand import write_words
from models.forms.images import as_ink, crops_of
from models.forms.reader import WordReader
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.crnn import CRNN

TEXTS = ["ada", "otto", "berg", "gasse"]


@pytest.fixture(scope="module")
def images() -> list[torch.Tensor]:
    return [as_ink(image) for image in write_words(TEXTS, [0, 0, 0, 0], seed=0).images()]


@pytest.fixture
def small() -> CRNN:
    return CRNN(height=16, width=32, units=32)


def test_padding_and_neighbours_do_not_change_what_is_read(images: list[torch.Tensor], small: CRNN) -> None:
    network = small.network(Alphabet.of_texts(TEXTS), seed=1).eval()
    together, frames = network(crops_of(images, 16))
    for place, image in enumerate(images):
        alone, own = network(crops_of([image], 16))
        assert own.tolist() == [frames[place]]
        torch.testing.assert_close(together[place, : int(own)], alone[0], rtol=1e-5, atol=1e-6)
    more = crops_of(images, 16)
    wide = more._replace(ink=torch.nn.functional.pad(more.ink, (0, 7)))
    torch.testing.assert_close(network(wide)[0][0, : int(frames[0])], together[0, : int(frames[0])])


def test_it_learns_words_by_heart(images: list[torch.Tensor], small: CRNN) -> None:
    network, crops = small.network(Alphabet.of_texts(TEXTS), seed=0), crops_of(images, 16)
    optimiser = torch.optim.AdamW(network.parameters(), 0.003)
    for _ in range(300):
        optimiser.zero_grad()
        loss = torch.stack(list(network.losses(crops, TEXTS).values())).sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
    reader: WordReader = network
    read = reader.read_words(images[::-1])
    assert [text for text, _ in read] == TEXTS[::-1]
    assert all(0.1 < probability <= 1 for _, probability in read)
    assert reader.read_words([]) == []


def test_a_loss_is_the_mean_over_texts_of_nats_a_character(images: list[torch.Tensor], small: CRNN) -> None:
    network = small.network(Alphabet.of_texts(TEXTS)).eval()
    both = network.losses(crops_of(images[:2], 16), TEXTS[:2])["ctc_loss"]
    each = [
        network.losses(crops_of([image], 16), [text])["ctc_loss"] for image, text in zip(images, TEXTS, strict=True)
    ]
    torch.testing.assert_close(both, (each[0] + each[1]) / 2, rtol=1e-5, atol=1e-6)


def test_what_cannot_be_read_is_refused(images: list[torch.Tensor], small: CRNN) -> None:
    network = small.network(Alphabet.of_texts(TEXTS))
    with pytest.raises(ValueError, match="'x' "):
        network.losses(crops_of(images[:1], 16), ["x"])
    with pytest.raises(ValueError, match=r"text 0 has \d+ symbols and needs"):
        network.losses(crops_of(images[:1], 16), ["ada" * 100])
    with pytest.raises(ValueError, match="multiple of 16"):
        CRNN(height=20)


def test_the_same_seed_gives_the_same_weights(small: CRNN) -> None:
    own = [small.network(Alphabet(("a",)), seed=seed).say.weight for seed in (0, 0, 1)]
    assert torch.equal(own[0], own[1])
    assert not torch.equal(own[0], own[2])
