"""Memory that is used again only when nothing refers to it any more."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

from models.psrnn import fused
from models.psrnn.cell import PSRNN
from models.runtime.scratch import SMALL_ARRAY, Scratch

LIKE = torch.zeros(1)
ROWS = SMALL_ARRAY // 4 // 64  # of 64 numbers in single precision: the least that is kept


def test_memory_comes_back_when_the_last_view_is_gone() -> None:
    scratch = Scratch(8 * SMALL_ARRAY)
    first = scratch.empty((2 * ROWS, 64), like=LIKE)
    place, view = first.data_ptr(), first[3:].view(-1)
    assert place % 64 == 0
    del first
    other = scratch.empty((2 * ROWS, 64), like=LIKE)
    assert other.data_ptr() != place
    del view
    assert scratch.empty((2 * ROWS - 1, 64), like=LIKE).data_ptr() == place


def test_two_that_are_in_use_never_share() -> None:
    scratch = Scratch(8 * SMALL_ARRAY)
    one, other = (scratch.empty((ROWS, 64), like=LIKE).fill_(number) for number in (1.0, 2.0))
    assert bool((one == 1).all())
    assert bool((other == 2).all())


@pytest.mark.parametrize(("rows", "again"), [(ROWS, True), (2 * ROWS, True), (2 * ROWS + 1, False)])
def test_memory_of_like_size_serves(rows: int, again: bool) -> None:
    """Not more than twice as much as is asked for."""
    scratch = Scratch(8 * SMALL_ARRAY)
    place = scratch.empty((rows, 64), like=LIKE).data_ptr()
    assert (scratch.empty((ROWS, 64), like=LIKE).data_ptr() == place) is again


def test_no_more_is_kept_than_allowed() -> None:
    scratch = Scratch(2 * SMALL_ARRAY)
    held = [scratch.empty((ROWS, 64), like=LIKE) for _ in range(5)]
    assert not scratch.free
    held.clear()
    assert sum(map(len, scratch.free.values())) == 2 * SMALL_ARRAY


def test_dtype_and_small_results() -> None:
    scratch = Scratch(8 * SMALL_ARRAY)
    assert scratch.empty((ROWS, 64), like=LIKE.double()).dtype == torch.float64
    assert scratch.empty((3, 2), like=LIKE).shape == (3, 2)
    assert len(scratch.free) == 1


def test_threads_do_not_get_each_others_memory() -> None:
    scratch, wrong = Scratch(64 * SMALL_ARRAY), []

    def work(number: int) -> None:
        for _ in range(60):
            mine = scratch.empty((ROWS, 64), like=LIKE).fill_(number)
            if not bool((mine == number).all()):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_graph_that_is_kept_has_its_memory_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Differentiated again after other steps of the same size, a loss has the same gradient."""
    monkeypatch.setattr("models.runtime.scratch.SMALL_ARRAY", 1)
    monkeypatch.setattr(fused, "SCRATCH", Scratch(2**20))
    generator = torch.Generator().manual_seed(0)
    model = PSRNN(frequencies=3, dimension=2, state=5)
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.normal_(generator=generator)

    def loss() -> torch.Tensor:
        values = torch.randn(3, 7, 2, generator=generator)
        return model.filter_observed(model.initial_state(3), values).predictions.square().mean()

    kept = loss()
    (first,) = torch.autograd.grad(kept, [model.update_tensor], retain_graph=True)
    before = first.clone()
    for _ in range(3):
        torch.autograd.grad(loss(), [model.update_tensor])
    (second,) = torch.autograd.grad(kept, [model.update_tensor])
    assert np.array_equal(before.numpy(), second.numpy())
    assert np.array_equal(before.numpy(), first.numpy())
    assert fused.SCRATCH.free
