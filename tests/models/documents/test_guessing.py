"""Hidden tokens of whole documents: the same for every network, each guessed once, whatever the chunks."""

from __future__ import annotations

import pytest
import torch

from data.documents.generator import SyntheticDocuments
from data.pages import Document
from models.documents.chunks import Reading, rows_of
from models.documents.guessing import guess_scores, hidden_in
from models.documents.network import Architecture, DocumentNetwork
from models.sequence.masking import Hidden, Masking
from models.sequence.patterns import Full, SlidingWindow
from models.sequence.vocabulary import UNKNOWN, Vocabulary


@pytest.fixture(scope="module")
def document() -> Document:
    return SyntheticDocuments(train=1, validation=1, test=1, words=120, questions=5, values=3).load().parts["train"][0]


@pytest.fixture(scope="module")
def vocabulary(document: Document) -> Vocabulary:
    return Vocabulary.train([" ".join(document.words)], pieces=300)


def masking_of(vocabulary: Vocabulary) -> Masking:
    return Masking(UNKNOWN, vocabulary.first, vocabulary.size, share=0.3)


@pytest.mark.parametrize(("longest", "stride"), [(600, 0), (60, 0), (60, 25), (40, 20)])
def test_networks_guess_the_same_tokens_whatever_their_chunks(
    document: Document, vocabulary: Vocabulary, longest: int, stride: int
) -> None:
    whole = Reading(vocabulary, (SlidingWindow(8),), 1, 600, 0)
    (asked,) = hidden_in(whole.chunks(document), whole.tokens(document), masking_of(vocabulary),
                         torch.Generator().manual_seed(3))  # fmt: skip
    reading = Reading(vocabulary, (Full(),), 1, longest, stride)
    chunks, tokens = reading.chunks(document), reading.tokens(document)
    found = hidden_in(chunks, tokens, masking_of(vocabulary), torch.Generator().manual_seed(3))
    times = torch.zeros(len(tokens.ids), dtype=torch.int64)
    for (stretch, own), hidden in zip(chunks, found, strict=True):
        rows = rows_of(tokens, stretch)
        assert torch.equal(own.tokens.ids, tokens.ids[rows])
        assert torch.equal(hidden.tokens, asked.tokens[rows])
        times[rows] += hidden.guessed
    assert (len(chunks) > 1) is (longest < 600)
    assert torch.equal(times, asked.guessed.long())


def test_the_loss_of_chunks_is_over_the_tokens_of_the_document(document: Document, vocabulary: Vocabulary) -> None:
    architecture = Architecture(vocabulary.size, 16, 2, 24, layers=1, longest=600, dropout=0.0, outputs=0)
    network, masking = DocumentNetwork(architecture, seed=0).double().eval(), masking_of(vocabulary)
    weights = set[float]()
    for longest, stride in ((600, 0), (60, 25)):
        reading = Reading(vocabulary, (Full(),), 1, longest, stride)
        chunks, chance = reading.chunks(document), torch.Generator().manual_seed(1)
        loss = guess_scores(network, chunks, hidden_in(chunks, reading.tokens(document), masking, chance), masking)
        weights.add(loss.weight)
        assert 3 < float(loss.total) / loss.weight < 9
    assert len(weights) == 1


@pytest.mark.parametrize(("longest", "stride"), [(600, 0), (60, 25)], ids=["whole", "chunks"])
def test_guesses_are_right_where_the_hidden_token_is_the_most_probable(
    document: Document, vocabulary: Vocabulary, longest: int, stride: int
) -> None:
    """A network that says one piece always is right as often as that piece is hidden."""
    architecture = Architecture(vocabulary.size, 16, 2, 24, layers=1, longest=600, dropout=0.0, outputs=0)
    network, masking = DocumentNetwork(architecture, seed=0).eval(), masking_of(vocabulary)
    reading = Reading(vocabulary, (SlidingWindow(8),), 1, longest, stride)
    chunks, tokens = reading.chunks(document), reading.tokens(document)
    hidden = hidden_in(chunks, tokens, masking, torch.Generator().manual_seed(1))
    asked = torch.cat([own.document.tokens.ids[each.guessed] for own, each in zip(chunks, hidden, strict=True)])
    pieces, times = asked.unique(return_counts=True)
    for piece, count in zip(pieces.tolist(), times.tolist(), strict=True):
        network.guess_bias.data.zero_()[piece] = 1e4
        assert guess_scores(network, chunks, hidden, masking).right == count
    assert times.max() > 1


def test_a_document_without_a_hidden_token_has_no_loss_and_no_right_guess(
    document: Document, vocabulary: Vocabulary
) -> None:
    architecture = Architecture(vocabulary.size, 16, 2, 24, layers=1, longest=600, dropout=0.0, outputs=0)
    chunks = Reading(vocabulary, (SlidingWindow(8),), 1, 60, 25).chunks(document)
    none = [Hidden(own.document.tokens.ids, torch.zeros(len(own.document.tokens.ids), dtype=torch.bool))
            for own in chunks]  # fmt: skip
    found = guess_scores(DocumentNetwork(architecture, seed=0).eval(), chunks, none, masking_of(vocabulary))
    assert (float(found.total), found.weight, found.right) == (0, 0, 0)
