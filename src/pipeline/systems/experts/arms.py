"""What the settings make of an arm: its mixtures, its adapters, and the settings that change nothing in it."""

from __future__ import annotations

from typing import Any

from models.experts.arms import LEARNED, Adapting, Mixing
from models.experts.arms import parts_of as models_parts_of
from models.experts.network import Architecture
from pipeline.systems.experts.config import ExpertsConfig

MIXTURE = ("count", "top", "every", "start", "capacity", "balance")
TAKEN = {
    "dense": (),
    "dense_wide": ("top",),
    "dense_total": ("count",),
    "task": ("count", "every", "start", "capacity"),
}
TAGGED = "+tag"  # ends an arm whose sources say both languages
OF_ADAPTERS = {"none": (), "static": ("hidden",)}


def parts_of(arm: str) -> tuple[str, str]:
    """Returns router and adapter of an arm. Raises ValueError for words not known."""
    return models_parts_of(arm.removesuffix(TAGGED))


def tag_of(settings: ExpertsConfig) -> str:
    """Returns what stands in front of a source: `task` of an arm that ends with "+tag", else as `experts.tag` says."""
    return "task" if settings.experts.arm.endswith(TAGGED) else settings.experts.tag


def mixing_of(settings: ExpertsConfig) -> Mixing:
    """Returns the feed-forward parts of an arm. Raises ValueError for what cannot be."""
    own: Any = settings.experts  # its words were checked
    router, _ = parts_of(own.arm)
    return Mixing(router, own.count, own.top, own.every, own.capacity, own.start)


def adapting_of(settings: ExpertsConfig) -> Adapting:
    """Returns the adapters of an arm. Raises ValueError for what cannot be."""
    _, kind = parts_of(settings.experts.arm)
    return Adapting(kind, settings.adapter.hidden, settings.adapter.count if kind in ("dynamic", "shared") else None)


def architecture_of(settings: ExpertsConfig, *, pieces: int, tasks: int) -> Architecture:
    """Returns the network of an arm for so many numbers of a vocabulary and tasks. Raises ValueError for what cannot
    be."""
    own = settings.translator
    return Architecture(
        pieces, tasks, own.width, own.heads, own.hidden, own.layers, own.dropout, mixing_of(settings),
        adapting_of(settings),
    )  # fmt: skip


def idle(arm: str) -> tuple[str, ...]:
    """Returns the settings, by dotted keys, that change nothing in an arm: jobs that differ in them alone are one."""
    router, adapter = parts_of(arm)
    taken = TAKEN.get(router, MIXTURE if router in LEARNED else MIXTURE[:-1])
    if adapter in ("dynamic", "shared"):
        taken = (*taken, "balance")
    unread = [f"experts.{name}" for name in MIXTURE if name not in taken]
    unread += [f"adapter.{name}" for name in ("count", "hidden") if name not in OF_ADAPTERS.get(adapter, (name,))]
    return (*unread, "experts.tag") if arm.endswith(TAGGED) else tuple(unread)
