"""A network that reads documents, with its vocabulary: long documents in chunks, tables, files, and what it refuses."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from data.documents.generator import SyntheticDocuments
from data.pages import Document
from models.documents.chunks import Reading, Stretch, owners_of, plan_of, plans_of, stretches_of, word_counts
from models.documents.examples import check_tags
from models.documents.network import Architecture, DocumentNetwork
from models.documents.predictor import DocumentPredictor, Spread, load_predictor, tagged
from models.documents.tables import COLUMNS, documents_in, predicted_table
from models.documents.words import PageWords, centres_of, check, without_box
from models.sequence.paired import DistanceKeysWindowValues
from models.sequence.patterns import Distance, DistanceWindow, SlidingWindow, WindowRandom
from models.sequence.vocabulary import Vocabulary
from other_vocabulary import other_pieces
from page_layouts import layout

TAGS = ("O", "B-a", "I-a", "B-b")


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    made = SyntheticDocuments(train=3, validation=1, test=1, words=80, questions=5, values=3).load()
    return list(made.parts["train"])


@pytest.fixture(scope="module")
def vocabulary(documents: list[Document]) -> Vocabulary:
    return Vocabulary.train([" ".join(own.words) for own in documents], pieces=300)


def predictor(vocabulary: Vocabulary, head: str = "tags", *patterns: Any, **how: Any) -> DocumentPredictor:
    architecture = Architecture(vocabulary.size, 16, 2, 24, layers=2, longest=400, pages=3, outputs=4, dropout=0.0,
                                boxes=how.pop("boxes", True))  # fmt: skip
    network = DocumentNetwork(architecture, seed=0).double().eval()
    for parameter in network.parameters():
        parameter.data *= 3  # so that words differ clearly
    reading = Reading(vocabulary, patterns or (DistanceWindow(8, 8),), 2, **{"max_length": 400, "stride": 40} | how)
    return DocumentPredictor(network, reading, head, TAGS if head == "tags" else ("u", "v", "w", "x"))


def table_of(documents: list[Document]) -> pd.DataFrame:
    rows = [
        (own.name, own.pages[i] + 1, word, *own.boxes[i].tolist(), *own.sizes[own.pages[i]])
        for own in documents
        for i, word in enumerate(own.words)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def test_a_document_counts_its_pages_by_itself_whatever_others_do() -> None:
    table = pd.DataFrame({"document": list("aabbb"), "page": [1, 2, 0, 0, 1], "word": list("vwxyz"), "x0": 1, "y0": 1,
                          "x1": 2, "y1": 2, "page_width": 9, "page_height": 9})  # fmt: skip
    found = [own.document for own in documents_in(table)]
    assert [(own.pages.tolist(), own.first_page, len(own.sizes)) for own in found] == [
        ([0, 1], 1, 2),
        ([0, 0, 1], 0, 2),
    ]


def test_boxes_of_doubles_are_read_as_those_of_records(vocabulary: Vocabulary) -> None:
    """A run trains on records with float32 boxes, and 0.3 of 600 is half a thousandth there but for its rounding."""
    boxes = np.array([[0.3, 1, 30, 9], [41.7, 1, 60, 9]])
    own = PageWords(("a", "b"), boxes, np.zeros(2, np.int64), ((600.0, 800.0),))
    record = own._replace(boxes=boxes.astype(np.float32))
    read = predictor(vocabulary).reading
    assert read.tokens(own).boxes.tolist() == read.tokens(record).boxes.tolist()
    assert centres_of(own).tolist() == centres_of(record).tolist()


def test_chunks_of_a_class_count_as_one_document(vocabulary: Vocabulary, documents: list[Document]) -> None:
    reading = predictor(vocabulary, max_length=60).reading
    for targets, counted in ((torch.tensor([1]), 1), (torch.zeros(len(documents[0].words), dtype=torch.int64), None)):
        weights = [own.document.weight for own in reading.chunks(documents[0], targets)]
        assert len(weights) > 2
        assert sum(weights) == pytest.approx(counted or len(weights))


@pytest.mark.parametrize(("most", "shared"), [(5, 0), (7, 3), (9, 7), (40, 10), (200, 5)])
def test_stretches_cover_all_words_within_their_tokens(most: int, shared: int) -> None:
    counts = np.random.default_rng(most).integers(1, 6, 60)
    found = stretches_of(counts, most=most, shared=shared)
    assert found[0].first == 0
    assert found[-1].end == 60
    for one, (first, end) in itertools.pairwise(found):
        assert one.first < first <= one.end < end
        assert counts[first : one.end].sum() <= shared
        assert counts[slice(*one)].sum() <= most < counts[one.first : one.end + 1].sum()
    owners = owners_of(found, counts)
    room = np.full((len(found), 60), -1.0)
    for row, (first, end) in enumerate(found):
        for word in range(first, end):
            before = np.inf if first == 0 else counts[first:word].sum()
            behind = np.inf if end == 60 else counts[word + 1 : end].sum()
            room[row, word] = min(before, behind)
    assert owners.tolist() == room.argmax(0).tolist()


@pytest.mark.parametrize("pattern", [SlidingWindow(8), Distance(6), WindowRandom(8, 1), DistanceKeysWindowValues(6)])
def test_a_word_is_tagged_as_its_chunk_by_itself(
    documents: list[Document], vocabulary: Vocabulary, pattern: Any
) -> None:
    own, document = predictor(vocabulary, "tags", pattern, max_length=90, stride=30), documents[0]
    found = own.tags(documents)
    assert [len(each.labels) for each in found] == [80] * 3
    assert found[0].chunks > 2
    alone = own.tags([document])[0]
    np.testing.assert_array_equal(alone.probabilities, found[0].probabilities)
    counts, whole = word_counts(own.reading.tokens(document)), own.probabilities([document], "tags")[0].probabilities
    stretches = stretches_of(counts, most=89, shared=30)
    assert found[0].chunks == len(stretches)
    for number, (first, end) in enumerate(stretches if not isinstance(pattern, WindowRandom) else ()):
        piece = PageWords(document.words[first:end], document.boxes[first:end], document.pages[first:end],
                          document.sizes)  # fmt: skip
        mine = owners_of(stretches, counts)[first:end] == number
        said = own.probabilities([piece], "tags")[0].probabilities
        assert said.shape == (end - first, len(own.outputs))
        np.testing.assert_allclose(said[mine], whole[first:end][mine], atol=1e-12)
    assert owners_of([Stretch(0, 80)], counts).tolist() == [0] * 80


def test_classes_of_chunks_are_joined_by_their_tokens(documents: list[Document], vocabulary: Vocabulary) -> None:
    own, document = predictor(vocabulary, "classes", max_length=90, stride=30), documents[0]
    [found] = own.classes([document])
    assert found.probabilities.sum() == pytest.approx(1, abs=1e-12)
    assert found.label == "uvwx"[int(found.probabilities.argmax())]
    chunks = own.reading.chunks(document)
    pieces = [PageWords(document.words[a:b], document.boxes[a:b], document.pages[a:b], document.sizes)
              for a, b in (chunk.stretch for chunk in chunks)]  # fmt: skip
    expected = np.average([each.probabilities for each in own.classes(pieces)], 0,
                          [len(chunk.document.tokens.ids) for chunk in chunks])  # fmt: skip
    np.testing.assert_allclose(found.probabilities, expected, atol=1e-12)
    assert found.chunks == len(chunks) > 2
    with pytest.raises(ValueError, match=r"^this model knows classes, and tags are asked for"):
        own.tags([document])


def test_targets_go_with_their_words(documents: list[Document], vocabulary: Vocabulary) -> None:
    reading, document = predictor(vocabulary, max_length=60, stride=20).reading, documents[0]
    for chunk in reading.chunks(document, torch.arange(80)):
        assert chunk.document.targets.tolist() == list(range(*chunk.stretch))
        assert len(chunk.document.tokens.starts) == len(chunk.document.targets)
        assert chunk.document.tokens.words[0] == -1
        assert chunk.document.tokens.positions.tolist() == list(range(len(chunk.document.tokens.ids)))
    assert [
        own.document.targets.tolist() for own in replace(reading, whole=False).chunks(document, torch.tensor([2]))
    ] == [[2]]


def test_a_word_of_more_tokens_than_are_read_has_a_tag(vocabulary: Vocabulary) -> None:
    boxes = np.tile(np.float32([1, 1, 2, 2]), (3, 1))
    document = PageWords(("a", "ő" * 200, "b"), boxes, np.zeros(3, np.int64), ((9.0, 9.0),))
    [found] = predictor(vocabulary, max_length=20, stride=4).tags([document])
    assert len(found.labels) == 3
    assert np.isfinite(found.probabilities).all()


def test_what_was_saved_says_the_same(documents: list[Document], vocabulary: Vocabulary, tmp_path: Path) -> None:
    own = predictor(vocabulary, "tags", DistanceWindow(8, 8, mutual=True), WindowRandom(8, 1), max_length=90)
    own.save(tmp_path / "kept")
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == [
        "documents.json", "documents.npz", "vocabulary.json"
    ]  # fmt: skip
    again = load_predictor(tmp_path / "kept")
    for one, other in zip(own.tags(documents), again.tags(documents), strict=True):
        assert one.labels == other.labels
        np.testing.assert_array_equal(one.probabilities, other.probabilities)
    with pytest.raises(FileExistsError, match="is there already"):
        own.save(tmp_path / "kept")
    told = json.loads((tmp_path / "kept" / "documents.json").read_text())
    others = other_pieces(vocabulary.to_json())
    (tmp_path / "kept" / "vocabulary.json").write_text(others)
    digests = rf"{Vocabulary.from_json(others).digest[:12]}…, .* the vocabulary {vocabulary.digest[:12]}…; put that one"
    with pytest.raises(ValueError, match=rf"^{re.escape(str(tmp_path))}\S+vocabulary.json has the SHA-256 {digests}"):
        load_predictor(tmp_path / "kept")
    (tmp_path / "kept" / "vocabulary.json").write_text(vocabulary.to_json())
    assert told["reading"].pop("whole") is True
    (tmp_path / "kept" / "documents.json").write_text(json.dumps(told))
    assert load_predictor(tmp_path / "kept").reading.whole  # as it was before it was written
    told["reading"]["max_length"] = 500
    (tmp_path / "kept" / "documents.json").write_text(json.dumps(told))
    with pytest.raises(ValueError, match=r"^max_length=500, and the network reads 400 tokens$"):
        load_predictor(tmp_path / "kept")
    (tmp_path / "kept" / "documents.json").write_text("{}")
    with pytest.raises(ValueError, match=r"holds no saved model that can be read"):
        load_predictor(tmp_path / "kept")
    (tmp_path / "kept" / "vocabulary.json").unlink()
    with pytest.raises(ValueError, match=r"holds no saved model: vocabulary.json is not there"):
        load_predictor(tmp_path / "kept")


@pytest.mark.parametrize("head", ["tags", "classes"])
def test_what_was_trained_on_beginnings_reads_beginnings_and_says_so(
    documents: list[Document], vocabulary: Vocabulary, head: str, tmp_path: Path
) -> None:
    own = predictor(vocabulary, head, max_length=90, stride=30)
    cut = DocumentPredictor(own.network, replace(own.reading, whole=False), head, own.outputs)
    ends = [own.reading.chunks(document)[0].stretch.end for document in documents]
    short = [each._replace(words=each.words[:end], boxes=each.boxes[:end], pages=each.pages[:end])
             for each, end in zip(documents, ends, strict=True)]  # fmt: skip
    cut.save(tmp_path / "kept")
    with pytest.warns(UserWarning, match=rf"^{240 - sum(ends)} of 240 words are not read, .* the first 90 tokens"):
        found = predicted_table(load_predictor(tmp_path / "kept"), table_of(documents))
    expected = predicted_table(own, table_of(short))
    if head == "classes":
        pd.testing.assert_frame_equal(found, expected)
    else:
        assert found["label"].isna().sum() == 240 - sum(ends)
        assert found["label"].dropna().tolist() == expected["label"].tolist()


def test_a_table_comes_back_with_tags(documents: list[Document], vocabulary: Vocabulary) -> None:
    own = predictor(vocabulary, max_length=90)
    table = table_of(documents).assign(label="x", more=1).set_index(np.arange(240)[::-1] // 2)
    table.loc[:, "word"] = ["\u200b" if i == 80 else word for i, word in enumerate(table["word"])]
    with pytest.warns(UserWarning, match=r"^1 of 240 rows have no word; nothing is said of them$"):
        found = predicted_table(own, table)
    assert list(found.columns) == [*COLUMNS, "label_of_file", "more", "label", "probability", "entity", "chunks"]
    pd.testing.assert_index_equal(found.index, table.index)
    expected, first = own.tags(documents[:1])[0], found.iloc[:80]
    assert tuple(first["label"]) == expected.labels
    np.testing.assert_allclose(first["probability"], expected.probabilities, atol=1e-9)
    assert first["entity"].fillna(0).tolist() == expected.entities.tolist()
    assert found["chunks"].nunique() >= 1
    assert found.iloc[80][["label", "probability", "entity", "chunks"]].isna().all()
    assert found["label"].notna().sum() == 239


def test_a_table_of_classes_has_a_row_a_document(documents: list[Document], vocabulary: Vocabulary) -> None:
    own = predictor(vocabulary, "classes")
    table = pd.concat([table_of(documents[:2]), table_of(documents[2:]).assign(word=None)])
    with pytest.warns(UserWarning, match="no word") as said:
        found = predicted_table(own, table)
    assert [str(each.message).split(";")[0] for each in said] == [
        "80 of 240 rows have no word", "1 of 3 documents have no words"
    ]  # fmt: skip
    assert list(found.columns) == ["document", "label", "probability", "chunks", *(f"probability_{c}" for c in "uvwx")]
    expected = own.classes(documents[:2])
    assert found["label"].tolist() == [*(each.label for each in expected), None]
    assert found["chunks"].tolist() == [1, 1, 0]
    np.testing.assert_allclose(found.iloc[:2, 4:].to_numpy(float), [each.probabilities for each in expected], atol=1e-9)
    assert found.iloc[2, 4:].isna().all()


def test_tags_are_legal_and_entities_are_numbered() -> None:
    shares = np.full((6, 4), 0.01)
    shares[range(6), [0, 1, 2, 3, 2, 1]] = 0.97
    found = tagged(TAGS, Spread(shares, 1))
    assert found.labels == ("O", "B-a", "I-a", "B-b", "O", "B-a")
    assert found.entities.tolist() == [0, 1, 1, 2, 0, 3]
    assert found.probabilities.tolist() == [0.97] * 4 + [0.01, 0.97]
    assert tagged(TAGS, Spread(shares[:0], 0)).labels == ()


def test_words_without_boxes_are_counted_or_refused(documents: list[Document], vocabulary: Vocabulary) -> None:
    table = table_of(documents[:2])
    table.loc[:1, ["x0", "y0", "x1", "y1"]] = np.nan
    with pytest.warns(UserWarning, match=r"^2 of 160 words have no box; each is taken to stand at the last word"):
        predicted_table(predictor(vocabulary), table)
    table.loc[80:, ["x0", "y0", "x1", "y1"]] = np.nan
    said = r"^document train-1: no word has a box, and attention is to what is near on the page; .* a model of the text"
    with pytest.raises(ValueError, match=said):  # a warning before it would be an error here
        predicted_table(predictor(vocabulary), table)
    found = predicted_table(predictor(vocabulary, "tags", SlidingWindow(8), boxes=False), table)
    assert found["label"].notna().all()


def test_boxes_are_looked_for_once_for_each_document_that_is_read(
    documents: list[Document], vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = list[str]()
    monkeypatch.setattr("models.documents.chunks.without_box", lambda own: seen.append(own.name) or without_box(own))
    predictor(vocabulary).tags(documents[:2])
    assert seen == [own.name for own in documents[:2]]


def test_an_empty_page_and_equal_boxes_are_fine(vocabulary: Vocabulary) -> None:
    table = pd.DataFrame({"document": 7, "page": [1, 1, 3, 3], "word": list("abcd"), "x0": 1, "y0": 1, "x1": 2,
                          "y1": 2, "page_width": 5, "page_height": [10, 10, 20, 20]})  # fmt: skip
    [own] = documents_in(table)
    assert own.document.sizes == ((5, 10), (5, 10), (5, 20))
    assert centres_of(own.document)[:, 1].tolist() == [1.5, 1.5, 21.5, 21.5]
    assert predicted_table(predictor(vocabulary), table)["label"].notna().all()


def test_gaps_of_pandas_are_no_words() -> None:
    table = pd.DataFrame({"document": "a", "page": 1, "word": ["a", None, "c"], "x0": 1, "y0": 1, "x1": 2, "y1": 2,
                          "page_width": 5, "page_height": 10}).convert_dtypes()  # fmt: skip
    with pytest.warns(UserWarning, match="1 of 3 rows have no word"):
        [own] = documents_in(table)
    assert own.document.words == ("a", "c")


@pytest.mark.parametrize(
    ("column", "values", "reason"),
    [
        ("word", [True, "b", "c", "d"], r"column word, row 0: True is no word; write it as text"),
        ("document", [None, "x", "x", "x"], r"column document, row 0: it is empty; fill it in or drop the row"),
        ("document", ["x", "x", " ", " "], r"column document, row 2: it is empty; fill it in or drop the row"),
        ("document", ["x", "y", "x", "x"], r"row 2: document x begins again; keep its rows together"),
        ("page", [1, 1, 1.5, 2], r"column page, row 2: its page must be a whole number from 0 or 1 to 32767"),
        ("page", [1, None, 2, 2], r"column page, row 1: its page must be a whole number"),
        ("page", [1, 2, 1, 2], r"document x, page 1, word 3 \('c'\): it is on an earlier page than the word before"),
        ("x0", ["a", 1, 1, 1], r"column x0, row 0: 'a' is not a number; give a number, or leave it empty"),
        ("x0", [1, 9, 1, 1], r"document x, page 1, word 2 \('b'\): it has a box whose second corner lies before its"),
        ("x0", [1, 1, -3, 1], r"document x, page 2, word 3 \('c'\): it has a box outside its page; mend box or size"),
        ("y1", [1, 1, 99, 1], r"document x, page 2, word 3 \('c'\): it has a box outside its page"),
        ("y1", [1, 1, np.nan, 1], r"document x, page 2, word 3 \('c'\): it has a box of which a side is missing"),
        ("x1", [2, np.inf, 2, 2], r"document x, page 1, word 2 \('b'\): it has a box without an end"),
        ("page_width", [9, 9, 0, 0], r"document x, page 2: its size is missing or 0; give page_width and page_height"),
        ("page_width", [9, None, 9, 9], r"document x, page 1: its size is missing or 0"),
        ("page_height", [9, 8, 9, 9], r"document x, page 1: it has two sizes; give all its words the same"),
    ],
)  # fmt: skip
def test_bad_tables_are_refused_in_one_line(column: str, values: list[Any], reason: str) -> None:
    table = pd.DataFrame({"document": "x", "page": [1, 1, 2, 2], "word": list("abcd"), "x0": 1, "y0": 1, "x1": 2,
                          "y1": 2, "page_width": 9, "page_height": 9})  # fmt: skip
    assert len(documents_in(table)) == 1
    with pytest.raises(ValueError, match=rf"^{reason}"):
        documents_in(table.assign(**{column: values}))


def test_messages_name_pages_as_they_were_written() -> None:
    table = pd.DataFrame({"document": "x", "page": [0, 0, 1, 1], "word": list("abcd"), "x0": 1, "y0": 1, "x1": 2,
                          "y1": [2, 2, 2, 99], "page_width": 9, "page_height": 9})  # fmt: skip
    with pytest.raises(ValueError, match=r"^document x, page 1, word 4 \('d'\): it has a box outside"):
        documents_in(table)
    with pytest.raises(ValueError, match=r"^document x, page 2, word 4 \('d'\): it has a box outside"):
        documents_in(table.assign(page=table["page"] + 1))
    with pytest.raises(ValueError, match=r"^document x, page 0: it has two sizes"):
        documents_in(table.assign(page_width=[9, 8, 9, 9]))
    own = documents_in(table.assign(y1=2))[0].document
    with pytest.raises(ValueError, match=r"^document x, page 1: its size is missing"):
        check(own._replace(sizes=((9, 9), (9, 0))))
    with pytest.raises(ValueError, match=r"^document x, page 1, word 3 .* its tag 'a'"):
        check_tags(own, ("O", "O", "a", "O"))


def test_another_unit_and_missing_columns_are_refused() -> None:
    table = pd.DataFrame({"document": "x", "page": 1, "word": list("ab"), "x0": 0.1, "y0": 0.1, "x1": 0.2,
                          "y1": 0.9, "page_width": 600, "page_height": 800})  # fmt: skip
    with pytest.raises(ValueError, match=r"^document x: all boxes lie within 1, on pages of 600 × 800; give boxes and"):
        documents_in(table)
    with pytest.raises(ValueError, match=r"^column y1 is missing; documents need document, page, word, x0"):
        documents_in(table.drop(columns="y1"))
    with pytest.raises(ValueError, match=r"^there are no rows$"):
        documents_in(table.iloc[:0])


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"max_length": 1}, "max_length must be at least 2, got 1"),
        ({"stride": 399}, "stride must be at least 0 and below max_length - 1, got 399"),
        ({"max_length": 401}, "max_length=401, and the network reads 400 tokens"),
    ],
)
def test_readings_that_fit_no_network_are_refused(vocabulary: Vocabulary, changed: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}$"):
        predictor(vocabulary, **changed)
    with pytest.raises(ValueError, match=r"^give one pattern, or one for each of 2 layers; got 3$"):
        predictor(vocabulary, "tags", *[SlidingWindow(8)] * 3)


LONG = """
import resource, sys
import numpy as np
from models.documents.network import Architecture, DocumentNetwork
from models.documents.predictor import DocumentPredictor
from models.documents.chunks import Reading
from models.documents.words import PageWords
from models.sequence.patterns import DistanceWindow
from models.sequence.vocabulary import Vocabulary
words = [f"w{i % 997}" for i in range(20_000)]
vocabulary = Vocabulary.train([" ".join(words)], pieces=1000)
network = DocumentNetwork(Architecture(vocabulary.size, layers=2, outputs=3), seed=0).eval()
low = np.random.default_rng(0).uniform(0, 990, (20_000, 2))
document = PageWords(tuple(words), np.hstack([low, low + 9]), np.zeros(20_000, np.int64), ((1000.0, 1000.0),))
reading = Reading(vocabulary, (DistanceWindow(128, 128),), 2)
[found] = DocumentPredictor(network, reading, "tags", ("O", "B-a", "I-a")).tags([document])
print(len(found.labels), found.chunks, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def test_a_page_of_twenty_thousand_words_is_tagged_in_two_gigabytes() -> None:
    """Two layers, as the recipe has, of its size."""
    run = subprocess.run([sys.executable, "-c", LONG], capture_output=True, text=True, check=True, timeout=200)
    words, chunks, mebibytes = map(int, run.stdout.split())
    assert words == 20_000
    assert chunks > 4
    assert mebibytes < 2000


def test_layers_of_equal_patterns_share_a_plan_unless_it_is_drawn() -> None:
    patterns = (Distance(3), WindowRandom(4, 1), Distance(3), WindowRandom(4, 1), SlidingWindow(4))
    place, seed = layout(40), [0]
    found: Any = plans_of(patterns, place, layers=5, seed=seed)
    assert found[0] is found[2]
    drawn = [found[number].unpacked().dense() for number in (1, 3)]
    assert not torch.equal(*drawn)
    for number, pattern in enumerate(patterns):
        alone: Any = plan_of(pattern, place, np.random.default_rng([0, number]))
        assert torch.equal(found[number].unpacked().dense(), alone.unpacked().dense())
