"""How many threads a stage takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from models.runtime.threads import single_thread

SMALL_MODEL = 2**17  # numbers of a model: what one row of it costs in multiplications


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
