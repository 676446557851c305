"""One point of the scaling curves: processor time and peak memory of a hot spot at one size, in processes of its own.

The processes are forked from one that has imported torch and done nothing with it. Linux alone: the peak is that of
/proc/self/status.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from bptt_step import DIMENSION, ours, random_psrnn, trained
from several_processes import largest_over_ranks
from side_by_side import Form
from torch import Tensor

from models.features.maps import random_features
from models.forecasting.filtering import filter_by_all_ranks
from models.psrnn.two_stage import FeatureBatch, FeatureStream, two_stage_regression
from models.runtime.collectives import own_rows, sum_gradients, world

CHUNK, COLUMNS, RIDGE = 4096, 8, 1e-2  # steps of a batch as `initialise.chunk`; columns of the walk
SEQUENCES, HORIZON = 16, 20  # sequences that are filtered; steps of a chunk of truncated BPTT
BUDGET, MOST_CALLS = 0.25, 20  # processor seconds after the first call
KIB = 1024


def walk_features(steps: range, frequencies: Tensor) -> FeatureBatch:
    """Features of consecutive windows of a walk, made from nothing but the number of the first step."""
    generator = torch.Generator().manual_seed(steps.start)
    walk = torch.randn(len(steps) + 2, COLUMNS, generator=generator).cumsum(0) / COLUMNS
    past, now, future = (random_features(walk[shift : shift + len(steps)], frequencies) for shift in range(3))
    return FeatureBatch(past, now, future, now)


def regression(steps: int, features: int) -> Form:
    """Two-stage regression of features that are made batch by batch, twice, and never held together."""
    frequencies = torch.randn(features // 2, COLUMNS, generator=torch.Generator().manual_seed(0))
    own = range(steps)[own_rows(steps)]

    def stream() -> Iterator[FeatureBatch]:
        for start in own[::CHUNK]:
            yield walk_features(range(start, min(start + CHUNK, own.stop)), frequencies)

    source: FeatureStream = stream
    return lambda: two_stage_regression(source, ridge=RIDGE, scale="samples")


def random_values(sequences: int, steps: int) -> Tensor:
    return torch.randn(sequences, steps, DIMENSION, generator=torch.Generator().manual_seed(1))


def filtering(steps: int, features: int) -> Form:
    """States and predictions of `SEQUENCES` sequences, `steps` in all."""
    model = random_psrnn(features, torch.device("cpu"))
    values = random_values(SEQUENCES, steps // SEQUENCES)
    mask = torch.ones_like(values, dtype=torch.bool)
    return lambda: filter_by_all_ranks(model, values, mask)


def bptt(steps: int, features: int) -> Form:
    """Loss and gradient of a batch of chunks, `steps` in all."""
    model = random_psrnn(features, torch.device("cpu"))
    values = random_values(steps // HORIZON, HORIZON)[own_rows(steps // HORIZON)]

    def gradient() -> None:
        model.zero_grad()
        (ours(model, values) / world()).backward(inputs=trained(model))
        sum_gradients(trained(model))

    return gradient


SPOTS: dict[str, Callable[[int, int], Form]] = {"regression": regression, "filtering": filtering, "bptt": bptt}


def processor_seconds(form: Form, budget: float) -> float:
    """Seconds of the processor that the busiest process used for a call, the median of several.

    The first call warms up; where it takes longer than `budget` it is the only one.
    """

    def once() -> float:
        start = time.process_time()
        form()
        return largest_over_ranks(time.process_time() - start, torch.device("cpu"))

    first, found = once(), []
    if first > budget:
        return first
    while sum(found) < budget and len(found) < MOST_CALLS:
        found.append(once())
    return median(found)


def resident(field: str) -> int:
    """Bytes: VmRSS, those in memory now, or VmHWM, their peak."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return KIB * next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def forget_peak() -> None:
    """Let VmHWM begin anew (proc(5), clear_refs)."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


class Share(NamedTuple):
    """What one process of a point is told; all of them meet in the file `meeting`."""

    spot: str
    steps: int
    features: int
    rank: int
    processes: int
    meeting: str


def work(share: Share, results: Any) -> None:
    """A process works; process 0 puts the seconds of the busiest and the bytes of the largest into `results`."""
    spot, steps, features, rank, processes, meeting = share
    torch.set_num_threads(1)
    if processes > 1:
        dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=processes)
    forget_peak()
    before = resident("VmRSS")
    seconds = processor_seconds(SPOTS[spot](steps, features), BUDGET)
    memory = largest_over_ranks(resident("VmHWM") - before, torch.device("cpu"))
    if rank == 0:
        results.put((seconds, memory))
    if dist.is_initialized():
        dist.destroy_process_group()


def measured_apart(spot: str, *, steps: int, features: int, processes: int) -> tuple[float, float]:
    """Seconds and bytes as `work` finds them, in so many new processes.

    Raises ChildProcessError when one of them fails; the reason stands above it on standard error.
    """
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    with TemporaryDirectory() as folder:
        settings = spot, steps, features
        shares = [Share(*settings, rank, processes, f"{folder}/meeting") for rank in range(processes)]
        children = [context.Process(target=work, args=(share, results)) for share in shares]
        for child in children:
            child.start()
        for child in children:
            child.join()
    if any(child.exitcode for child in children):
        raise ChildProcessError(f"{spot} with {steps} steps and {features} features failed; is there enough memory?")
    return results.get()
