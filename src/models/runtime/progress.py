"""How far a long computation has come, for whoever wants to show it, and a bar of epochs on a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

CountListener = Callable[[int], object]
_listener: ContextVar[CountListener | None] = ContextVar("listener", default=None)


@contextmanager
def heard(listener: CountListener) -> Iterator[None]:
    """Lets `listener` be told, within the block and in its thread alone, by every `advanced` how many rows are done."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def advanced(rows: int) -> None:
    """Tells the listener that so many more rows were filtered, forecast by one step, or added up."""
    listener = _listener.get()
    if listener is not None:
        listener(rows)


@contextmanager
def epochs_shown(epochs: int) -> Iterator[Callable[[float, float], None]]:
    """Gives what takes the training and the validation loss of each epoch, and shows a bar of so many epochs with both.

    The bar stands on standard error from the beginning, is cleared away at the end, and stays away where standard error
    is no terminal. A validation loss of NaN is not shown.
    """
    from tqdm import tqdm  # here, since a model that only predicts does not need it

    settings = {"unit": "epoch", "mininterval": 0, "miniters": 1, "leave": False, "disable": None}
    with tqdm(total=epochs, desc="fit", **settings) as bar:

        def shown(training: float, validation: float) -> None:
            losses = {"loss": training} | ({} if math.isnan(validation) else {"validation": validation})
            bar.set_postfix(losses, refresh=False)
            bar.update()

        yield shown
