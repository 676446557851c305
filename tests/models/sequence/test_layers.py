"""Layers against torch's own, what a feed-forward part is handed, and decoding step by step against all at once."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from models.sequence.layers import DecoderLayer, EncoderLayer, FeedForward, Memory, Norm, Residual, Setting
from models.sequence.ledger import Ledger
from models.sequence.packing import Places

WIDTH, HEADS, HIDDEN = 6, 2, 10
LENGTHS = torch.tensor([3, 5, 1])


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def filled(module: Any) -> Any:
    module.double()
    with torch.no_grad():
        for place, parameter in enumerate(module.parameters()):
            parameter.copy_(0.5 * normal(*parameter.shape, seed=100 + place))
    return module


def setting(places: Places | None, bias: Tensor | None = None) -> Setting:
    return Setting(places, None, Ledger(), bias)


def copy_attention(own: Any, other: nn.MultiheadAttention) -> None:
    other.in_proj_weight.copy_(torch.cat([own.query.weight, own.key_value.weight]))
    other.in_proj_bias.copy_(torch.cat([own.query.bias, own.key_value.bias]))
    other.out_proj.load_state_dict(own.out.state_dict())


def copy_feed_forward(own: Any, other: Any) -> None:
    other.linear1.load_state_dict(own.enter.state_dict())
    other.linear2.load_state_dict(own.leave.state_dict())


@torch.no_grad()
def copied_encoder(own: EncoderLayer, norm: Norm) -> Any:
    made: Any = nn.TransformerEncoderLayer(
        WIDTH, HEADS, HIDDEN, dropout=0.0, batch_first=True, norm_first=norm == "pre", dtype=torch.float64
    )
    copy_attention(own.attention, made.self_attn)
    copy_feed_forward(own.feed_forward, made)
    for residual, other in ((own.attended, made.norm1), (own.fed, made.norm2)):
        other.load_state_dict(residual.norm.state_dict())
    return made


@torch.no_grad()
def copied_decoder(own: DecoderLayer, norm: Norm) -> Any:
    made: Any = nn.TransformerDecoderLayer(
        WIDTH, HEADS, HIDDEN, dropout=0.0, batch_first=True, norm_first=norm == "pre", dtype=torch.float64
    )
    copy_attention(own.attention, made.self_attn)
    copy_attention(own.cross, made.multihead_attn)
    copy_feed_forward(own.feed_forward, made)
    for residual, other in ((own.attended, made.norm1), (own.crossed, made.norm2), (own.fed, made.norm3)):
        other.load_state_dict(residual.norm.state_dict())
    return made


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_layers_are_those_of_torch_with_their_weights(norm: Norm) -> None:
    places, tokens = Places.of(LENGTHS), normal(9, WIDTH)
    own = filled(EncoderLayer(WIDTH, HEADS, FeedForward(WIDTH, HIDDEN), norm=norm))
    absent = ~(torch.arange(5) < LENGTHS.unsqueeze(1))
    expected = copied_encoder(own, norm)(places.pad(tokens), src_key_padding_mask=absent)
    encoded = own(tokens, setting(places, places.bias()))
    torch.testing.assert_close(encoded, places.pack(expected), rtol=1e-10, atol=1e-10)

    decoder = filled(DecoderLayer(WIDTH, HEADS, FeedForward(WIDTH, HIDDEN), norm=norm))
    target = Places.of(torch.tensor([2, 4, 3]))
    read = normal(9, WIDTH, seed=1)
    memory = Memory(decoder.cross.keys_of(encoded, places), places.bias())
    expected = copied_decoder(decoder, norm)(
        target.pad(read),
        places.pad(encoded),
        tgt_mask=torch.ones(4, 4, dtype=torch.bool).triu(1),
        memory_key_padding_mask=absent,
    )
    found = decoder(read, setting(target), memory)
    torch.testing.assert_close(found, target.pack(expected), rtol=1e-10, atol=1e-10)


def test_a_decoder_layer_step_by_step_is_the_layer_at_once() -> None:
    decoder = filled(DecoderLayer(WIDTH, HEADS, FeedForward(WIDTH, HIDDEN), memory=4))
    source, places, tokens = Places.of(LENGTHS), Places.of(torch.tensor([4, 4, 4])), normal(12, WIDTH)
    memory = Memory(decoder.cross.keys_of(normal(9, 4, seed=1), source), source.bias())
    expected, past = places.pad(decoder(tokens, setting(places), memory)), None
    for place in range(4):
        found, past = decoder.step(places.pad(tokens)[:, place], setting(None), memory, past)
        torch.testing.assert_close(found, expected[:, place], rtol=1e-10, atol=1e-10)
    rows = torch.tensor([2, 0])
    assert past is not None
    token = normal(3, WIDTH, seed=2)
    whole, _ = decoder.step(token, setting(None), memory, past)
    part, _ = decoder.step(token[rows], setting(None), memory.pick(rows), past.pick(rows))
    torch.testing.assert_close(part, whole[rows], rtol=1e-10, atol=1e-10)


class Noting(nn.Module):
    """Is a feed-forward part that says how many tokens it was handed."""

    def forward(self, tokens: Tensor, about: Any, ledger: Ledger) -> Tensor:
        ledger.note("tokens", torch.tensor(len(tokens)))
        return tokens * about.unsqueeze(1)


def test_the_feed_forward_part_gets_present_tokens_what_is_about_them_and_the_ledger() -> None:
    layer, places, ledger = filled(EncoderLayer(WIDTH, HEADS, Noting())), Places.of(LENGTHS), Ledger()
    for place in range(2):
        about = Setting(places, torch.arange(9), ledger.under(f"encoder.{place}"), places.bias())
        layer(normal(9, WIDTH), about)
    assert {name: int(count) for name, count in ledger.named("tokens").items()} == {"encoder.0": 9, "encoder.1": 9}
    with pytest.raises(ValueError, match=r"encoder.0.tokens is in the ledger already; take one ledger for each"):
        ledger.under("encoder.0").note("tokens", torch.tensor(0))


def test_no_token_sees_a_later_one() -> None:
    decoder = filled(DecoderLayer(WIDTH, HEADS, FeedForward(WIDTH, HIDDEN)))
    source, places = Places.of(LENGTHS), Places.of(torch.tensor([3, 4, 2]))
    memory = Memory(decoder.cross.keys_of(normal(9, WIDTH), source), source.bias())
    tokens = normal(9, WIDTH, seed=1).requires_grad_()
    found = decoder(tokens, setting(places), memory)
    (slope,) = torch.autograd.grad(found[4].sum(), tokens)  # the second token of the second sequence
    assert slope.any(1).tolist() == [False] * 3 + [True] * 2 + [False] * 4


def test_an_unknown_norm_is_refused() -> None:
    with pytest.raises(ValueError, match=r"norm must be pre or post, got 'middle'"):
        Residual(4, dropout=0.0, norm="middle")  # pyright: ignore[reportArgumentType]
