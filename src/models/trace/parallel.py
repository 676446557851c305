"""Queries that do not depend on each other, split: over the ranks of one run, or over processes of this machine.

Each wraps an oracle and is one. A method with one round calls it once: one exchange between the processes; an adaptive
method needs two, the second after the first.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from models.runtime.collectives import own_rows, rows_of_all_ranks, world
from models.trace.oracles import Oracle

OWN: list[Oracle] = []  # the oracle of a worker process


@dataclass(frozen=True)
class OverRanks:
    """Lets every rank ask its share of the queries (…, n), and gives all products (…, n) to all of them by one
    reduction.

    The ranks have to call it with the same queries: drawn from equal seeds, they need not be sent. Raises ValueError
    for fewer queries than ranks.
    """

    oracle: Oracle

    def __call__(self, queries: Tensor) -> Tensor:
        if world() == 1:
            return self.oracle(queries)
        rows = queries.reshape(-1, queries.shape[-1])
        own = self.oracle(rows[own_rows(len(rows))])
        return rows_of_all_ranks(own, len(rows)).view(queries.shape)


@dataclass(frozen=True)
class OverProcesses:
    """Lets every worker of a pool ask an equal share of the queries (…, n). The pool's workers have the oracle
    already."""

    pool: Executor
    processes: int

    def __call__(self, queries: Tensor) -> Tensor:
        rows = queries.reshape(-1, queries.shape[-1]).numpy()
        products = self.pool.map(answer, np.array_split(rows, min(self.processes, len(rows))))
        return torch.from_numpy(np.concatenate(list(products))).view(queries.shape)


def prepare_worker(oracle: Oracle) -> None:
    """Makes this process a worker of one thread that has the oracle."""
    torch.set_num_threads(1)
    OWN.append(oracle)


def answer(rows: np.ndarray) -> np.ndarray:
    """Returns the products (query, n) that a worker finds for rows (query, n).

    They are an array: it is sent as it is, where a tensor takes shared memory.
    """
    return OWN[-1](torch.from_numpy(rows)).numpy()


@contextmanager
def over_processes(oracle: Oracle, *, processes: int) -> Iterator[OverProcesses]:
    """Yields the oracle (of tensors on the CPU) over as many new processes of one thread, which end with the
    context."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])  # torch is imported once, and the workers are forked from there
    with ProcessPoolExecutor(processes, context, prepare_worker, (oracle,)) as pool:
        yield OverProcesses(pool, processes)
