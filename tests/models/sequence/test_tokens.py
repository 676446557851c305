"""Lists of tokens end to end, and batches by tokens of both sides."""

from __future__ import annotations

import pytest
import torch

from models.sequence.tokens import TokenLists, batches_by_tokens


def test_lists_come_back_in_any_order() -> None:
    lists = TokenLists.of([[5, 6, 7], [], [8], [9, 10]])
    assert (lists.count, lists.values.dtype, lists.unpack()) == (4, torch.int32, [[5, 6, 7], [], [8], [9, 10]])
    tokens, places = lists.pick(torch.tensor([3, 1, 0]))
    assert tokens.tolist() == [9, 10, 5, 6, 7]
    assert (places.lengths.tolist(), places.sequence.tolist()) == ([2, 0, 3], [0, 0, 2, 2, 2])
    assert lists.take(torch.tensor([3, 3])).unpack() == [[9, 10], [9, 10]]
    assert TokenLists.of([]).count == 0
    assert lists.starts is lists.starts  # summed up once, and not at each pick
    assert lists.starts.tolist() == [0, 3, 3, 4]


def test_batches_hold_every_row_once_and_at_most_so_many_tokens() -> None:
    generator = torch.Generator().manual_seed(0)
    source = torch.randint(1, 40, (5000,), generator=generator)
    lengths = torch.stack([source, (source + torch.randint(-3, 4, (5000,), generator=generator)).clamp(min=1)], 1)
    batches = batches_by_tokens(lengths, most=400, generator=generator)
    assert torch.equal(torch.cat(batches).sort().values, torch.arange(5000))
    padded = sum(lengths[rows].amax(0) * len(rows) for rows in batches)
    assert all(bool((lengths[rows].amax(0) * len(rows) <= 400).all()) for rows in batches)
    assert float(padded.sum()) < 1.15 * float(lengths.sum())
    drawn = [batches_by_tokens(lengths, most=400, generator=torch.Generator().manual_seed(7)) for _ in range(2)]
    assert all(torch.equal(one, other) for one, other in zip(*drawn, strict=True))
    assert batches_by_tokens(lengths[:0], most=400, generator=generator) == ()


def test_a_row_that_no_batch_can_hold_is_refused() -> None:
    lengths = torch.tensor([[3, 4], [5, 9], [2, 2]])
    with pytest.raises(ValueError, match=r"row 1 has 9 tokens, and a batch may have 8; leave it out or allow more"):
        batches_by_tokens(lengths, most=8, generator=torch.Generator().manual_seed(0))
    (rows,) = batches_by_tokens(lengths, most=27, generator=torch.Generator().manual_seed(0))
    assert sorted(rows.tolist()) == [0, 1, 2]
