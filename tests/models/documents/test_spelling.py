"""Embeddings that pieces share which are spelt alike: by hand, a loop, hidden tokens, saved and switched off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from data.pages import Document
from models.documents.chunks import Reading
from models.documents.network import Architecture, DocumentNetwork
from models.documents.objective import ReadingObjective
from models.documents.predictor import DocumentPredictor, load_predictor
from models.documents.reader import DocumentReader
from models.documents.spelling import Spelling, features_of, piece_features, spelling_of
from models.documents.words import PageWords
from models.sequence.patterns import SlidingWindow
from models.sequence.vocabulary import UNKNOWN, Vocabulary

QUICK: dict[str, Any] = {
    "width": 8, "heads": 2, "hidden": 8, "layers": 1, "epochs": 1, "warmup": 1, "held_out": 0.0, "pieces": 290,
}  # fmt: skip


@pytest.fixture(scope="module")
def vocabulary(documents: list[Document]) -> Vocabulary:
    return Vocabulary.train([" ".join(own.words) for own in documents], pieces=300)


def network(vocabulary: Vocabulary, *, spelling: bool, **changed: Any) -> DocumentNetwork:
    own = Architecture(vocabulary.size, 8, 2, 12, layers=1, longest=80, outputs=4, spelling=spelling, **changed)
    return DocumentNetwork(own, seed=0, spelling=spelling_of(vocabulary) if spelling else None).double().eval()


def test_features_by_hand() -> None:
    assert features_of("Laws-99") == ("w=laws-99", "<law", ">-99", "s=Xx-9")
    assert features_of("Žižkov-٣٤") == ("w=žižkov-٣٤", "<žiž", ">-٣٤", "s=Xx-9")
    assert features_of("§§ΑΒγ法")[3] == "s=§Xx"
    assert piece_features(" Laws") == ("w=laws", " <law", ">aws", " s=Xx")
    assert piece_features("Laws")[1:] == ("<law", ">aws", "s=Xx")
    assert piece_features("") == ("w=", "<", ">", "s=")


def test_pieces_that_are_spelt_alike_share_rows(vocabulary: Vocabulary) -> None:
    rows, texts = spelling_of(vocabulary), vocabulary.decode([[number] for number in range(vocabulary.size)])
    assert rows.shape == (vocabulary.size, 4)
    assert sorted(set(rows.flatten().tolist())) == list(range(int(rows.max()) + 1))
    named = [piece_features(text) for text in texts]
    flat = [
        (int(row), name) for own, names in zip(rows, named, strict=True) for row, name in zip(own, names, strict=True)
    ]
    assert len(set(flat)) == len({row for row, _ in flat}) == len({name for _, name in flat})
    a, big_a = (texts.index(letter) for letter in "aA")
    assert (rows[a] == rows[big_a]).tolist() == [True, True, True, False] or named[a][1] != named[big_a][1]


def test_it_is_a_sum_over_features(vocabulary: Vocabulary) -> None:
    made, ids = Spelling(spelling_of(vocabulary), 8, deviation=0.5).double(), torch.tensor([1, 40, 7, 40])
    expected = torch.stack([sum((made.shared[row] for row in made.rows[number]), torch.zeros(8)) for number in ids])
    torch.testing.assert_close(made(ids), expected, rtol=1e-12, atol=1e-12)


def test_a_sign_that_hides_a_token_says_nothing_of_it(vocabulary: Vocabulary) -> None:
    rows = spelling_of(vocabulary)
    assert rows[UNKNOWN].tolist() == rows[0].tolist()
    assert all(rows[UNKNOWN][1] != own[1] for own in rows[vocabulary.first :])


def test_switched_off_the_other_weights_begin_the_same(vocabulary: Vocabulary) -> None:
    off, on = (network(vocabulary, spelling=own).state_dict() for own in (False, True))
    assert on.keys() - off.keys() == {"embedding.spelling.rows", "embedding.spelling.shared"}
    assert all(torch.equal(value, on[name]) for name, value in off.items())


def test_it_is_learned(documents: list[Document], vocabulary: Vocabulary) -> None:
    made: Any = network(vocabulary, spelling=True)
    reading = Reading(vocabulary, (SlidingWindow(8),), 1, max_length=80, stride=8)
    learned = [own.document for own in reading.chunks(documents[0], torch.arange(60) % 4)]
    ReadingObjective(made, learned, tokens=100, head="tags").loss([0]).total.backward()
    seen = made.embedding.spelling.rows[learned[0].tokens.ids].unique()
    assert (made.embedding.spelling.shared.grad.abs().amax(1) > 0).nonzero().squeeze(1).tolist() == seen.tolist()


def test_it_is_saved_and_what_was_saved_before_there_was_one_is_read(
    documents: list[Document], vocabulary: Vocabulary, tmp_path: Path
) -> None:
    reading = Reading(vocabulary, (SlidingWindow(8),), 1, max_length=80, stride=8)
    for spelling in (True, False):
        folder = tmp_path / str(spelling)
        own = DocumentPredictor(network(vocabulary, spelling=spelling), reading, "tags", ("O", "B-a", "I-a", "B-b"))
        own.save(folder)
        if not spelling:
            told = json.loads((folder / "documents.json").read_text())
            del told["architecture"]["spelling"]
            (folder / "documents.json").write_text(json.dumps(told))
        expected, found = own.tags(documents)[0], load_predictor(folder).tags(documents)[0]
        np.testing.assert_array_equal(found.probabilities, expected.probabilities)


def test_a_network_wants_the_spelling_of_its_own_pieces(vocabulary: Vocabulary) -> None:
    own = Architecture(vocabulary.size, 8, 2, 12, layers=1, longest=80)
    with pytest.raises(
        ValueError, match=f"spelling=False of {vocabulary.size} pieces, and the spelling of {vocabulary.size} "
    ):
        DocumentNetwork(own, seed=0, spelling=spelling_of(vocabulary))
    asked = Architecture(vocabulary.size, 8, 2, 12, layers=1, longest=80, spelling=True)
    for given in (None, spelling_of(vocabulary)[1:]):
        with pytest.raises(ValueError, match="spelling=True of"):
            DocumentNetwork(asked, seed=0, spelling=given)


def test_the_reader_has_it(documents: list[Document], tmp_path: Path) -> None:
    pages = [PageWords(own.words, own.boxes, own.pages, own.sizes) for own in documents]
    answers = [["B-a" if place % 9 == 0 else "O" for place in range(len(own.words))] for own in documents]
    made = DocumentReader(**QUICK, spelling=True).fit(pages, answers)
    assert made.predictor_.network.embedding.spelling is not None
    made.save(tmp_path / "reader")
    found, expected = (own.predictor_.tags(pages)[0] for own in (DocumentReader.load(tmp_path / "reader"), made))
    np.testing.assert_array_equal(found.probabilities, expected.probabilities)
    with pytest.raises(TypeError, match="spelling must be True or False"):
        DocumentReader(**QUICK, spelling="yes").fit(pages, answers)
