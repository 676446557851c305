"""How many threads torch takes, and work shared out among threads of our own where it uses the cores badly."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

import torch

Item = TypeVar("Item")
SMALL_MODEL = 2**17  # numbers of a model: what one row of it costs in multiplications


def share_out(work: Callable[[Iterator[Item]], None], items: Iterable[Item]) -> None:
    """Calls `work` in as many threads as torch takes; each thread takes the next item when it is done with one.

    Meanwhile torch's own functions take one thread each. A function that torch shares out leaves threads behind that
    turn, waiting for the next one, and take the cores away from what follows. Gradients are recorded in the caller's
    thread alone: use this where none is. The threads are in inference mode where the caller is. What `work` raises is
    raised here, and the other threads then take no further item.
    """
    threads, left = torch.get_num_threads(), iter(list(items))
    if threads == 1:
        work(left)
        return
    inferring = torch.is_inference_mode_enabled()

    def work_alike() -> None:
        try:
            with torch.inference_mode(inferring):
                work(left)
        except BaseException:
            deque(left, maxlen=0)  # so that the other threads find none
            raise

    with single_thread(), ThreadPoolExecutor(threads - 1, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        others = [pool.submit(work_alike) for _ in range(threads - 1)]
        work_alike()
        for other in others:
            other.result()


@contextmanager
def single_thread() -> Iterator[None]:
    """Lets torch's functions take one thread each in the block; a thread that begins meanwhile has to say so itself."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def threads_for(model: Any) -> Iterator[None]:
    """Takes one thread in the block where the model has fewer than `SMALL_MODEL` numbers, and as many as before
    where it has more.

    A small model makes thousands of calls that last some microseconds each. Threads that wait for one another after
    each of them gain little on idle cores, and wait for their turn on busy ones. The rule looks at the model alone, so
    that the numbers of a run do not hang on how busy the machine is.
    """
    small = sum(tensor.numel() for tensor in model.state_dict().values()) < SMALL_MODEL
    with single_thread() if small else nullcontext():
        yield
