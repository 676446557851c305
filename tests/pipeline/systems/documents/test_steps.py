"""How many updates a network is fine-tuned for: all batches of all epochs, however they are drawn."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from models.documents.objective import Prepared
from models.runtime.seeding import generator
from pipeline.systems.documents import fitting


def drawn(lengths: list[int], epochs: int, monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], int]:
    """The batches of each epoch, as the loop draws them, and the updates after which it ends."""
    given = list[Any]()
    monkeypatch.setattr(fitting, "fitted", lambda *own: given.extend(own))
    own = {"epochs": epochs, "learning_rate": 0.01, "max_tokens": 100, "class_weight": 0.5, "warmup": 2, "patience": 8}
    finetune = SimpleNamespace(**own, weight_decay=0.0)
    settings: Any = SimpleNamespace(seed=0, documents=SimpleNamespace(task="classes"), finetune=finetune)
    documents: Any = [Prepared(SimpleNamespace(ids=range(n)), (), torch.tensor([0])) for n in lengths]  # pyright: ignore[reportArgumentType]
    pieces = [SimpleNamespace(chunk=SimpleNamespace(document=document)) for document in documents]
    network: Any = SimpleNamespace(architecture=SimpleNamespace(outputs=2))
    loaded: Any = SimpleNamespace(parts={"train": pieces})
    fitting.finetune(settings, loaded, network, SimpleNamespace())  # pyright: ignore[reportArgumentType]
    draws = generator(settings.seed, "documents/finetune")
    return [len(list(given[1].batches(draws))) for _ in range(epochs)], given[2].steps


def test_the_last_epoch_is_whole_where_epochs_have_unlike_numbers_of_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = np.random.default_rng(0).integers(20, 90, 40).tolist()
    counts, steps = drawn(lengths, 8, monkeypatch)
    assert len(set(counts)) > 1
    assert steps == sum(counts) + 1
