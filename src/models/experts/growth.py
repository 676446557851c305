"""More tasks for a network that has learned some, and what of it learns them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from models.experts.network import TranslationNetwork
from models.experts.objective import EncodedPairs, measure
from models.experts.tags import Languages, tag_names, tags_of
from models.numerics.evenly_spaced import evenly_spaced
from models.sequence.vocabulary import Vocabulary

MOST_MEASURED = 500  # pairs of a new task under each candidate


@torch.no_grad()
def grown(model: TranslationNetwork, tasks: int, *, seed: int) -> TranslationNetwork:
    """Returns a copy with so many more tasks; what it does for the old ones is the same to the bit, until
    `begin_tags`.

    A new static adapter changes nothing, and a new task's embedding is the mean of all, until they `begin_as_nearest`.
    Dynamic adapters stay as many as they were.
    """
    own = model.architecture
    adapting = replace(own.adapting, count=own.adapting.adapters(own.tasks) if own.adapting.learned else None)
    made = TranslationNetwork(replace(own, tasks=own.tasks + tasks, adapting=adapting), seed=seed).to(model.embedding)
    before = model.state_dict()
    for name, parameter in made.state_dict().items():
        old = before[name]
        parameter[: len(old)] = old
        if name == "table":
            parameter[len(old) :] = old.mean(0)
    return made.train(model.training)


@torch.no_grad()
def begin_as_nearest(model: TranslationNetwork, pairs: EncodedPairs, old: int) -> dict[int, int]:
    """Gives each new task, from the number `old` on, what is a task's own of that candidate under which its pairs have
    the least nats; returns which that is, by their numbers. Of more than `MOST_MEASURED` pairs of a task that many are
    measured, spread evenly over all.

    Own is the embedding, or the static adapters. Candidates are the old tasks, and with static adapters the new task
    itself, which has D = 0; so it begins no worse on these than without an adapter. What is of old tasks stays the
    same to the bit. A network without either stays as it is, and nothing is returned.
    """
    owned = of_tasks(model)
    nearest = dict[int, int]()
    for task in range(old, model.architecture.tasks if owned else old):
        own = pairs.take(evenly_spaced((pairs.task == task).nonzero().squeeze(1), MOST_MEASURED))
        candidates = [*range(old), *([task] if model.table is None else [])]
        kept = {candidate: [part[candidate].clone() for part in owned] for candidate in candidates}
        nats = dict[int, float]()
        for candidate in candidates:
            give(owned, task, kept[candidate])
            nats[candidate] = measure(model, own).mean
        nearest[task] = min(candidates, key=nats.__getitem__)
        give(owned, task, kept[nearest[task]])
    return nearest


def of_tasks(model: TranslationNetwork) -> Sequence[Tensor]:
    """Returns the parameters with a row for each task, (task, …): the embeddings, or those of static adapters."""
    if model.table is not None:
        return [model.table]
    return adapters_of(model) if model.architecture.adapting.kind == "static" else []


def adapters_of(model: TranslationNetwork) -> list[nn.Parameter]:
    """Returns the parameters of all adapters, (adapter, …) each."""
    return [part for name, part in model.named_parameters() if "_adapters." in name and ".experts." in name]


def give(owned: Sequence[Tensor], task: int, values: Sequence[Tensor]) -> None:
    """Writes the values into the row of a task."""
    for part, value in zip(owned, values, strict=True):
        part[task] = value


@torch.no_grad()
def begin_tags(
    model: TranslationNetwork, vocabulary: Vocabulary, known: Sequence[Languages], new: Sequence[Languages], tag: str
) -> None:
    """Gives each tag that stands in front of sentences of new tasks alone the mean of the known tags of its kind: those
    that name a target, or those that name a source.

    Embeddings of tags are rows of the softmax too, though tags are never written. So log p of known tasks changes a
    little with each tag that is given here.
    """
    before, numbers = tag_names(known), {number for task in new for number in tags_of(vocabulary, task, tag)}
    for name in tag_names(new):
        if name not in before and vocabulary.tag(name) in numbers:
            kind = [vocabulary.tag(own) for own in before if own.startswith("2") == name.startswith("2")]
            model.embedding[vocabulary.tag(name)] = model.embedding[torch.tensor(kind)].mean(0)


def parameters_to_adapt(model: TranslationNetwork, what: str) -> list[nn.Parameter]:
    """Returns the parameters that learn a new task: "all"; "adapters", those of static adapters; "tasks", the
    embeddings of tasks; "tasks+gates", with the gates that read them. Raises ValueError for another word, and where
    there are none.

    A gradient of the new task alone is zero for static adapters and embeddings of other tasks. Adapters that a gate
    chooses are of all tasks, so they are not offered by themselves.
    """
    gates = [part for name, part in model.named_parameters() if ".router." in name]
    adapters = adapters_of(model)
    kind = model.architecture.adapting.kind
    table = [] if model.table is None else [model.table]
    groups = {
        "all": list(model.parameters()),
        "adapters": adapters if kind == "static" else [],
        "tasks": table,
        "tasks+gates": table and [*table, *gates],
    }
    if what not in groups:
        raise ValueError(f"what adapts must be one of {', '.join(groups)}, got {what!r}")
    if not groups[what]:
        instead = "tasks, tasks+gates or all" if table else "all"
        raise ValueError(f"adapter {kind} has no {what} to adapt; take {instead}")
    return groups[what]


def own_part(model: TranslationNetwork) -> str:
    """Returns the part of a network that is a new task's own, as `parameters_to_adapt` takes it: "tasks" where a gate
    chooses adapters, else "adapters"."""
    return "tasks" if model.architecture.adapting.learned else "adapters"
