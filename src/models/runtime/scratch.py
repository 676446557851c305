"""Memory for large results."""

from __future__ import annotations

import threading
import weakref
from math import prod

import numpy as np
import torch
from torch import Tensor

LINE = 64  # bytes of a line of the cache, to which memory is aligned
SMALL_ARRAY = 2**20  # bytes below which the allocator has memory at hand


def aligned_bytes(size: int) -> np.ndarray:
    """Returns uninitialised bytes (size,), beginning with a line of the cache.

    NumPy asks the system for huge pages where an array is large: most of the time that fresh memory costs is the system
    handing out small pages one by one.
    """
    whole = np.empty(size + LINE, np.uint8)
    start = -whole.ctypes.data % LINE
    return whole[start : start + size]


class Scratch:
    """Lends memory of the CPU for large intermediate results, used again and again.

    The system hands out memory page by page as it is first written to, which can take longer than computing what is
    written. What `empty` gives comes back by itself when the last tensor that refers to it is gone, and is given again
    for a result of like size. most: bytes that are kept while nothing uses them; the oldest are let go first.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.free: dict[int, np.ndarray] = {}
        self.lock = threading.RLock()  # that of a finaliser may run within one of ours

    def empty(self, shape: tuple[int, ...], *, like: Tensor) -> Tensor:
        """Returns an uninitialised tensor of that shape, with the dtype and on the device of `like`."""
        size = prod(shape) * like.element_size()
        if like.device.type != "cpu" or size < SMALL_ARRAY:
            return like.new_empty(shape)
        memory = self._taken(size)
        borrowed = memory[:size]  # torch holds on to this very array as long as to its numbers
        weakref.finalize(borrowed, self._back, memory).atexit = False
        return torch.from_numpy(borrowed).view(like.dtype).view(shape)

    def _taken(self, size: int) -> np.ndarray:
        with self.lock:
            fitting = [memory for memory in list(self.free.values()) if size <= len(memory) <= 2 * size]
            best = min(fitting, key=len, default=None)
            if best is not None and self.free.pop(id(best), None) is not None:
                return best
        return aligned_bytes(size)

    def _back(self, memory: np.ndarray) -> None:
        with self.lock:
            self.free[id(memory)] = memory
            while sum(map(len, self.free.values())) > self.most:
                self.free.pop(next(iter(self.free)))


def empty_rows(rows: int, columns: int, *, like: Tensor) -> Tensor:
    """Returns uninitialised (rows, columns) with the dtype and on the device of `like`; on the CPU see
    `aligned_bytes`."""
    if like.device.type != "cpu":
        return like.new_empty(rows, columns)
    memory = torch.from_numpy(aligned_bytes(rows * columns * like.element_size()))
    return memory.view(like.dtype).view(rows, columns)
