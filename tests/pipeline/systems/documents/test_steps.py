"""How many updates a network is fine-tuned for: all batches of all epochs; and what evaluations share."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from data.documents.generator import SyntheticDocuments
from models.documents.chunks import Reading
from models.documents.network import Architecture, DocumentNetwork
from models.documents.objective import Prepared
from models.runtime.seeding import generator
from models.sequence.patterns import Full
from models.sequence.vocabulary import Vocabulary
from pipeline.host.errors import PipelineError
from pipeline.systems.documents import fitting
from pipeline.systems.documents.config import DocumentsConfig
from pipeline.systems.documents.load import Piece
from pipeline.systems.documents.scores import guessing_loss


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


def guessing(monkeypatch: pytest.MonkeyPatch, masking: str, share: float) -> tuple[Callable[[], Any], list[str]]:
    """What measures a network that guesses, and the documents whose tokens were read for it."""
    given, read = list[Any](), list[str]()
    monkeypatch.setattr(fitting, "fitted", lambda *own: given.extend(own))
    data = SyntheticDocuments(train=1, validation=2, test=1, words=60, questions=3, values=2).load()
    vocabulary = Vocabulary.train([" ".join(own.words) for own in data.parts["train"]], pieces=280)
    reading = Reading(vocabulary, (Full(),), 1, 400, 0)
    parts = {part: [Piece(place, chunk) for place, own in enumerate(documents) for chunk in reading.chunks(own)]
             for part, documents in data.parts.items()}  # fmt: skip
    own = {"steps": 4, "learning_rate": 0.01, "max_tokens": 400, "masking": masking, "warmup": 2, "share": share}
    pretrain = SimpleNamespace(**own, weight_decay=0.0, evaluate_every=2)
    settings: Any = SimpleNamespace(seed=0, pretrain=pretrain)
    loaded: Any = SimpleNamespace(guessed_data=data, guessed=parts, reading=reading)
    architecture = Architecture(vocabulary.size, 8, 2, 12, layers=1, longest=400, dropout=0.0, outputs=0)
    tokens = Reading.tokens
    monkeypatch.setattr(Reading, "tokens", lambda own, document: read.append(document.name) or tokens(own, document))
    fitting.learn_to_guess(settings, loaded, DocumentNetwork(architecture, seed=0), SimpleNamespace())  # pyright: ignore[reportArgumentType]
    return given[5], read


def test_what_is_hidden_of_validation_documents_is_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate, read = guessing(monkeypatch, "static", 0.3)
    found = evaluate()
    assert found == evaluate()
    assert set(found) == {"validation_loss", "validation_accuracy"}
    assert read == ["validation-0", "validation-1"]


def test_documents_too_short_to_hide_a_token_of_are_refused() -> None:
    rows = pd.DataFrame({"document": ["a", "b"], "words": [1, 1], "tokens": [0.0, 0.0], "nats": [0.0, 0.0]})
    with pytest.raises(PipelineError, match=r"^no token of 2 documents, a first, is hidden, .*; give longer documents"):
        guessing_loss(rows)


def test_weights_of_another_number_of_threads_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are rounded otherwise, and the same command gives the same bits with the same number of threads."""
    vocabulary = SimpleNamespace(to_json=lambda: "")
    reading, data = SimpleNamespace(vocabulary=vocabulary), SimpleNamespace(checksum="a")
    loaded: Any = SimpleNamespace(guessed_data=data, reading=reading, device=torch.device("cpu"))
    marks = list[str]()
    for threads in (1, 2, 1):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        marks.append(fitting.mark_of(DocumentsConfig(), loaded))
    assert marks[0] == marks[2] != marks[1]


def test_networks_are_scored_by_the_same_tokens_whatever_training_hides(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = [guessing(monkeypatch, *own)[0]() for own in (("static", 0.15), ("dynamic", 0.6), ("whole_word", 0.15))]
    assert losses[0] == losses[1] == losses[2]
