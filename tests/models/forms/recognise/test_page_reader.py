"""Convolve, attend and spell: steps of the decoder, padding, and forms of two lines learned by heart."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn.functional import pad

from models.forms.images import Crops, as_grey, crops_of
from models.forms.reader import WholeReader
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.page_reader import ConvolveAttendSpell, PageNetwork
from models.forms.recognise.recogniser import CutReading

ALPHABET = Alphabet(tuple(" abdegrot"))
SMALL = ConvolveAttendSpell(height=32, units=24, characters=20)
TEXTS = ["ada otto", "otto berg", "berg ada"]


@pytest.fixture(scope="module")
def forms(word_images: list[Tensor]) -> list[Tensor]:
    """Two words each, one under the other."""
    widest = max(own.shape[1] for own in word_images)
    first, second, third = (pad(own, (0, widest - own.shape[1])) for own in word_images)
    return [torch.cat(pair) for pair in [(first, second), (second, third), (third, first)]]


@pytest.fixture(scope="module")
def network() -> PageNetwork:
    return SMALL.network(ALPHABET, seed=1).eval()


def test_padding_and_neighbours_do_not_change_what_is_seen(forms: list[Tensor], network: PageNetwork) -> None:
    crops = crops_of([forms[0], forms[1][:, :40]], 32)
    together = network.remember(Crops(pad(crops.ink, (0, 13)), crops.widths))
    alone = network.remember(crops_of([forms[1][:, :40]], 32))
    own = int(alone.present.sum())
    assert together.present.sum(1).tolist()[1] == own
    torch.testing.assert_close(together.states[1, :own], alone.states[0], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(together.begin[:, 1], alone.begin[:, 0], rtol=1e-4, atol=1e-5)


def test_told_the_true_symbols_it_says_what_it_says_step_by_step(forms: list[Tensor], network: PageNetwork) -> None:
    memory = network.remember(crops_of(forms, 32))
    tokens = torch.tensor([[len(ALPHABET) + 1, 2, 1, 5]] * 3)
    whole, _ = network.told(memory, tokens)
    state = network.start(memory)
    for step in range(tokens.shape[1]):
        log_p, state = network.step(state, tokens[:, step])
        torch.testing.assert_close(log_p, whole[:, step], rtol=1e-5, atol=1e-6)


def test_a_loss_is_in_nats_a_character_with_the_end(forms: list[Tensor], network: PageNetwork) -> None:
    crops = crops_of(forms[:1], 32)
    symbols = ALPHABET.encode(TEXTS[:1])[0]
    log_p, _ = network.told(network.remember(crops), torch.tensor([[len(ALPHABET) + 1, *symbols]]))
    expected = -sum(log_p[0, step, own] for step, own in enumerate([*symbols, 0])) / len(symbols)
    torch.testing.assert_close(network.losses(crops, TEXTS[:1])["decoder_loss"], torch.as_tensor(expected))


def test_it_learns_forms_by_heart_and_writes_no_more_than_is_set(
    forms: list[Tensor], learn: Callable[..., None]
) -> None:
    made = SMALL.network(ALPHABET)
    learn(made, forms, TEXTS, steps=100, rate=0.01)
    assert [own.text for own in made.read_words(forms)] == TEXTS
    whole, form = WholeReader(made), as_grey(forms[0])
    made.settings = ConvolveAttendSpell(height=32, units=24, characters=len(TEXTS[0]))
    assert whole.read(form)[0].text == TEXTS[0]  # without a warning
    made.settings = ConvolveAttendSpell(height=32, units=24, characters=2)
    assert [own.text for own in made.read_words(forms)] == [text[:2] for text in TEXTS]
    with pytest.warns(UserWarning, match=r"^form 7: 2 characters were read without an end, .* may be missing"):
        assert whole.read(form, where="form 7")[0].text == TEXTS[0][:2]
    for characters, refused in ((2, "text 0 has 8 symbols, and of its image at most 2 are read"), (7, "at most 7")):
        made.settings = ConvolveAttendSpell(height=32, units=24, characters=characters)
        with pytest.raises(ValueError, match=refused):
            made.losses(crops_of(forms, 32), TEXTS)
    made.settings = ConvolveAttendSpell(height=32, units=24, characters=8)
    made.losses(crops_of(forms[:1], 32), TEXTS[:1])


@pytest.mark.parametrize("size", [1, 3])
def test_a_text_that_fills_its_room_ends_there_or_is_cut_and_has_the_probability_of_what_it_says(
    size: int, forms: list[Tensor], learn: Callable[..., None]
) -> None:
    made = SMALL.network(ALPHABET)
    learn(made, forms, TEXTS, steps=100, rate=0.01)
    whole, log_p, _ = made.taught(made.remember(crops_of(forms, 32)), ALPHABET.encode(TEXTS))
    each = log_p.detach().gather(2, whole.unsqueeze(2)).squeeze(2)
    for room in (8, 9):  # of characters; the texts have 8, 9 and 8
        made.settings = ConvolveAttendSpell(height=32, units=24, characters=room, beam=size)
        for own, text, ln in zip(made.read_words(forms), TEXTS, each, strict=True):
            cut = len(text) > room
            assert own.text == text[:room]
            assert isinstance(own, CutReading) == cut
            said = ln[: room if cut else len(text) + 1]
            assert own.probability == pytest.approx(float(said.sum().exp()), rel=1e-4)


@pytest.mark.parametrize("wrong", [{"height": 48}, {"width": 8}, {"characters": 0}])
def test_settings_that_cannot_be_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ConvolveAttendSpell(**wrong)
