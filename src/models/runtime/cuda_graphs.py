"""Functions of tensors recorded as CUDA graphs: a loop of many small kernels then costs one launch."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

Argument = Tensor | None
Recordable = Callable[..., tuple[Tensor, ...]]
MOST_SHAPES = 8  # recordings of one function; each keeps its arguments and results in memory
MOST_BYTES = 128 * 2**20  # of the arguments; kernels of larger ones take longer than their launch
WARM_UP = 3  # calls before a recording, in which libraries take their workspaces


class Recording(NamedTuple):
    """Holds tensors at fixed addresses: `replay` computes `results` from what lies in `arguments`."""

    arguments: tuple[Argument, ...]
    results: tuple[Tensor, ...]
    replay: Callable[[], object]


@cache
def recording_stream(device: torch.device) -> torch.cuda.Stream:
    """Returns the one stream of a device for all recordings: libraries keep a workspace for each stream."""
    return torch.cuda.Stream(device)


def record_on_cuda(function: Recordable, arguments: Sequence[Argument]) -> Recording:
    """Returns a recording of the function for these arguments.

    It is warmed up and recorded on one stream, so that what a library sets up for a stream is there before.
    """
    own = tuple(None if x is None else x.clone() for x in arguments)
    device = next(x.device for x in own if x is not None)
    with torch.cuda.device(device):
        stream, graph = recording_stream(device), torch.cuda.CUDAGraph()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
                function(*own)
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            results = function(*own)
        torch.cuda.current_stream().wait_stream(stream)
    return Recording(own, results, graph.replay)


Recorder = Callable[[Recordable, Sequence[Argument]], Recording]
RECORDERS: dict[str, Recorder] = {"cuda": record_on_cuda}  # by device type


def replayed(recording: Recording, arguments: Sequence[Argument]) -> tuple[Tensor, ...]:
    """Returns the results for these arguments, in memory of their own: the next replay does not reach them."""
    for own, given in zip(recording.arguments, arguments, strict=True):
        if own is not None and given is not None:
            own.copy_(given)
    recording.replay()
    return tuple(result.clone() for result in recording.results)


def agree(found: Sequence[Tensor], expected: Sequence[Tensor]) -> bool:
    """Says whether all tensors agree to the root of the dtype's precision, relative to the largest number."""
    for one, other in zip(found, expected, strict=True):
        tolerance = torch.finfo(other.dtype).eps ** 0.5
        scale = float(other.nan_to_num(0.0, 0.0, 0.0).abs().max())
        if not torch.allclose(one, other, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
            return False
    return True


class Recorded:
    """Is `function` itself where no recorder exists (a CPU), else recorded for its shapes, and replayed.

    function: of tensors and None alone; its results are new tensors. It reads no number of a tensor and depends on
    nothing else. A combination of shapes is recorded when it comes for the second time, at most `MOST_SHAPES` of one
    `family`; others, and arguments of more than `MOST_BYTES`, run as they are. Another family (device, dtype, number of
    steps, size of a state) replaces the recordings. Each is tried before it is used, on the arguments and on others;
    one that fails or does not give what the function gives is warned about, and the function runs as it is.
    Threads take turns.
    """

    def __init__(self, function: Recordable) -> None:
        self.function = function
        self.family: Any = None
        self.seen: set[Any] = set()
        self.recordings: dict[Any, Recording | None] = {}
        self.lock = threading.RLock()

    def __call__(self, first: Tensor, *others: Argument) -> tuple[Tensor, ...]:
        if first.device.type not in RECORDERS:
            return self.function(first, *others)
        with self.lock:
            recording = self.prepare(first, *others)
            return self.function(first, *others) if recording is None else replayed(recording, (first, *others))

    def prepare(self, first: Tensor, *others: Argument) -> Recording | None:
        """Returns the recording for arguments of these shapes, made now if it is due; None where the function runs
        as it is."""
        tensors = [x for x in (first, *others) if x is not None]
        size = sum(x.numel() * x.element_size() for x in tensors)
        if first.device.type not in RECORDERS or size > MOST_BYTES or not all(x.numel() for x in tensors):
            return None
        with self.lock:
            return self.recording_of((first, *others))

    def recording_of(self, arguments: tuple[Tensor, *tuple[Argument, ...]]) -> Recording | None:
        """Returns the recording for arguments of these shapes, made when they come for the second time; None else."""
        first = arguments[0]
        family = (first.device, first.dtype, first.shape[0], first.shape[-1])
        if family != self.family:
            self.family, self.seen, self.recordings = family, set(), {}
        key = tuple(None if x is None else x.shape for x in arguments)
        if key in self.seen and key not in self.recordings and len(self.recordings) < MOST_SHAPES:
            self.recordings[key] = self.tried(RECORDERS[first.device.type], arguments)
        self.seen.add(key)
        return self.recordings.get(key)

    def tried(self, record: Recorder, arguments: Sequence[Argument]) -> Recording | None:
        """Returns a recording that gives what the function gives, on the arguments and on others; None, with a
        warning, else."""
        others = [None if x is None else 0.5 - x.flip(0) for x in arguments]
        try:
            recording = record(self.function, arguments)
            right = all(agree(replayed(recording, inputs), self.function(*inputs)) for inputs in (others, arguments))
        except RuntimeError as error:
            return self.without(str(error).partition("\n")[0])
        return recording if right else self.without("its replay gives other numbers")

    def without(self, reason: str) -> None:
        """Warns that the function runs without a recording, for that reason."""
        name = f"{self.function.__module__}.{self.function.__name__}"
        warnings.warn(f"no CUDA graph of {name}: {reason}; it runs kernel by kernel", RuntimeWarning, stacklevel=2)
