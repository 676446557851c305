"""Losses of networks that read documents: sums with weights, whatever the batches, and cues that can be learned."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
import torch

from data.documents.generator import SyntheticDocuments
from data.pages import OUTSIDE, Document
from models.documents.network import Architecture, DocumentNetwork
from models.documents.objective import (
    DocumentObjective,
    GuessingObjective,
    Prepared,
    ReadingObjective,
    class_weights,
    drawn_batches,
)
from models.documents.tokens import NO_BOX, PageTokens, in_thousandths, layout_of
from models.documents.training import mean_loss
from models.documents.words import centres_of
from models.runtime.objective import descend
from models.sequence.masking import Masking
from models.sequence.orders import page_order
from models.sequence.paired import DistanceKeysWindowValues, paired_plan
from models.sequence.patterns import DistanceWindow, Pattern, SlidingWindow, keys_of
from models.sequence.plans import plan

MASKING = Masking(mask=3, first=4, vocabulary=60, share=0.3)


def prepared(document: Document, pattern: Pattern | None, known: dict[str, int]) -> Prepared:
    """A document with a number for each word; without a pattern weights come from the page and values from the text."""
    boxes = in_thousandths(document.boxes, np.tile([600, 800], (len(document.words), 1)))
    ids = np.array([1, *(known.setdefault(word, 4 + len(known) % 56) for word in document.words)])
    parts = (
        ids, np.arange(len(ids)) - 1, np.arange(len(ids)), np.concatenate([np.full((1, 4), NO_BOX), boxes]),
        np.concatenate([[0], document.pages.astype(np.int64)]), np.array([len(ids)]),
    )  # fmt: skip
    tokens = PageTokens(*map(torch.from_numpy, parts))
    place, chance = layout_of(tokens, centres_of(document)), np.random.default_rng(0)
    order = page_order(place.centres, leaf=64)
    if pattern is None:
        plans: Any = (paired_plan(DistanceKeysWindowValues(8).pairs(place, chance), order),)
    else:
        plans = (plan(keys_of(pattern, place, chance), order),)
    targets = [0 if tag == OUTSIDE else 1 + int(tag[2:]) for tag in document.tags]
    return Prepared(tokens, plans, torch.tensor(targets))


def documents(count: int, pattern: Pattern | None = DistanceWindow(8, 8), **changed: Any) -> list[Prepared]:  # noqa: B008
    asked: dict[str, Any] = {"words": 40, "questions": 5, "values": 3, **changed}
    found = SyntheticDocuments(train=count, validation=1, test=1, **asked)
    known: dict[str, int] = {}
    return [prepared(document, pattern, known) for document in found.load().parts["train"]]


def network(**changed: Any) -> DocumentNetwork:
    small = {"width": 16, "heads": 2, "hidden": 24, "layers": 2, "longest": 200, "dropout": 0.0, "outputs": 4}
    return DocumentNetwork(Architecture(60, **small | changed), seed=0).double()


def objective_of(made: DocumentNetwork, given: list[Prepared], *, tokens: int, guessing: bool) -> Any:
    if guessing:
        return GuessingObjective(made, given, tokens=tokens, masking=MASKING)
    return ReadingObjective(made, given, tokens=tokens, head="tags", power=0.5)


@pytest.mark.parametrize("pattern", [DistanceWindow(8, 8), None], ids=["plan", "pairs"])
@pytest.mark.parametrize("guessing", [False, True])
def test_a_batch_is_the_sum_of_its_documents(guessing: bool, pattern: Pattern | None) -> None:
    made, given = network(), documents(4, pattern)
    objective = objective_of(made, given, tokens=200, guessing=guessing)
    (batch,) = objective.batches(torch.Generator().manual_seed(0))
    whole = objective.loss(batch)
    if guessing:
        each = [objective.loss(type(batch)([row], [hidden])) for row, hidden in zip(*batch, strict=True)]
    else:
        each = [objective.loss([row]) for row in batch]
    torch.testing.assert_close(whole.total, torch.stack([own.total for own in each]).sum(), rtol=1e-10, atol=1e-10)
    assert float(whole.weight) == sum(float(own.weight) for own in each)


def test_what_is_not_hidden_is_not_asked_for() -> None:
    made, given = network(), documents(2)
    objective = GuessingObjective(made, given, tokens=200, masking=MASKING)
    (batch,) = objective.batches(torch.Generator().manual_seed(0))
    before = objective.loss(batch)
    for row, hidden in zip(*batch, strict=True):
        given[row].tokens.ids[~hidden.guessed] = 7  # what the network sees stays as it is
    torch.testing.assert_close(objective.loss(batch).total, before.total)
    assert (
        not GuessingObjective(made, given, tokens=200, masking=MASKING._replace(share=0.0))
        .loss(batch._replace(hidden=[each._replace(guessed=torch.zeros_like(each.guessed)) for each in batch.hidden]))
        .weight
    )


def test_weights_of_classes_by_hand() -> None:
    targets = torch.tensor([0, 0, 0, 1])
    assert class_weights(targets, 3, 0.0).tolist() == [1.0, 1.0, 0.0]
    raw = torch.tensor([4 / (3 * 3), 4 / (3 * 1)]).double()
    torch.testing.assert_close(class_weights(targets, 3, 1.0)[:2], raw * 4 / (3 * raw[0] + raw[1]))
    assert float(class_weights(targets, 3, 0.5)[targets].mean()) == pytest.approx(1.0)


def test_a_document_of_several_chunks_counts_as_one_class() -> None:
    """Its eight chunks counted eight times, in the loss and in the weights of classes."""
    made, (one, other) = network(), documents(2)
    whole = one._replace(targets=torch.tensor([1]))
    chunks = [other._replace(targets=torch.tensor([2]), weight=1 / 8)] * 8
    twice = [whole, other._replace(targets=torch.tensor([2]))]
    cut, uncut = (
        ReadingObjective(made, own, tokens=400, head="classes", power=1.0) for own in ([whole, *chunks], twice)
    )
    torch.testing.assert_close(cut.weights, uncut.weights)
    losses = cut.loss(list(range(9))), uncut.loss([0, 1])
    torch.testing.assert_close(losses[0].total, losses[1].total)
    assert losses[0].weight == pytest.approx(2)
    assert losses[1].weight == 2
    torch.testing.assert_close(mean_loss(cut), mean_loss(uncut))


def test_chunks_keep_their_weights_in_steps_of_one_chunk() -> None:
    """The weight of a chunk was divided by itself where a batch held it alone, so that long documents counted more."""
    made, (one, other, third) = network(), documents(3)
    given = [one._replace(targets=torch.tensor([1])), *[own._replace(targets=torch.tensor([2]), weight=1 / 3)
             for own in (one, other, third)]]  # fmt: skip
    objective = ReadingObjective(made, given, tokens=400, head="classes", power=0.5)
    with torch.no_grad():
        steps = [float(objective.loss([row]).mean) for row in range(4)]
        assert float(objective.loss([0, 1, 2, 3]).mean) == pytest.approx(sum(steps) / 4)
    assert mean_loss(objective) == pytest.approx(sum(steps) / 4)


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_a_network_that_sees_nothing_learns_the_shares_of_the_tags_whatever_their_weights(power: float) -> None:
    made, given = network(outputs=5), documents(4)
    objective = ReadingObjective(made, given, tokens=200, head="tags", power=power)
    counts = torch.bincount(torch.cat([own.targets for own in given]), minlength=5)
    assert counts[:4].min() > 0
    assert len(set(counts[:4].tolist())) > 1
    assert counts[4] == 0  # a tag that never occurs
    log_p = torch.zeros(5, dtype=torch.float64, requires_grad=True)
    made.tags = lambda tokens, _: log_p.expand(len(tokens.starts), 5)  # type: ignore[method-assign]
    steps = torch.optim.LBFGS([log_p], max_iter=200, line_search_fn="strong_wolfe", tolerance_grad=1e-12)

    def loss() -> torch.Tensor:
        steps.zero_grad()
        total = objective.loss([0, 1, 2, 3]).total
        total.backward()
        return total

    steps.step(loss)
    torch.testing.assert_close(log_p.detach().softmax(0), counts.double() / counts.sum(), rtol=0, atol=1e-4)


def test_batches_hold_every_document_once_and_no_more_tokens_than_allowed() -> None:
    lengths = [5, 40, 12, 7, 33, 20, 40]
    batches = drawn_batches(lengths, 45, torch.Generator().manual_seed(1))
    assert sorted(row for batch in batches for row in batch) == list(range(7))
    assert all(sum(lengths[row] for row in batch) <= 45 for batch in batches)
    assert drawn_batches(lengths, 45, torch.Generator().manual_seed(2)) != batches


@contextmanager
def code_that_runs() -> Iterator[set[tuple[str, str]]]:
    """Collects the file and the name of every Python function that is called in the block."""
    called = set[tuple[str, str]]()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            called.add((Path(frame.f_code.co_filename).stem, frame.f_code.co_name))

    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("pattern", [DistanceWindow(8, 8), None], ids=["plan", "pairs"])
@pytest.mark.parametrize("guessing", [False, True])
def test_steps_of_training_make_no_plan(guessing: bool, pattern: Pattern | None) -> None:
    """Plans are made when documents are prepared, and a step does no more than join them."""
    planning = {("plans", "plan"), ("paired", "paired_plan"), ("patterns", "keys"), ("neighbours", "nearest"),
                ("orders", "page_order")}  # fmt: skip
    with code_that_runs() as preparing:
        given = documents(3, pattern)
    assert preparing >= planning - {("paired", "paired_plan") if pattern else ("plans", "plan")}
    objective = objective_of(network(), given, tokens=90, guessing=guessing)
    optimizer = torch.optim.Adam(objective.parameters())
    with code_that_runs() as training:
        assert len(descend(objective, optimizer, generator=torch.Generator().manual_seed(0))) == 2
    assert ("plans" if pattern else "paired", "joined") in training
    assert (
        not {own for own in training if own[0] in ("patterns", "neighbours", "orders", "chunks")} | training & planning
    )


def test_a_cue_is_learned_where_the_pattern_reaches_it() -> None:
    """The tag of a question is told by the word three before it; one layer, read on other documents."""

    def accuracy(window: int) -> float:
        found = SyntheticDocuments(cue="textual", train=300, validation=1, test=40, words=60, values=3, seed=3).load()
        known: dict[str, int] = {}
        learned, unseen = (
            [prepared(document, SlidingWindow(window), known) for document in found.parts[part]]
            for part in ("train", "test")
        )
        made, chance = network(width=32, hidden=64, heads=4, layers=1).float(), torch.Generator().manual_seed(0)
        objective = ReadingObjective(made, learned, tokens=1000, head="tags", power=0.5)
        optimizer = torch.optim.Adam(made.parameters(), lr=1e-2)
        for _ in range(6):
            descend(objective, optimizer, generator=chance)
        right = []
        for own in unseen:
            asked = own.targets > 0
            right += (made.tags(own.tokens, own.plans)[asked, 1:].argmax(1) + 1 == own.targets[asked]).tolist()
        return sum(right) / len(right)

    assert accuracy(8) > 0.6
    assert accuracy(4) < 0.45  # a third by chance


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: DocumentObjective(network(), [], tokens=10), "there is no document to learn from"),
        (
            lambda: DocumentObjective(network(), documents(1), tokens=10),
            "document 0 has 41 tokens, and a batch may have 10",
        ),
        (lambda: ReadingObjective(network(), documents(1), tokens=99, head="words"), "head must be classes or tags"),
    ],
)
def test_what_cannot_be_learned_from(made: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        made()
