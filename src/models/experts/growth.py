"""More tasks for a network that has learned some, and what of it learns them."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import nn

from models.experts.network import TranslationNetwork


@torch.no_grad()
def grown(model: TranslationNetwork, tasks: int, *, seed: int, like: int | None = None) -> TranslationNetwork:
    """Returns a copy with so many more tasks; what it does for the old ones is the same to the bit.

    A new static adapter changes nothing before it learns. A new task's embedding is that of task `like`, the mean of
    all if None. Dynamic adapters stay as many as they were.
    """
    own = model.architecture
    adapting = replace(own.adapting, count=own.adapting.adapters(own.tasks) if own.adapting.learned else None)
    made = TranslationNetwork(replace(own, tasks=own.tasks + tasks, adapting=adapting), seed=seed).to(model.embedding)
    before = model.state_dict()
    for name, parameter in made.state_dict().items():
        old = before[name]
        parameter[: len(old)] = old
        if name == "table":
            parameter[len(old) :] = old.mean(0) if like is None else old[like]
    return made.train(model.training)


def parameters_to_adapt(model: TranslationNetwork, what: str) -> list[nn.Parameter]:
    """Returns the parameters that learn a new task: "all"; "adapters", those of all adapters; "tasks", the embeddings
    of tasks; "tasks+gates", with the gates that read them. Raises ValueError for another word, and where there are
    none.

    A gradient of the new task alone is zero for adapters and embeddings of other tasks.
    """
    gates = [part for name, part in model.named_parameters() if ".router." in name]
    adapters = [part for name, part in model.named_parameters() if "_adapters." in name and ".experts." in name]
    table = [] if model.table is None else [model.table]
    groups = {
        "all": list(model.parameters()),
        "adapters": adapters,
        "tasks": table,
        "tasks+gates": table and [*table, *gates],
    }
    if what not in groups:
        raise ValueError(f"what adapts must be one of {', '.join(groups)}, got {what!r}")
    if not groups[what]:
        raise ValueError(f"adapter {model.architecture.adapting.kind} has no {what} to adapt; take all")
    return groups[what]
