"""Out of memory: known when it happens, half the work at a time where that helps, and said in one line."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch

from models.runtime.collectives import world
from pipeline.host.errors import PipelineError

Result = TypeVar("Result")
SMALLEST_CHUNK = 16
SAID_BY_CPU = ("not enough memory", "can't allocate memory")
ADVICE = "take fewer features.count, features.projection=40, dtype=float32, or smaller batches (docs: Out of memory)"


def is_out_of_memory(error: BaseException) -> bool:
    """Returns true for Python's and NumPy's MemoryError, torch's error on a GPU, and the plain RuntimeError of its
    CPU allocator."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in SAID_BY_CPU)


def halving(work: Callable[[int], Result], *, chunk: int, key: str) -> Result:
    """Returns `work(chunk)`, and tries again with half the chunk while memory does not suffice.

    key: the setting that the chunk comes from. Warns of each halving. Raises PipelineError when `SMALLEST_CHUNK` (or
    the chunk itself, where that is smaller) is still too much; and at once where there are several ranks, as the others
    are in the middle of their sums.
    """
    while True:
        try:
            return work(chunk)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            if world() > 1:
                raise PipelineError(
                    f"out of memory with {key}={chunk}; several processes do not halve it by themselves: set it lower"
                ) from error
            if chunk // 2 < SMALLEST_CHUNK:
                raise PipelineError(f"out of memory even with {key}={chunk}; {ADVICE}") from error
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        chunk //= 2
        warnings.warn(f"out of memory; {key} is halved to {chunk}, which changes last digits alone", stacklevel=2)


@contextmanager
def said_in_one_line() -> Iterator[None]:
    """Turns an error of memory that reaches the job's end into one line that says what to do about it."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise PipelineError(f"out of memory; {ADVICE}") from error
