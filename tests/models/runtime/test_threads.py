"""Work that is shared out among threads."""

from __future__ import annotations

import operator
import threading
from collections.abc import Iterator

import pytest
import torch

from models.numerics.khatri_rao import add_triple_products
from models.runtime.threads import share_out


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_every_item_is_taken_once_with_one_thread_of_torch_each(threads: int) -> None:
    taken: list[int] = []
    allowed, met = set(), threading.Barrier(threads, timeout=60)

    def work(items: Iterator[int]) -> None:
        met.wait()  # all of them are there before the first item is taken
        for item in items:
            allowed.add(torch.get_num_threads())
            taken.append(item)

    share_out(work, range(50))
    assert sorted(taken) == list(range(50))
    assert allowed == {1}
    assert torch.get_num_threads() == threads


def test_an_error_in_a_thread_is_raised_and_the_threads_are_given_back(threads: int) -> None:
    def work(items: Iterator[int]) -> None:
        if threads == 1 or threading.current_thread() is not threading.main_thread():
            raise ValueError("no memory in this thread")
        list(items)

    with pytest.raises(ValueError, match="no memory in this thread"):
        share_out(work, range(5))
    assert torch.get_num_threads() == threads


def test_after_an_error_nothing_is_left_for_the_other_threads(threads: int) -> None:
    left: list[int] = []
    met, pause = threading.Barrier(threads, timeout=60), threading.Event()

    def work(items: Iterator[int]) -> None:
        if met.wait() == 0:
            raise ValueError("no memory in this thread")
        next(items, None)
        for _ in range(500):
            if operator.length_hint(items) == 0 or pause.wait(0.01):
                break
        left.append(operator.length_hint(items))

    with pytest.raises(ValueError, match="no memory in this thread"):
        share_out(work, range(50))
    assert left == [0] * (threads - 1)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-4), (torch.float64, 1e-12)])
def test_sums_of_products_are_the_same_to_the_bit_with_any_number_of_threads(
    dtype: torch.dtype, tolerance: float
) -> None:
    generator = torch.Generator().manual_seed(0)
    first, second, third = (torch.randn(70, n, generator=generator, dtype=dtype) for n in (5, 23, 7))
    total = torch.zeros(5, 23, 7, dtype=torch.float64)
    add_triple_products(total, first, second, third, tile_bytes=70 * 7 * first.element_size() * 2)
    torch.set_num_threads(1)
    alone = torch.zeros_like(total)
    add_triple_products(alone, first, second, third, tile_bytes=70 * 7 * first.element_size() * 2)
    assert torch.equal(total, alone)
    written_out = torch.einsum("ta,tb,tc->abc", first.double(), second.double(), third.double())
    torch.testing.assert_close(total, written_out, rtol=0, atol=tolerance)


@pytest.mark.usefixtures("threads")
def test_threads_work_in_inference_mode_where_the_caller_does() -> None:
    with torch.inference_mode():
        total, factor = torch.zeros(2, 40, 3, dtype=torch.float64), torch.ones(6, 40)
        add_triple_products(total, factor[:, :2], factor, factor[:, :3], tile_bytes=6 * 3 * 4)
    assert torch.equal(total, torch.full((2, 40, 3), 6.0, dtype=torch.float64))
