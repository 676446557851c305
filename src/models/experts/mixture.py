"""Experts as stacked weights, and how tokens reach them."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, Protocol, cast

import torch
from torch import Tensor, nn

from models.experts.routers import About, Routed
from models.sequence.ledger import Ledger

Product = Literal["auto", "sorted", "grouped"]


class Router(Protocol):
    """Is a module that chooses experts for tokens (token, width)."""

    def __call__(self, tokens: Tensor, about: About) -> Routed: ...


class Dispatch(NamedTuple):
    """Holds which choices, numbered token by token, come to the experts, one expert after the other, int64 (row,); and
    how many each of them gets, int64 (expert,)."""

    order: Tensor
    counts: Tensor

    @classmethod
    def of(cls, choice: Tensor, count: int, kept: Tensor | None = None) -> Dispatch:
        """Returns the dispatch of choices (token, K) among so many experts; kept: bool (token, K), None for all."""
        flat = choice.flatten()
        order = flat.argsort(stable=True)
        if kept is not None:
            order = order[kept.flatten()[order]]
        return cls(order, torch.bincount(flat[order], minlength=count))


class StackedExperts(nn.Module):
    """Is N feed-forward networks E_i(x) = V_i relu(U_i x + a_i) + b_i (thesis, equation 3.58), their weights stacked.

    hidden: numbers of a_i. start: "independent", or "copied" from the first; "nothing" begins with V = 0 and b = 0.
    product: "sorted" multiplies expert by expert over sorted tokens, "grouped" by one kernel, "auto" takes the latter
    where `grouped_pays`. The gradient of an expert that no token met is zero.
    """

    def __init__(
        self, count: int, width: int, hidden: int, *, start: str = "independent", product: Product = "auto"
    ) -> None:
        super().__init__()
        self.count, self.product = count, product
        self.enter = nn.Parameter(stacked(count, width, hidden, copied=start == "copied"))
        self.enter_bias = nn.Parameter(torch.zeros(count, hidden))
        leaving = stacked(count, hidden, width, copied=start == "copied")
        self.leave = nn.Parameter(torch.zeros_like(leaving) if start == "nothing" else leaving)
        self.leave_bias = nn.Parameter(torch.zeros(count, width))

    @property
    def size(self) -> int:
        """Returns how many parameters one expert has."""
        return sum(parameter[0].numel() for parameter in self.parameters())

    def forward(self, tokens: Tensor, routed: Routed, *, capacity: float | None = None) -> Tensor:
        """Returns Σ_k w_k E_{i_k}(x) for tokens (token, width), equations 3.59 and 3.62.

        capacity: see `kept_within`; what is not kept counts as 0.
        """
        kept = None if capacity is None else kept_within(routed, capacity, self.count)
        order, counts = Dispatch.of(routed.choice, self.count, kept)
        top = routed.choice.shape[1]
        rows = tokens.index_select(0, order if top == 1 else order // top)
        grouped = self.product == "grouped" or (self.product == "auto" and grouped_pays(rows, self.enter))
        found = self.in_one_kernel(rows, counts) if grouped else self.one_by_one(rows, counts)
        weight = routed.weight.to(found.dtype)
        whole = found.new_zeros(len(tokens) * top, found.shape[1]).index_copy(0, order, found)
        if top == 1:
            return whole * weight
        return torch.bmm(weight.unsqueeze(1), whole.unflatten(0, (-1, top))).squeeze(1)

    def one_by_one(self, rows: Tensor, counts: Tensor) -> Tensor:
        """Returns what each row (row, width) finds, the rows being those of one expert after the other.

        The stacks are taken apart once: an index for each expert would make a gradient of the whole stack each time.
        """
        parts = zip(
            rows.split(counts.tolist()),
            *(stack.unbind(0) for stack in (self.enter, self.enter_bias, self.leave, self.leave_bias)),
            strict=True,
        )
        found = [
            torch.addmm(leave_bias, torch.addmm(enter_bias, own, enter).relu(), leave)
            for own, enter, enter_bias, leave, leave_bias in parts
            if len(own)
        ]
        return torch.cat(found) if found else rows @ self.enter[0] @ self.leave[0]

    def in_one_kernel(self, rows: Tensor, counts: Tensor) -> Tensor:
        """Returns what `one_by_one` does, by one grouped product for each of the two maps."""
        product: Any = nn.functional.grouped_mm
        dtype, ends = kernel_dtype(rows), counts.cumsum(0).to(torch.int32)
        expert = torch.arange(self.count, device=rows.device).repeat_interleave(counts, output_size=len(rows))
        inner = product(rows.to(dtype), self.enter.to(dtype), offs=ends) + self.enter_bias.to(dtype)[expert]
        return product(inner.relu(), self.leave.to(dtype), offs=ends) + self.leave_bias.to(dtype)[expert]


def stacked(count: int, inputs: int, outputs: int, *, copied: bool) -> Tensor:
    """Returns weights (expert, input, output), uniform as Glorot and Bengio (2010) draw them for one expert."""
    bound = math.sqrt(6 / (inputs + outputs))
    drawn = (2 * torch.rand(count, inputs, outputs) - 1) * bound
    return drawn[:1].repeat(count, 1, 1) if copied else drawn


def kernel_dtype(rows: Tensor) -> torch.dtype:
    """Returns the dtype that products have: that of autocast on a GPU, else that of the rows."""
    autocast = rows.is_cuda and torch.is_autocast_enabled("cuda")
    return torch.get_autocast_dtype("cuda") if autocast else rows.dtype


def grouped_pays(rows: Tensor, stack: Tensor) -> bool:
    """Returns whether `torch.nn.functional.grouped_mm` is there and has a kernel for this: bfloat16 on a GPU of compute
    capability 9.0 or more, with widths that are multiples of 8. On a CPU one expert after the other is faster."""
    if not rows.is_cuda or kernel_dtype(rows) != torch.bfloat16 or not hasattr(nn.functional, "grouped_mm"):
        return False
    aligned = all(size % 8 == 0 for size in stack.shape[1:])
    return aligned and torch.cuda.get_device_capability(rows.device) >= (9, 0)


def kept_within(routed: Routed, capacity: float, count: int) -> Tensor:
    """Returns which choices are kept, bool (token, K): of each expert the ceil(c·n·K/N) with the largest weight, of
    equals the first."""
    flat, weight = routed.choice.flatten(), routed.weight.detach().flatten()
    most = math.ceil(capacity * len(flat) / count)
    order = weight.argsort(descending=True, stable=True)
    order = order[flat[order].argsort(stable=True)]
    counts = torch.bincount(flat, minlength=count)
    rank = torch.arange(len(flat), device=flat.device) - (counts.cumsum(0) - counts).repeat_interleave(counts)
    kept = torch.zeros(len(flat), dtype=torch.bool, device=flat.device)
    kept[order] = rank < most
    return kept.view_as(routed.choice)


class Mixture(nn.Module):
    """Is the feed-forward part of a layer: a router, and the experts that it chooses from.

    The ledger gets "balance", where the router learns, and "counts", int64 (task, expert): how often each expert was
    chosen. capacity: see `kept_within`, while training alone, as it makes a token depend on others.
    """

    def __init__(self, router: nn.Module, experts: StackedExperts, *, capacity: float | None = None) -> None:
        super().__init__()
        self.router, self.experts, self.capacity = router, experts, capacity

    def forward(self, tokens: Tensor, about: About, ledger: Ledger) -> Tensor:
        """Returns (token, width). Raises ValueError for gates that are not finite."""
        routed = routed_by(self.router, tokens, about, ledger, self.experts.count)
        return self.experts(tokens, routed, capacity=self.capacity if self.training else None)


def routed_by(router: nn.Module, tokens: Tensor, about: About, ledger: Ledger, count: int) -> Routed:
    """Returns what a router chooses, and notes it. Raises ValueError for gates that are not finite."""
    routed = cast(Router, router)(tokens, about)
    if routed.gates is not None and not bool(routed.gates.isfinite().all()):
        raise ValueError(
            f"the gates of {ledger.place} are not finite; lower the learning rate, or look for extreme weights"
        )
    if (balance := routed.balance) is not None:
        ledger.note("balance", balance)
    ledger.note("counts", counts_of(about.token_task, routed.choice, about.tasks, count))
    return routed


def counts_of(task: Tensor, choice: Tensor, tasks: int, count: int) -> Tensor:
    """Returns how often each expert was chosen for each task, int64 (task, expert). task (token,); choice (token,
    K)."""
    pairs = task.unsqueeze(1) * count + choice
    return torch.bincount(pairs.flatten(), minlength=tasks * count).view(tasks, count)
