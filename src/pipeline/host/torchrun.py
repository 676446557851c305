"""One of the processes ("ranks") that `torchrun` has started for one run.

Rank 0 owns the MLflow run, the checkpoints and the terminal. The others compute their share and are silent; of the
errors of all ranks the first is told, once.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from pipeline.host.errors import PipelineError

LONGEST_WAIT = timedelta(hours=2)  # of one rank for the others
FAILURES, FAILURE = "failures", "failure"
STORES: list[Any] = []  # the key-value store that all ranks see, when there are several


def launched() -> bool:
    """Returns true when this process is one of several that torchrun has started."""
    return "TORCHELASTIC_RUN_ID" in os.environ and int(os.environ["WORLD_SIZE"]) > 1


def ranks_on_machine() -> int:
    return int(os.environ["LOCAL_WORLD_SIZE"]) if launched() else 1


@contextmanager
def joined_ranks() -> Iterator[None]:
    """Meets the other ranks, if there are any, and ends with one voice: exit texts and errors of the first to fail."""
    if not launched():
        yield
        return
    if int(os.environ["RANK"]) > 0:
        fall_silent()
    meet()
    try:
        yield
    except SystemExit as end:
        if not isinstance(end.code, str):
            raise
        raise SystemExit(last_words(end.code) if is_heard(end.code) else 1) from end
    except Exception as error:
        if not is_heard(f"error: {error}"):
            raise SystemExit(1) from None
        raise
    part()


def fall_silent() -> None:
    """Stops all output but errors. It is called before the first import of tqdm, which reads the environment then."""
    os.environ["TQDM_DISABLE"] = "1"
    sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    warnings.simplefilter("ignore")


def meet() -> None:
    """Makes the process group: gloo for tensors of the CPU, NCCL for those of a GPU."""
    import torch
    import torch.distributed as dist
    from torch.distributed.rendezvous import rendezvous

    try:
        store, rank, world = next(rendezvous("env://"))
        STORES.append(dist.PrefixStore("pipeline", store))  # pyright: ignore[reportPrivateImportUsage]
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        dist.init_process_group(backend, store=store, rank=rank, world_size=world, timeout=LONGEST_WAIT)
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise SystemExit(f"error: the other processes cannot be reached ({reason}); see docs: On a cluster") from error


def part() -> None:
    """Takes leave of the other ranks after a success; after a failure the process just ends, so that nobody waits
    for it."""
    import torch.distributed as dist

    STORES.clear()
    dist.destroy_process_group()


def last_words(text: str) -> str:
    """Returns the text, on a line of its own for other ranks than rank 0: the progress bar of that rank may stand
    on the last line."""
    from models.runtime.collectives import rank

    return f"\n{text}" if rank() > 0 else text


def is_heard(text: str) -> bool:
    """Returns true when this rank is the one to print its last words: the first to fail, and rank 0 where none has
    failed."""
    from models.runtime.collectives import rank

    if not text.startswith("error: "):
        return rank() == 0
    if STORES[0].add(FAILURES, 1) > 1:
        return False
    STORES[0].set(FAILURE, text.removeprefix("error: "))
    return True


def first_failure() -> str | None:
    """Returns why the first of several ranks has failed, None where none has, as far as this one can know."""
    try:
        known = bool(STORES) and STORES[0].check([FAILURE])
        return STORES[0].get(FAILURE).decode() if known else None
    except RuntimeError:  # torchrun itself, which keeps the store, is gone
        return None


def refuse_several(what: str) -> None:
    """Raises PipelineError where several ranks would do what one process does."""
    if launched():
        raise PipelineError(f"{what} is for one process; start it with python -m pipeline, not with torchrun")


def refuse_unlike(mark: str) -> None:
    """Raises PipelineError where this rank has other settings or data than rank 0. mark: their fingerprint."""
    from models.runtime.collectives import rank, text_of_first_rank

    if text_of_first_rank(mark) != mark:
        raise PipelineError(
            f"process {rank()} has other settings or other data than process 0; give all of them the same command, "
            "code and data root"
        )


def settings_of_rank(settings: Any) -> Any:
    """Returns the settings of this rank: on other ranks than rank 0 nothing is tracked."""
    from models.runtime.collectives import rank

    if rank() == 0:
        return settings
    return replace(settings, tracking=replace(settings.tracking, enabled=False, register=None, detail="summary"))


def share_of_cores(threads: int | None) -> int | None:
    """Returns `threads`, or where that is None and several ranks are on this machine, this one's share of its cores.

    OMP_NUM_THREADS goes before it, unless it is 1, which is what torchrun sets where nobody has.
    """
    if threads is not None or not launched() or os.environ.get("OMP_NUM_THREADS", "1") != "1":
        return threads
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // ranks_on_machine())


def place_on_machine(job: int) -> int:
    """Returns which GPU of this machine to take: that of the rank there, else that of the job."""
    return int(os.environ["LOCAL_RANK"]) if launched() else job


def take_gpu(device: Any) -> None:
    """Lets this rank's collectives run on its GPU. Raises PipelineError where there are more ranks than GPUs."""
    import torch

    if device.type != "cuda" or not launched():
        return
    count = torch.cuda.device_count()
    if ranks_on_machine() > count:
        raise PipelineError(
            f"device={device.type}: {ranks_on_machine()} processes on a machine with {count} GPUs; start at most one "
            "for each, or set device=cpu"
        )
    torch.cuda.set_device(device)
