"""CTC-Seq2Seq: patches, Luong's attention written out, and words learned by heart."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from data.forms.hand import write_words
from models.forms.images import Crops, as_ink, crops_of
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.ctc_seq2seq import CTCSeq2Seq, CTCSeq2SeqNetwork
from models.forms.recognise.patches import patches_of

TEXTS = ["ada", "otto", "berg"]
SMALL = CTCSeq2Seq(height=16, channels=16, units=24, encoder_layers=1, decoder_layers=2)


@pytest.fixture(scope="module")
def images() -> list[torch.Tensor]:
    return [as_ink(image) for image in write_words(TEXTS, [0, 0, 0], seed=0).images()]


@pytest.fixture(scope="module")
def network() -> CTCSeq2SeqNetwork:
    return SMALL.network(Alphabet.of_texts(TEXTS), seed=1).eval()


def test_patches_cover_an_image_and_one_that_is_too_narrow_has_one() -> None:
    ink = torch.arange(12.0).repeat(8, 1)[None, None]
    patches, counts = patches_of(Crops(ink.repeat(2, 1, 1, 1), torch.tensor([12, 5])), width=8, step=4)
    assert counts.tolist() == [2, 1]
    assert patches.shape == (2, 2, 8, 8)
    assert patches[0, 1, 0].tolist() == [4, 5, 6, 7, 8, 9, 10, 11]
    wide, counts = patches_of(Crops(ink, torch.tensor([9])), width=8, step=4)
    assert counts.tolist() == [2]
    assert wide.shape[1] == 2


def test_padding_and_neighbours_do_not_change_what_is_read(
    images: list[torch.Tensor], network: CTCSeq2SeqNetwork
) -> None:
    together = network.losses(crops_of(images, 16), TEXTS)
    each = [network.losses(crops_of([image], 16), [text]) for image, text in zip(images, TEXTS, strict=True)]
    for name, value in together.items():
        torch.testing.assert_close(value, torch.stack([own[name] for own in each]).mean(), rtol=1e-5, atol=1e-6)
    both = network.read(crops_of(images, 16))
    for image, said in zip(images, both, strict=True):
        (alone,) = network.read(crops_of([image], 16))
        assert alone.text == said.text
        assert alone.probability == pytest.approx(said.probability, rel=1e-4)


def test_without_attention_the_decoder_sees_the_mean_of_the_patches_that_are_there(images: list[torch.Tensor]) -> None:
    network = replace(SMALL, attention=False).network(Alphabet.of_texts(TEXTS), seed=1).eval()
    memory = network.remember(crops_of(images, 16))
    log_p, shares = network.told(memory, torch.full((3, 2), len(network.alphabet) + 1))
    torch.testing.assert_close(
        shares, (memory.present / memory.present.sum(1, keepdim=True))[:, None].expand(-1, 2, -1)
    )
    decoded, _ = network.decoder(network.embedding(torch.tensor([[len(network.alphabet) + 1]])),
                                 (memory.begin[:, :1].contiguous(), torch.zeros_like(memory.begin[:, :1])))  # fmt: skip
    mean = memory.states[0, memory.present[0]].mean(0)
    said = network.say(network.join(torch.cat([mean, decoded[0, 0]])).tanh()).log_softmax(0)
    torch.testing.assert_close(log_p[0, 0], said, rtol=1e-4, atol=1e-5)
    with pytest.raises(TypeError, match="attention must be True or False"):
        replace(SMALL, attention="no")


def test_a_step_is_that_of_luong_written_out(images: list[torch.Tensor], network: CTCSeq2SeqNetwork) -> None:
    memory = network.remember(crops_of(images[:1], 16))
    tokens = torch.tensor([[len(network.alphabet) + 1, 2, 3]])
    log_p, shares = network.told(memory, tokens)
    hidden = memory.begin, torch.zeros_like(memory.begin)
    for step in range(3):
        decoded, hidden = network.decoder(network.embedding(tokens[:, step : step + 1]), hidden)
        d, states = decoded[0, 0], memory.states[0]
        scores = torch.stack([d @ network.keys.weight @ own for own in states])
        a = scores.exp() / scores.exp().sum()
        context = sum(share * own for share, own in zip(a, states, strict=True))
        joined = torch.tanh(network.join.weight @ torch.cat([context, d]) + network.join.bias)
        torch.testing.assert_close(shares[0, step], a, rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(log_p[0, step], network.say(joined).log_softmax(0), rtol=1e-4, atol=1e-5)


def test_told_the_true_symbols_it_says_what_it_says_step_by_step(
    images: list[torch.Tensor], network: CTCSeq2SeqNetwork
) -> None:
    memory = network.remember(crops_of(images, 16))
    tokens = torch.tensor([[len(network.alphabet) + 1, 1, 2]] * 3)
    whole, _ = network.told(memory, tokens)
    state = network.start(memory)
    for step in range(3):
        log_p, state = network.step(state, tokens[:, step])
        torch.testing.assert_close(log_p, whole[:, step], rtol=1e-5, atol=1e-6)
    picked, _ = network.step(network.pick(state, torch.tensor([2, 0])), torch.tensor([3, 3]))
    together, _ = network.step(state, torch.tensor([3, 3, 3]))
    torch.testing.assert_close(picked, together[[2, 0]], rtol=1e-5, atol=1e-6)


def test_the_memory_is_copied_only_where_texts_change(
    images: list[torch.Tensor], network: CTCSeq2SeqNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step copied the states of all texts, though the rows of hypotheses change only where a text ends."""
    seen, spoken = [], network.spoken
    monkeypatch.setattr(network, "spoken", lambda decoded, own: (seen.append(own), spoken(decoded, own))[1])
    memory = network.remember(crops_of(images, 16))
    state = network.start(memory)
    for rows in ([0, 0, 1, 1, 2, 2], [1, 0, 2, 2, 5, 4], [1, 0, 5, 4]):
        state = network.pick(state, torch.tensor(rows))
        _, state = network.step(state, torch.ones(len(rows), dtype=torch.int64))
    first, same, fewer = seen
    assert same.states is first.states
    for of_rows, texts in ((first, [0, 0, 1, 1, 2, 2]), (fewer, [0, 0, 2, 2])):
        for own, whole in ((of_rows.states, memory.states), (of_rows.present, memory.present),
                           (of_rows.keys, memory.keys), (of_rows.begin[0], memory.begin[0])):  # fmt: skip
            assert torch.equal(own, whole[texts])


