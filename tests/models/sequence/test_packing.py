"""Sequences of unequal length end to end, padded and in batches; masks."""

from __future__ import annotations

import pytest
import torch

from models.sequence.masks import masked_mean, masked_softmax, present_steps
from models.sequence.packing import Packed, batches_by_length

LENGTHS = (3, 0, 5, 1)


def sequences() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(length, 2, generator=generator) for length in LENGTHS]


def test_what_is_packed_comes_back() -> None:
    own = sequences()
    packed = Packed.of(own)
    assert (packed.count, packed.width, packed.values.shape) == (4, 2, (9, 2))
    assert packed.starts is packed.starts  # summed up once, and not at each pick
    assert packed.starts.tolist() == [0, 3, 3, 8]
    padded = packed.pick(torch.tensor([2, 1, 0]))
    assert padded.values.shape == (3, 5, 2)
    assert padded.present.sum(1).tolist() == [5, 0, 3]
    assert not padded.values[~padded.present].any()
    unpadded = [values[:length] for values, length in zip(padded.values, padded.lengths.tolist(), strict=True)]
    for found in (unpadded, [packed.unpack()[place] for place in (2, 1, 0)]):
        for one, expected in zip(found, (own[2], own[1], own[0]), strict=True):
            torch.testing.assert_close(one, expected, rtol=0, atol=0)


@pytest.mark.parametrize("rows", [[2, 1, 0, 2], [1], [], [0, 1, 2, 3]])
def test_sequences_that_are_taken_are_those_joined_one_by_one(rows: list[int]) -> None:
    packed = Packed.of(sequences())
    taken, parts = packed.take(torch.tensor(rows, dtype=torch.int64)), packed.unpack()
    assert torch.equal(taken.values, torch.cat([packed.values[:0], *(parts[row] for row in rows)]))
    assert taken.lengths.tolist() == [LENGTHS[row] for row in rows]


def test_a_batch_of_missing_sequences_has_one_step_that_is_not_present() -> None:
    padded = Packed.of(sequences()).pick(torch.tensor([1]))
    assert padded.values.shape == (1, 1, 2)
    assert not padded.present.any()
    nothing = Packed.of([torch.zeros(0, 3)]).pick(torch.tensor([0]))
    assert nothing.values.shape == (1, 1, 3)


def test_arrays_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match=r"packing needs at least one sequence"):
        Packed.of([])
    with pytest.raises(ValueError, match=r"sequence 1 must have shape \(step, 2\), got \(4, 3\)"):
        Packed.of([torch.zeros(2, 2), torch.zeros(4, 3)])
    with pytest.raises(ValueError, match=r"sequence 0 must have shape \(step, width\), got \(2,\)"):
        Packed.of([torch.zeros(2)])


def test_batches_have_every_row_once_and_like_lengths() -> None:
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 100, (1000,), generator=generator)
    batches = batches_by_length(lengths, size=32, generator=generator)
    assert torch.equal(torch.cat(batches).sort().values, torch.arange(1000))
    padding = sum(int(lengths[rows].max()) * len(rows) for rows in batches) / int(lengths.sum())
    assert padding < 1.1  # in random batches almost 2
    drawn = [batches_by_length(lengths, size=32, generator=torch.Generator().manual_seed(7)) for _ in range(2)]
    assert all(torch.equal(one, other) for one, other in zip(*drawn, strict=True))
    assert not torch.equal(drawn[0][0], batches[0])


def test_a_batch_without_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one row"):
        batches_by_length(torch.ones(3), size=0, generator=torch.Generator())


def test_a_row_with_nothing_allowed_gives_zeros_and_no_gradient() -> None:
    scores = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    allowed = present_steps(torch.tensor([4, 2, 0]), 4)
    weights = masked_softmax(scores, allowed)
    torch.testing.assert_close(weights[0], scores[0].softmax(0))
    torch.testing.assert_close(weights[1, :2], scores[1, :2].softmax(0))
    assert not weights[~allowed].any()
    (gradient,) = torch.autograd.grad(weights.square().sum(), scores)
    assert torch.isfinite(gradient).all()
    assert not gradient[~allowed].any()


def test_means_are_over_present_steps() -> None:
    values = torch.randn(3, 4, 2)
    means = masked_mean(values, present_steps(torch.tensor([4, 1, 0]), 4))
    torch.testing.assert_close(means, torch.stack([values[0].mean(0), values[1, 0], torch.zeros(2)]))
