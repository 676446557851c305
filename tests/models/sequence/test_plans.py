"""Attention by plans: against PyTorch's with a dense mask, values and gradients, and linear in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from models.documents.chunks import plan_of
from models.sequence.attention import MultiHeadAttention
from models.sequence.layers import EncoderLayer, FeedForward, Setting
from models.sequence.ledger import Ledger
from models.sequence.orders import page_order, reading_order
from models.sequence.paired import DistanceKeysWindowValues, PairedPlan, paired_plan
from models.sequence.patterns import (
    Distance,
    DistanceWindow,
    Full,
    Keys,
    Pattern,
    SlidingWindow,
    SpatialWindow,
    WindowRandom,
    keys_of,
)
from models.sequence.plans import ONE_BLOCK, PackedPlan, Plan, one_is_faster, plan
from page_layouts import layout

PATTERNS = (Full(), SlidingWindow(6), WindowRandom(4, 1), Distance(5), DistanceWindow(5, 4), SpatialWindow(20.0, 10.0))
COUNTS = (1, 2, 15, 16, 17, 60)
CHANCE = np.random.default_rng(0)


def planned(pattern: Pattern, count: int, *, seed: int = 0, one_block: int = 0) -> Plan:
    place = layout(count, seed=seed)
    keys, order = keys_of(pattern, place, np.random.default_rng(seed)), page_order(place.centres, leaf=16)
    return plan(keys, order, block=16, one_block=one_block)


def in_pairs(count: int, *, neighbours: int = 5, seed: int = 0) -> PairedPlan:
    place = layout(count, seed=seed)
    pairs = DistanceKeysWindowValues(neighbours).pairs(place, CHANCE)
    return paired_plan(pairs, page_order(place.centres, leaf=16), block=16)


def drawn(count: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(count)
    parts = (torch.randn(count, 3, 8, generator=generator, dtype=torch.float64) for _ in range(3))
    return tuple(part.to(dtype).requires_grad_() for part in parts)


def dense_attention(allowed: Tensor, *parts: Tensor) -> Tensor:
    query, key, value = (part.transpose(0, 1)[None] for part in parts)
    return scaled_dot_product_attention(query, key, value, attn_mask=allowed[None, None])[0].transpose(0, 1)


def values_and_gradients(attention: Callable[..., Tensor], parts: tuple[Tensor, ...]) -> list[Tensor]:
    found = attention(*parts)
    weights = torch.randn(found.shape, generator=torch.Generator().manual_seed(9), dtype=torch.float64).to(found)
    return [found.detach(), *torch.autograd.grad((found * weights).sum(), parts)]


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 5e-6)])
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
@pytest.mark.parametrize("one_block", [0, ONE_BLOCK])
def test_a_plan_is_dense_attention_with_its_mask(
    one_block: int, pattern: Pattern, count: int, dtype: torch.dtype, tolerance: float
) -> None:
    made, parts = planned(pattern, count, one_block=one_block), drawn(count, dtype)
    allowed = torch.from_numpy(keys_of(pattern, layout(count), np.random.default_rng(0)).matrix().toarray() > 0)
    assert torch.equal(made.dense(), allowed)
    expected = values_and_gradients(lambda *given: dense_attention(allowed, *given), parts)
    for form in (made.attend, made.attend_at_once):
        for own, other in zip(values_and_gradients(form, parts), expected, strict=True):
            torch.testing.assert_close(own, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("one_block", [0, ONE_BLOCK])
def test_a_second_derivative_is_refused_by_pieces_and_exists_at_once(one_block: int) -> None:
    made, parts = planned(SlidingWindow(6), 17, one_block=one_block), drawn(17)
    found = made.attend(*parts).square().sum()
    with pytest.raises(RuntimeError, match="cannot be differentiated once more; attend by attend_at_once"):
        torch.autograd.grad(found, parts, create_graph=True)
    with sdpa_kernel(SDPBackend.MATH):
        found = made.attend_at_once(*parts).square().sum()
    (slope,) = torch.autograd.grad(found, parts[:1], create_graph=True)
    assert torch.autograd.grad(slope.sum(), parts[0])[0].abs().sum() > 0


def test_pieces_are_of_several_blocks_or_of_one_with_many_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    parts, found = drawn(60), []
    for most in (1, 96, 10_000):
        monkeypatch.setattr("models.sequence.pieces.KEYS", most)
        made = planned(DistanceWindow(5, 4), 60)
        found.append((len(made.pieces), values_and_gradients(made.attend, parts)))
    assert found[0][0] > found[2][0] == len(made.groups)
    for _, values in found[1:]:
        for own, other in zip(values, found[0][1], strict=True):
            torch.testing.assert_close(own, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("one_block", [0, ONE_BLOCK])
@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_a_packed_plan_is_the_plan_and_joins_as_it_does(pattern: Pattern, one_block: int) -> None:
    plans = [planned(pattern, count, seed=count, one_block=one_block) for count in COUNTS]
    packed = [PackedPlan.of(own) for own in plans]
    pairs = [
        *zip(plans, (own.unpacked() for own in packed), strict=True),
        (Plan.joined(plans), PackedPlan.joined(packed)),
    ]
    for own, other in pairs:
        for name in ("queries", "keys", "places"):
            assert torch.equal(getattr(own, name), getattr(other, name))
        assert len(own.allowed) == len(other.allowed)
        assert all(map(torch.equal, own.allowed, other.allowed))


def test_the_masks_of_a_document_are_kept_in_bits() -> None:
    """A byte a pair was 5 GB of 5000 documents of 3000 tokens."""
    place = layout(600, seed=0)
    kept: Any = plan_of(DistanceWindow(32, 32), place, CHANCE)
    pairs = sum(own.numel() for own in kept.unpacked().allowed)
    assert sum(own.nbytes for own in kept.allowed) * 8 == pairs


def blocks_of(pattern: Pattern, count: int, **how: int) -> set[tuple[int, ...]]:
    return {tuple(allowed.shape) for allowed in planned(pattern, count, **how).allowed}


def test_short_documents_with_many_keys_are_one_block() -> None:
    assert blocks_of(Full(), 60, one_block=60) == {(1, 60, 60)}
    assert (1, 60, 60) not in blocks_of(Full(), 60, one_block=59)
    assert blocks_of(Distance(40), 60, one_block=ONE_BLOCK) == {(1, 60, 60)}
    few = SlidingWindow(2, global_tokens=())
    assert blocks_of(few, 100, one_block=ONE_BLOCK) == blocks_of(few, 100)


@pytest.mark.parametrize(
    ("pairs", "count", "expected"),
    [
        (157287, 512, True),
        (157286, 512, False),
        (2457, 64, False),
        (3 * 768**2 // 4, 768, True),
        (3 * 768**2 // 4 - 1, 768, False),
        (1024**2, 1024, True),
        (1025**2, 1025, False),
    ],
)
def test_the_longer_a_document_the_more_pairs_make_it_one_block(pairs: int, count: int, expected: bool) -> None:
    assert one_is_faster(pairs, count, ONE_BLOCK) == expected
    assert not one_is_faster(pairs, count, 0)


def test_keys_of_a_block_that_are_its_queries_may_be_those_of_another() -> None:
    allowed, parts = torch.zeros(32, 32, dtype=torch.bool), drawn(32)
    allowed[:, :16] = allowed[16:] = True
    rows, columns = (side.numpy() for side in allowed.nonzero().unbind(1))
    made = plan(Keys.of_pairs(rows, columns, 32), reading_order(32), block=16, one_block=0)
    assert sorted(tuple(each.shape) for each in made.allowed) == [(1, 16, 16), (1, 16, 32)]
    expected = values_and_gradients(lambda *given: dense_attention(allowed, *given), parts)
    for own, other in zip(values_and_gradients(made.attend, parts), expected, strict=True):
        torch.testing.assert_close(own, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("one_block", [0, ONE_BLOCK])
def test_numbers_of_a_head_need_not_be_beside_one_another(one_block: int) -> None:
    first, second = (planned(SlidingWindow(16), count, one_block=one_block) for count in (60, 17))
    made, parts = Plan.joined([first, second]), drawn(77)
    strewn = [part.detach().permute(1, 2, 0).contiguous().permute(2, 0, 1).requires_grad_() for part in parts]
    expected = torch.autograd.grad(made.attend(*parts).sum(), parts)
    for own, other in zip(torch.autograd.grad(made.attend(*strewn).sum(), strewn), expected, strict=True):
        torch.testing.assert_close(own, other, rtol=1e-12, atol=1e-12)


def test_a_full_plan_is_attention_without_a_mask() -> None:
    parts = drawn(40)
    query, key, value = (part.transpose(0, 1)[None] for part in parts)
    expected = scaled_dot_product_attention(query, key, value)[0].transpose(0, 1)
    torch.testing.assert_close(planned(Full(), 40).attend(*parts), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("count", COUNTS)
def test_pairs_are_a_loop_over_queries(count: int) -> None:
    place, parts = layout(count), drawn(count)
    keys, values = DistanceKeysWindowValues(5).pairs(place, CHANCE)

    def looped(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        rows = []
        for own in range(count):
            scores = torch.einsum("hw,mhw->mh", query[own], key[keys.of(own)]) / query.shape[2] ** 0.5
            rows.append(torch.einsum("mh,mhw->hw", scores.softmax(0), value[values.of(own)]))
        return torch.stack(rows)

    expected = values_and_gradients(looped, parts)
    for own, other in zip(values_and_gradients(in_pairs(count).attend, parts), expected, strict=True):
        torch.testing.assert_close(own, other, rtol=1e-12, atol=1e-12)


def test_pairs_are_neighbours_of_the_page_with_neighbours_in_the_text() -> None:
    place = layout(30)
    keys, values = DistanceKeysWindowValues(5).pairs(place, CHANCE)
    near = Distance(5).keys(place, CHANCE)
    for token in range(1, 30):
        assert keys.of(token).tolist() == [*near.of(token), 0]
        first = min(max(token - 2, 0), 25)
        assert values.of(token).tolist() == [*range(first, first + 5), 0]
    assert keys.of(0).tolist() == values.of(0).tolist() == list(range(30))


ONE: dict[str, Callable[[int, int], Any]] = {
    "blocks": lambda count, seed: planned(DistanceWindow(5, 4), count, seed=seed),
    "one block each": lambda count, seed: planned(DistanceWindow(5, 4), count, seed=seed, one_block=ONE_BLOCK),
    "one block of the first": lambda count, seed: planned(DistanceWindow(5, 4), count, seed=seed, one_block=30),
    "pairs": lambda count, seed: in_pairs(count, seed=seed),
}


@pytest.mark.parametrize("form", ONE)
def test_documents_end_to_end_do_not_see_one_another(form: str) -> None:
    counts = (17, 3, 40, 17)
    plans = [ONE[form](count, seed) for seed, count in enumerate(counts)]
    together, parts = (PairedPlan if form == "pairs" else Plan).joined(plans), drawn(sum(counts))
    split = [part.split(counts) for part in parts]

    def alone(*_: Tensor) -> Tensor:
        return torch.cat([each.attend(*own) for each, own in zip(plans, zip(*split, strict=True), strict=True)])

    expected = values_and_gradients(alone, parts)
    for own, other in zip(values_and_gradients(together.attend, parts), expected, strict=True):
        torch.testing.assert_close(own, other, rtol=1e-12, atol=1e-12)
    found = together.attend(*parts)
    for gradient in torch.autograd.grad(found[: counts[0]].sum(), parts):
        assert not gradient[counts[0] :].any()


def test_the_order_changes_nothing() -> None:
    place, parts = layout(60), drawn(60)
    keys = keys_of(DistanceWindow(5, 4), place, CHANCE)
    orders = (reading_order(60), page_order(place.centres, leaf=16), np.random.default_rng(3).permutation(60))
    first, *others = (plan(keys, order, block=16).attend(*parts) for order in orders)
    for other in others:
        torch.testing.assert_close(other, first, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("pattern", [SlidingWindow(16), Distance(16), DistanceWindow(16, 16)], ids=str)
def test_memory_for_the_gradient_grows_linearly(pattern: Pattern) -> None:
    def saved(count: int, *, dense: bool) -> int:
        made, parts, sizes = planned(pattern, count), drawn(count, torch.float32), dict[int, int]()

        def kept(tensor: Tensor) -> Tensor:
            storage = tensor.untyped_storage()
            sizes[storage.data_ptr()] = storage.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(kept, lambda tensor: tensor):
            found = dense_attention(made.dense(), *parts) if dense else made.attend(*parts)
        assert found.requires_grad
        return sum(sizes.values())

    assert saved(1024, dense=False) < 2.4 * saved(512, dense=False)
    assert saved(1024, dense=True) > 3 * saved(512, dense=True)


@pytest.mark.parametrize("made", [planned(DistanceWindow(5, 4), 30), in_pairs(30)], ids=["plan", "pairs"])
def test_a_layer_takes_a_plan(made: Plan | PairedPlan) -> None:
    torch.manual_seed(0)
    layer = EncoderLayer(24, 3, FeedForward(24, 32)).double()
    tokens = torch.randn(30, 24, dtype=torch.float64)
    found = layer(tokens, Setting(None, None, Ledger(), plan=made.to(torch.device("cpu"))))
    attention: MultiHeadAttention = layer.attention
    expected = layer.attended.leave(tokens, attention.planned(layer.attended.enter(tokens), made))
    torch.testing.assert_close(found, expected + layer.feed_forward(layer.fed.enter(expected)))
    if isinstance(made, Plan):
        dense = attention(tokens[None], bias=made.dense()[None, None])[0]
        torch.testing.assert_close(attention.planned(tokens, made), dense, rtol=1e-12, atol=1e-12)


def test_a_query_without_a_key_is_refused() -> None:
    with pytest.raises(ValueError, match="token 1 has no key; let it attend to itself"):
        plan(Keys(np.array([0, 1, 1]), np.array([0])), reading_order(2))


@pytest.mark.parametrize("join", [Plan.joined, PairedPlan.joined])
def test_nothing_to_join(join: Callable[[list[Any]], Any]) -> None:
    with pytest.raises(ValueError, match="there is no plan to join"):
        join([])