@pytest.mark.parametrize("normalise", ["characters", "patches"])
def test_losses_share_and_divide_as_asked(images: list[torch.Tensor], normalise: str) -> None:
    crops, found = crops_of(images[:1], 16), {}
    patches = int(patches_of(crops, width=8, step=4)[1][0])
    for share in (0.0, 0.5, 1.0):
        settings = CTCSeq2Seq(height=16, channels=16, units=24, encoder_layers=1, decoder_layers=1, ctc_share=share,
                              normalise=normalise)  # fmt: skip
        found[share] = settings.network(Alphabet.of_texts(TEXTS)).eval().losses(crops, TEXTS[:1])
    assert set(found[0.0]) == {"decoder_loss"}
    assert float(found[1.0]["decoder_loss"].detach()) == 0
    torch.testing.assert_close(2 * found[0.5]["ctc_loss"], found[1.0]["ctc_loss"])
    torch.testing.assert_close(2 * found[0.5]["decoder_loss"], found[0.0]["decoder_loss"])
    if normalise == "patches":
        other = CTCSeq2Seq(height=16, channels=16, units=24, encoder_layers=1, decoder_layers=1, ctc_share=1.0)
        by_character = other.network(Alphabet.of_texts(TEXTS)).eval().losses(crops, TEXTS[:1])["ctc_loss"]
        torch.testing.assert_close(found[1.0]["ctc_loss"] * patches, by_character * len(TEXTS[0]))


def test_it_learns_words_by_heart_and_a_beam_reads_the_same(images: list[torch.Tensor]) -> None:
    network, crops = SMALL.network(Alphabet.of_texts(TEXTS), seed=0), crops_of(images, 16)
    optimiser = torch.optim.AdamW(network.parameters(), 0.01)
    for _ in range(100):
        optimiser.zero_grad()
        torch.stack(list(network.losses(crops, TEXTS).values())).sum().backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
    assert [own.text for own in network.read_words(images)] == TEXTS
    network.settings = CTCSeq2Seq(height=16, channels=16, units=24, encoder_layers=1, decoder_layers=2, beam=4)
    found = network.read_words(images)
    assert [own.text for own in found] == TEXTS
    assert all(0.5 < own.probability <= 1 for own in found)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"patch": 12}, "multiples of 8"), ({"step": 9}, "at most patch"), ({"ctc_share": 1.5}, "ctc_share"),
     ({"normalise": "words"}, "normalise")],
)  # fmt: skip
def test_settings_that_cannot_be_are_refused(wrong: dict[str, float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        CTCSeq2Seq(**wrong)
