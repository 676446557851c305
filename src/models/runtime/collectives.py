"""Several processes ("ranks") at one computation, each with its share of the rows; a process alone is rank 0 of 1.

Whoever starts the processes makes the default group of `torch.distributed`; without a group nothing here communicates.
Every rank has to make the same calls in the same order. A rank that has ended makes them raise ConnectionError in the
others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor


def in_group() -> bool:
    """Says whether this process belongs to a group of `torch.distributed`."""
    return dist.is_available() and dist.is_initialized()


def world() -> int:
    """Returns how many ranks there are."""
    return dist.get_world_size() if in_group() else 1


def rank() -> int:
    """Returns the number of this process, from 0."""
    return dist.get_rank() if in_group() else 0


def own_rows(count: int) -> slice:
    """Returns this rank's share of `count` rows: consecutive ones, as many as the other ranks have, or one more or
    less.

    Raises ValueError where there are fewer rows than ranks.
    """
    if count < world():
        raise ValueError(f"{count} rows cannot be shared by {world()} processes; start at most {count}")
    return slice(count * rank() // world(), count * (rank() + 1) // world())


@contextmanager
def noticing_the_end_of_others() -> Iterator[None]:
    """Makes a RuntimeError of the block a ConnectionError, which says that another process has ended."""
    try:
        yield
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise ConnectionError(f"another process of this run has ended, or cannot be reached ({reason})") from error


@torch.no_grad()
def add_up(tensor: Tensor) -> Tensor:
    """Overwrites the tensor, which is contiguous, with its sum over the ranks, in its own dtype, and returns it."""
    if in_group():
        with noticing_the_end_of_others():
            dist.all_reduce(tensor)
    return tensor


@torch.no_grad()
def sum_over_ranks(tensor: Tensor) -> Tensor:
    """Returns Σ over the ranks in float64, with the same bits on all of them; without a group the tensor as it is.

    A float64 tensor is overwritten.
    """
    return add_up(tensor.double().contiguous()) if in_group() else tensor


@torch.no_grad()
def take_from_first_rank(tensors: Iterable[Tensor]) -> None:
    """Overwrites the tensors with those of rank 0."""
    if not in_group():
        return
    for tensor in tensors:
        sent = tensor.contiguous()
        with noticing_the_end_of_others():
            dist.broadcast(sent, src=0)
        tensor.copy_(sent)


@torch.no_grad()
def rows_of_all_ranks(own: Tensor, count: int) -> Tensor:
    """Returns (count, …) on every rank, from the rows of each that `own_rows` gave it."""
    whole = own.new_zeros(count, *own.shape[1:])
    whole[own_rows(count)] = own
    return add_up(whole)  # to zeros alone


@torch.no_grad()
def sum_gradients(parameters: Iterable[Tensor], beside: Tensor | None = None) -> Tensor:
    """Gives every parameter the sum of its gradients on all ranks; one without any keeps none.

    The sum is in the gradients' own dtype: they were rounded to it before, and are much to send. Returns the sum over
    the ranks of some numbers (n,) `beside` them (none without) in float64, which float32 would round from 2²⁴ on.
    """
    parameters = list(parameters)
    own = torch.zeros(0, dtype=torch.float64) if beside is None else beside.double()
    if not in_group() or not parameters:
        return own
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    known = gradients[0].new_tensor([p.grad is not None for p in parameters])
    along, apart = own.split([len(own), 0] if known.dtype == own.dtype else [0, len(own)])
    total = add_up(torch.cat([part.flatten() for part in (along.to(known), known, *gradients)]))
    numbers, holders, *sums = total.split([len(along), len(parameters), *(p.numel() for p in parameters)])
    for parameter, summed, some in zip(parameters, sums, holders.tolist(), strict=True):
        parameter.grad = summed.view_as(parameter).to(parameter.dtype) if some else None
    return add_up(apart.clone()) if len(apart) else numbers.to(own)


def text_of_first_rank(text: str) -> str:
    """Returns the text that rank 0 gives, on every rank."""
    return bytes_of_first_rank(text.encode()).decode()


def bytes_of_first_rank(content: bytes) -> bytes:
    """Returns the bytes that rank 0 gives, on every rank. The group has to send tensors of the CPU, as gloo does."""
    if not in_group():
        return content
    size = torch.tensor([len(content)])
    take_from_first_rank([size])
    sent = torch.zeros(int(size), dtype=torch.uint8)
    if rank() == 0:
        sent = torch.frombuffer(bytearray(content), dtype=torch.uint8) if content else sent
    take_from_first_rank([sent])
    return sent.numpy().tobytes()
