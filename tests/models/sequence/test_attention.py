"""Attention against the written-out form and torch's own, its bias, keys made once, and the cache."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from models.sequence.attention import MultiHeadAttention
from models.sequence.packing import Places
from models.sequence.positions import sinusoids

CLOSE = {torch.float64: 1e-10, torch.float32: 1e-5}
BATCH, QUERIES, KEYS, WIDTH, HEADS = 3, 4, 5, 6, 2


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def attention(dtype: torch.dtype = torch.float64, memory: int | None = None) -> MultiHeadAttention:
    module = MultiHeadAttention(WIDTH, HEADS, memory=memory).to(dtype)
    with torch.no_grad():
        for place, parameter in enumerate(module.parameters()):
            parameter.copy_(0.6 * normal(*parameter.shape, seed=100 + place))
    return module


def written_out(module: MultiHeadAttention, queries: Tensor, memory: Tensor, bias: Tensor) -> Tensor:
    """One sequence, head and query after the other; bias (sequence, head, query, key) is added."""
    size = WIDTH // HEADS
    key, value = (
        memory @ weight.T + own
        for weight, own in zip(module.key_value.weight.chunk(2), module.key_value.bias.chunk(2), strict=True)
    )
    query = queries @ module.query.weight.T + module.query.bias
    found = torch.zeros_like(queries)
    for batch in range(len(queries)):
        for head in range(HEADS):
            own = slice(head * size, (head + 1) * size)
            for place in range(queries.shape[1]):
                scores = key[batch, :, own] @ query[batch, place, own] / size**0.5 + bias[batch, head, place]
                if scores.max() > -torch.inf:
                    found[batch, place, own] = scores.softmax(0) @ value[batch, :, own]
    return found @ module.out.weight.T + module.out.bias


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("shape", [(1, 1), (BATCH, 1), (1, HEADS), (BATCH, HEADS)])
def test_attention_with_a_bias_is_the_written_out_form(dtype: torch.dtype, shape: tuple[int, int]) -> None:
    module = attention(dtype, memory=7)
    queries, memory = normal(BATCH, QUERIES, WIDTH, dtype=dtype), normal(BATCH, KEYS, 7, seed=1, dtype=dtype)
    added = normal(*shape, QUERIES, KEYS, seed=2, dtype=dtype)
    whole = added.expand(BATCH, HEADS, QUERIES, KEYS)
    found = module(queries, module.keys_of(memory), bias=added)
    torch.testing.assert_close(found, written_out(module, queries, memory, whole), rtol=CLOSE[dtype], atol=CLOSE[dtype])
    allowed = added > 0
    masked = torch.zeros_like(whole).masked_fill(~allowed, -torch.inf)
    found = module(queries, module.keys_of(memory), bias=allowed)
    torch.testing.assert_close(
        found, written_out(module, queries, memory, masked), rtol=CLOSE[dtype], atol=CLOSE[dtype]
    )


def test_a_bias_of_numbers_has_its_gradient() -> None:
    module = attention()
    queries, bias = normal(1, 3, WIDTH).requires_grad_(), normal(1, HEADS, 3, 3, seed=3).requires_grad_()
    assert torch.autograd.gradcheck(lambda own, added: module(own, bias=added), (queries, bias))


def test_a_query_that_may_attend_to_nothing_finds_nothing() -> None:
    module, queries = attention(), normal(BATCH, QUERIES, WIDTH).requires_grad_()
    allowed = torch.ones(BATCH, 1, QUERIES, QUERIES, dtype=torch.bool)
    allowed[1, 0, 2] = False
    found = module(queries, bias=allowed)
    torch.testing.assert_close(found[1, 2], module.out.bias, rtol=0, atol=0)
    (slope,) = torch.autograd.grad(found[1, 2].sum(), queries)
    assert not slope.any()


@pytest.mark.parametrize("causal", [False, True])
def test_attention_is_that_of_torch_with_its_weights(causal: bool) -> None:
    module, other = attention(), nn.MultiheadAttention(WIDTH, HEADS, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        other.in_proj_weight.copy_(torch.cat([module.query.weight, module.key_value.weight]))
        other.in_proj_bias.copy_(torch.cat([module.query.bias, module.key_value.bias]))
        other.out_proj.load_state_dict(module.out.state_dict())
    queries = normal(BATCH, QUERIES, WIDTH)
    mask = torch.ones(QUERIES, QUERIES, dtype=torch.bool).triu(1) if causal else None
    expected, _ = other(queries, queries, queries, attn_mask=mask, need_weights=False)
    torch.testing.assert_close(module(queries, causal=causal), expected, rtol=1e-10, atol=1e-10)


def test_tokens_end_to_end_find_what_each_sequence_finds_alone() -> None:
    module, places = attention(), Places.of(torch.tensor([3, 0, 5, 1]))
    tokens = normal(9, WIDTH)
    found = module(tokens, bias=places.bias(), places=places)
    alone = [module(own.unsqueeze(0)).squeeze(0) for own in tokens.split([3, 0, 5, 1]) if len(own)]
    torch.testing.assert_close(found, torch.cat(alone), rtol=1e-10, atol=1e-10)


def test_keys_and_values_come_one_by_one_and_in_any_order() -> None:
    module, values = attention(), normal(BATCH, KEYS, WIDTH)
    known = module.keys_of(values[:, :2])
    for place in range(2, KEYS):
        known = known.followed_by(module.keys_of(values[:, place : place + 1]))
    rows = torch.tensor([2, 0, 2])
    expected = module(values)[rows, -1:]
    torch.testing.assert_close(module(values[rows, -1:], known.pick(rows)), expected, rtol=1e-10, atol=1e-10)


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    with pytest.raises(ValueError, match=r"heads must divide width, got 4 heads and width 6"):
        MultiHeadAttention(6, 4)


def test_places_pad_and_pack() -> None:
    lengths = torch.tensor([3, 0, 5, 1])
    places, tokens = Places.of(lengths), normal(9, 2).requires_grad_()
    padded = places.pad(tokens)
    assert padded.shape == (4, 5, 2)
    assert not padded[0, 3:].any()
    assert places.bias() is not None
    torch.testing.assert_close(places.pack(padded), tokens, rtol=0, atol=0)
    (slope,) = torch.autograd.grad((places.pack(padded) * tokens.detach()).sum(), tokens)
    torch.testing.assert_close(slope, tokens.detach(), rtol=0, atol=0)
    means = places.means(tokens.detach())
    expected = torch.stack([own.sum(0) / max(1, len(own)) for own in tokens.detach().split(lengths.tolist())])
    torch.testing.assert_close(means, expected)
    assert Places.of(torch.tensor([2, 2])).bias() is None
    assert Places.of(torch.tensor([0])).pad(normal(0, 2)).shape == (1, 1, 2)


def test_positions_are_sines_and_cosines() -> None:
    found = sinusoids(torch.tensor([0, 7]), 4, torch.float64)
    angle = torch.tensor([7.0, 7.0 / 100], dtype=torch.float64)
    torch.testing.assert_close(found[0], torch.tensor([0.0, 0, 1, 1], dtype=torch.float64))
    torch.testing.assert_close(found[1], torch.cat([angle.sin(), angle.cos()]))
    with pytest.raises(ValueError, match=r"sinusoidal positions need an even width, got 3"):
        sinusoids(torch.tensor([0]), 3)
