"""How much memory there is, so that what can never fit is refused before it is begun."""

from __future__ import annotations

import os
from pathlib import Path

import torch

LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container: v2, v1


def limit_in(path: Path) -> int | None:
    """Returns the bytes that a control group may take; None where the file sets no limit or is not there."""
    try:
        text = path.read_text(encoding="ascii").strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def machine_memory() -> int | None:
    """Returns the bytes of main memory, or of the container where it has fewer; None where the system tells none."""
    names: dict[str, int] = getattr(os, "sysconf_names", {})
    limits = [limit for path in LIMITS if (limit := limit_in(Path(path))) is not None]
    if {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= set(names):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min((limit for limit in limits if limit > 0), default=None)


def memory_of(device: str) -> int | None:
    """Returns the bytes of what `device` names (auto, cpu or cuda): of the largest GPU, else of the machine."""
    if device == "cpu" or not torch.cuda.is_available():
        return machine_memory()
    return max(torch.cuda.get_device_properties(i).total_memory for i in range(torch.cuda.device_count()))
