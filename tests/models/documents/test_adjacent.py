"""Mixing each token with those beside it: a loop over tokens as oracle, ends of documents and chunks, switched off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from data.pages import Document
from models.documents.adjacent import AdjacentMixing
from models.documents.chunks import Reading, owners_of, word_counts
from models.documents.network import Architecture, DocumentNetwork
from models.documents.objective import GuessingBatch, GuessingObjective, ReadingObjective, batch_of
from models.documents.predictor import DocumentPredictor, load_predictor
from models.sequence.layers import Setting
from models.sequence.ledger import Ledger
from models.sequence.masking import Hidden, Masking
from models.sequence.patterns import DistanceWindow
from models.sequence.vocabulary import UNKNOWN, Vocabulary

WIDTH = 8


@pytest.fixture(scope="module")
def reading(documents: list[Document]) -> Reading:
    vocabulary = Vocabulary.train([" ".join(own.words) for own in documents], pieces=300)
    return Reading(vocabulary, (DistanceWindow(6, 6),), 2, max_length=60, stride=24)


def mixing(reach: int) -> AdjacentMixing:
    torch.manual_seed(0)
    return AdjacentMixing(WIDTH, reach).double()


def network(reading: Reading, adjacent: int) -> DocumentNetwork:
    own = Architecture(reading.vocabulary.size, WIDTH, 2, 12, layers=2, longest=60, dropout=0.0, outputs=4,
                       adjacent=adjacent)  # fmt: skip
    return DocumentNetwork(own, seed=0).double().eval()


def states_of(count: int) -> Tensor:
    return torch.from_numpy(np.random.default_rng(count).normal(size=(count, WIDTH)))


def looped(made: AdjacentMixing, states: Tensor) -> Tensor:
    """One document, a token and a neighbour at a time."""
    matrices, rows = made.mix.weight.split(WIDTH, dim=1), list[Tensor]()
    for place in range(len(states)):
        total = states[place] + made.mix.bias
        for matrix, beside in zip(matrices, range(place - made.reach, place + made.reach + 1), strict=True):
            if 0 <= beside < len(states):
                total = total + matrix @ states[beside]
        rows.append(total)
    return made.norm(torch.stack(rows))


@pytest.mark.parametrize("reach", [1, 2, 7])
def test_mixing_is_the_sum_over_the_tokens_beside_each(reach: int) -> None:
    made, given = mixing(reach), [states_of(count) for count in (1, 6, 3, 20, 2)]
    expected = torch.cat([looped(made, states) for states in given])
    found = made(torch.cat(given), torch.tensor([len(states) for states in given]))
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_documents_side_by_side_do_not_see_each_other() -> None:
    made, first = mixing(2), states_of(5).requires_grad_()
    second = states_of(4).requires_grad_()
    found = made(torch.cat([first, second]), torch.tensor([5, 4]))
    found[:5].square().sum().backward()
    assert first.grad is not None
    assert first.grad.abs().min() > 0
    assert second.grad is not None
    assert not second.grad.any()


def test_batches_and_their_order_do_not_change_tags(documents: list[Document], reading: Reading) -> None:
    made = network(reading, 2)
    prepared = [chunk.document for document in documents[:2] for chunk in reading.chunks(document)]
    alone = []
    for each in prepared:
        tokens, plans, _ = batch_of([each], torch.device("cpu"))
        alone.append(made.tags(tokens, plans))
    for order in (range(len(prepared)), range(len(prepared) - 1, -1, -1)):
        tokens, plans, _ = batch_of([prepared[row] for row in order], torch.device("cpu"))
        expected = torch.cat([alone[row] for row in order])
        torch.testing.assert_close(made.tags(tokens, plans), expected, rtol=1e-10, atol=1e-12)


def test_a_word_is_read_in_a_chunk_that_holds_its_neighbours(documents: list[Document], reading: Reading) -> None:
    """So chunks change nothing of the mix, as long as they share enough tokens."""
    made, tokens, chunks = mixing(2), reading.tokens(documents[0]), reading.chunks(documents[0])
    table = states_of(reading.vocabulary.size)
    whole = made(table[tokens.ids], tokens.lengths)
    owners = owners_of([chunk.stretch for chunk in chunks], word_counts(tokens))
    assert len(chunks) > 2
    for number, (stretch, own) in enumerate(chunks):
        found = made(table[own.tokens.ids], own.tokens.lengths)
        for word in range(*stretch):
            if owners[word] == number:
                torch.testing.assert_close(
                    found[own.tokens.words == word - stretch.first], whole[tokens.words == word], rtol=1e-12, atol=1e-12
                )


def test_switched_off_the_network_is_the_one_without_it(documents: list[Document], reading: Reading) -> None:
    off, on = network(reading, 0), network(reading, 2)
    kept = {name: value for name, value in on.state_dict().items() if not name.startswith("adjacent.")}
    assert list(off.state_dict()) == list(kept)
    assert all(torch.equal(value, kept[name]) for name, value in off.state_dict().items())
    tokens, plans, _ = batch_of([reading.chunks(documents[0])[0].document], torch.device("cpu"))
    states = off.embedding(tokens)
    for layer in off.layers:
        states = layer(states, Setting(None, None, Ledger(), plan=plans[0]))
    assert torch.equal(off.encode(tokens, plans), off.norm(states))
    assert not torch.allclose(on.encode(tokens, plans), off.norm(states))


def test_what_is_hidden_is_hidden_from_its_neighbours_too(documents: list[Document], reading: Reading) -> None:
    """Two documents that differ in one hidden token differ in their losses by its two logits."""
    made = network(reading, 2)
    one = reading.chunks(documents[0])[0].document
    ids, place = one.tokens.ids, 20
    other = ids.clone()
    other[place] = ids[place] + 1 if ids[place] + 1 < reading.vocabulary.size else ids[place] - 1
    guessed = torch.zeros(len(ids), dtype=torch.bool)
    guessed[[place - 1, place, place + 2]] = True
    hidden = Hidden(torch.where(guessed, UNKNOWN, ids), guessed)
    masking = Masking(UNKNOWN, reading.vocabulary.first, reading.vocabulary.size)
    pair = [one, one._replace(tokens=one.tokens._replace(ids=other))]
    objective = GuessingObjective(made, pair, tokens=200, masking=masking)
    losses = [objective.loss(GuessingBatch([row], [hidden])).total for row in range(2)]
    tokens, plans, _ = batch_of([one], torch.device("cpu"))
    logits = made.guesses(tokens._replace(ids=hidden.tokens), plans, guessed)[1]
    torch.testing.assert_close(losses[1] - losses[0], logits[ids[place]] - logits[other[place]], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("head", ["tags", "classes"])
def test_both_heads_learn_through_it(documents: list[Document], reading: Reading, head: str) -> None:
    targets = [torch.arange(60) % 4 if head == "tags" else torch.tensor([row]) for row in range(3)]
    prepared = [
        chunk.document
        for document, own in zip(documents, targets, strict=True)
        for chunk in reading.chunks(document, own)
    ]
    made: Any = network(reading, 2)
    objective = ReadingObjective(made, prepared, tokens=2000, head=head)
    objective.loss(list(range(len(prepared)))).total.backward()
    assert all(parameter.grad.abs().max() > 0 for parameter in made.adjacent.parameters())


def test_it_is_saved_and_what_was_saved_before_there_was_one_is_read(
    documents: list[Document], reading: Reading, tmp_path: Path
) -> None:
    tags = ("O", "B-a", "I-a", "B-b")
    for adjacent in (2, 0):
        folder = tmp_path / str(adjacent)
        own = DocumentPredictor(network(reading, adjacent), reading, "tags", tags)
        own.save(folder)
        if adjacent == 0:
            told = json.loads((folder / "documents.json").read_text())
            del told["architecture"]["adjacent"]
            (folder / "documents.json").write_text(json.dumps(told))
        expected, found = own.tags(documents)[0], load_predictor(folder).tags(documents)[0]
        assert found.chunks > 2
        np.testing.assert_array_equal(found.probabilities, expected.probabilities)
