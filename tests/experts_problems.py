"""Small translators and pairs for the tests of experts."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from models.experts.arms import Adapting, Mixing, parts_of
from models.experts.network import Architecture, Sentences, TranslationNetwork
from models.experts.objective import EncodedPairs, Sampling, TranslationObjective
from models.experts.routers import About
from models.runtime.objective import descend
from models.sequence.ledger import Ledger
from models.sequence.packing import Places
from models.sequence.tokens import TokenLists

VOCABULARY, TASKS, WIDTH = 23, 4, 8
ARMS = (
    "dense", "dense_wide", "dense_total", "token", "sentence", "hash", "random", "task", "token+static",
    "token+dynamic", "token+shared", "sentence+shared", "dense+static", "dense+dynamic", "sentence+static",
    "sentence+dynamic", "hash+static", "hash+dynamic", "random+static", "random+dynamic",
    "task+static", "task+dynamic",
)  # fmt: skip


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def filled(module: Any, scale: float = 0.5) -> Any:
    """In double precision, with weights large enough for all terms to matter; layer norms as well."""
    module.double()
    with torch.no_grad():
        for place, parameter in enumerate(module.parameters()):
            parameter.copy_(scale * normal(*parameter.shape, seed=100 + place))
    return module


def architecture(arm: str, **changed: Any) -> Architecture:
    router, adapter = parts_of(arm)
    mixing = Mixing(router, count=4, top=2, **changed.pop("mixing", {}))
    own: dict[str, Any] = {
        "vocabulary": VOCABULARY,
        "tasks": TASKS,
        "width": WIDTH,
        "heads": 2,
        "hidden": 6,
        "layers": 2,
    }
    return Architecture(**{**own, "dropout": 0.0, **changed}, mixing=mixing, adapting=Adapting(adapter, hidden=5))


def network(arm: str, **changed: Any) -> TranslationNetwork:
    return filled(TranslationNetwork(architecture(arm, **changed), seed=0)).eval()


def lists(lengths: tuple[int, ...], seed: int) -> TokenLists:
    generator = torch.Generator().manual_seed(seed)
    return TokenLists.of(
        [[*torch.randint(6, VOCABULARY, (length - 1,), generator=generator).tolist(), 2] for length in lengths]
    )


def pairs(source: tuple[int, ...] = (3, 6, 2, 5), target: tuple[int, ...] = (4, 3, 5, 2)) -> EncodedPairs:
    return EncodedPairs(lists(source, 0), lists(target, 1), torch.arange(len(source)) % TASKS)


def about_of(task: list[int], lengths: list[int], table: Tensor | None = None) -> About:
    """What is known about tokens of sentences of these tasks, with numbers drawn."""
    places = Places.of(torch.tensor(lengths))
    ids = torch.randint(VOCABULARY, (sum(lengths),), generator=torch.Generator().manual_seed(5))
    return About(ids, places.step, places.sequence, torch.tensor(task), places, None, table, TASKS)


def taught(*, balance: float) -> dict[str, Any]:
    """The first mean loss, and the weights after six updates, of a translator whose batches all processes share."""
    model = network("token+dynamic").train()
    made = unevenly_shared(model, balance=balance)
    optimizer = torch.optim.SGD(made.parameters(), lr=0.1)
    losses = descend(made, optimizer, generator=torch.Generator().manual_seed(0))
    return {"loss": losses[0].mean, **model.state_dict()}


def unevenly_shared(model: TranslationNetwork, *, balance: float) -> TranslationObjective:
    """Over pairs in batches of some five, of which two processes have unlike parts."""
    own = pairs((3, 6, 2, 5, 4) * 3, (4, 3, 5, 2, 6) * 3)
    return TranslationObjective(model, own, sampling=Sampling(tokens=30, updates=6), balance=balance)


def hidden_of(model: TranslationNetwork, source: Sentences, target: Sentences, task: Tensor) -> Tensor:
    ledger = Ledger()
    return model.decode(model.encode(source, task, ledger), target, ledger)
