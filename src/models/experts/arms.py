"""The arms: where a layer's experts come from, which adapter follows it, and what neither may be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from models.runtime.parameters import one_of

DENSE = ("dense", "dense_wide", "dense_total")
LEARNED = ("token", "sentence")
ROUTERS = (*DENSE, *LEARNED, "hash", "random", "task")
ADAPTERS = ("none", "static", "dynamic", "shared")
EMBEDDING = 64  # numbers of a task's embedding e_τ

Start = Literal["independent", "copied"]


@dataclass(frozen=True)
class Mixing:
    """Says what the feed-forward part of a layer is.

    router: "dense" is one FFN, "dense_wide" one with `top` times the hidden numbers (those that a token of a mixture
    meets), "dense_total" one with `count` times as many (those of all experts). The others are mixtures of `count`
    experts of which each token meets `top`: chosen by "token", by "sentence", by "hash" of the token, at "random", or
    by "task", which has one. every: mixtures are in every so many-th layer, the others are dense. capacity: while
    training an expert takes at most c·n·K/N of n tokens, those with the largest weight; None for all of them. start:
    experts begin "independent" of each other or "copied" from the first. Raises ValueError for what cannot be.
    """

    router: str = "token"
    count: int = 8
    top: int = 2
    every: int = 1
    capacity: float | None = None
    start: Start = "independent"

    def __post_init__(self) -> None:
        one_of("router", self.router, ROUTERS)
        one_of("start", self.start, ("independent", "copied"))
        if not 1 <= self.top <= self.count:
            raise ValueError(f"top must be 1 to count, got {self.top} of {self.count} experts")
        if self.every < 1:
            raise ValueError(f"every must be at least 1, got {self.every}")
        if self.capacity is not None and (not self.capacity > 0 or self.count == 1):
            raise ValueError(f"capacity must be above 0, with several experts; got {self.capacity} of {self.count}")

    @property
    def met(self) -> int:
        """Returns how many experts a token meets in a mixture."""
        return 1 if self.router == "task" else self.top

    def check_layers(self, layers: int) -> None:
        """Raises ValueError where none of so many layers has a mixture, though the router asks for some."""
        if self.router not in DENSE and self.every > layers:
            raise ValueError(f"every must be at most layers, got {self.every} of {layers}: no layer would have experts")

    def mixture_at(self, layer: int) -> bool:
        """Returns whether a layer, from 0, has a mixture."""
        return self.router not in DENSE and layer % self.every == self.every - 1

    def hidden(self, hidden: int) -> int:
        """Returns the hidden numbers of a dense feed-forward part, for those of one expert."""
        return hidden * {"dense_wide": self.top, "dense_total": self.count}.get(self.router, 1)


@dataclass(frozen=True)
class Adapting:
    """Says which adapter follows every layer, h + D relu(C LN(h)), with so many `hidden` numbers.

    kind: "none"; "static", one for each task; "dynamic", `count` that are chosen for each token by the token and the
    task's embedding, thesis 3.63 and 3.64; "shared", as dynamic, and the experts' gate reads the same embedding. count:
    max(2, round(log₂ tasks)) if None. Raises ValueError for what cannot be.
    """

    kind: str = "none"
    hidden: int = 64
    count: int | None = None

    def __post_init__(self) -> None:
        one_of("adapter", self.kind, ADAPTERS)
        if self.hidden < 1:
            raise ValueError(f"hidden numbers of an adapter must be at least 1, got {self.hidden}")

    def adapters(self, tasks: int) -> int:
        """Returns how many adapters a layer has. Raises ValueError for more dynamic ones than tasks, for less than two,
        and for dynamic ones with fewer than three tasks."""
        if not self.learned:
            return tasks if self.kind == "static" else 0
        count = max(2, round(math.log2(max(1, tasks)))) if self.count is None else self.count
        if tasks < 3 or not 2 <= count <= tasks:
            raise ValueError(
                f"adapter {self.kind} needs at least 3 tasks and 2 to that many adapters, got {tasks} and {count}; "
                "take static"
            )
        return count

    @property
    def learned(self) -> bool:
        """Returns whether a gate chooses the adapter."""
        return self.kind in ("dynamic", "shared")


def parts_of(arm: str) -> tuple[str, str]:
    """Returns router and adapter of an arm, as "token+shared" or "dense". Raises ValueError for words not known."""
    router, _, adapter = arm.partition("+")
    if router not in ROUTERS or (adapter or "none") not in ADAPTERS:
        raise ValueError(
            f"an arm is ROUTER or ROUTER+ADAPTER, as token+static, and {arm!r} is none; ROUTER is one of "
            f"{', '.join(ROUTERS)}; ADAPTER is one of {', '.join(ADAPTERS[1:])}"
        )
    if adapter == "shared" and router not in LEARNED:
        raise ValueError(f"adapter shared needs a router with a gate, {' or '.join(LEARNED)}, got {router}")
    return router, adapter or "none"
