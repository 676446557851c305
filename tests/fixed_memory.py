"""A recorder of functions for the CPU that keeps arguments and results in one place, as a CUDA graph does."""

from __future__ import annotations

from collections.abc import Sequence

from models.runtime.cuda_graphs import Argument, Recordable, Recording


class FixedMemory:
    """Records as a CUDA graph does: arguments and results stay where they are, a replay overwrites the results."""

    def __init__(self) -> None:
        self.recordings = self.replays = 0
        self.recorded: list[str] = []  # names of functions

    def __call__(self, function: Recordable, arguments: Sequence[Argument]) -> Recording:
        own = tuple(None if x is None else x.clone() for x in arguments)
        results = function(*own)
        self.recordings += 1
        self.recorded.append(function.__name__)

        def replay() -> None:
            self.replays += 1
            for result, new in zip(results, function(*own), strict=True):
                result.copy_(new)

        return Recording(own, results, replay)
