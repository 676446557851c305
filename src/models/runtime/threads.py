"""Work shared out among threads of our own, where a function of torch or NumPy uses the cores badly."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

Item = TypeVar("Item")


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
