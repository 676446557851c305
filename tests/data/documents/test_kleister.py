"""Contracts read from small files of the published format: tags, classes, split, match rates, and what is refused."""

from __future__ import annotations

import json
import lzma
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from data.base import DataError
from data.documents import kleister
from data.documents.kleister import BOXES, CHECKSUMS, DROPPED, KINDS, TAGS, KleisterNda, read_kleister
from data.files.download import sha256_of
from models.documents.words import centres_of
from pipeline.host.paths import PACKAGE

BESIDE = PACKAGE.parent.parent.parent / "shared" / "data"
ROOT = Path(os.environ.get("PIPELINE_DATA_ROOT_FOR_TESTS", BESIDE))
TEXTS = {
    "a.pdf": ["Acme,", "Inc.", "of", "Ohio", "for", "two", "(2)", "years"],
    "b.pdf": ["Bolt", "LLC", "of", "Ohio", "on", "May", "1,", "2001"],
    "c.pdf": ["Cork", "Ltd.", "of", "Utah", "\u200b", "or", "Ut\u200bah"],
    DROPPED: ["Dust", "LP"],
    "e.pdf": ["Echo", "LP", "of", "Ohio"],
}
ANSWERS = {
    "train": {
        "a.pdf": "jurisdiction=Ohio party=Acme_Inc. term=2_years",
        "b.pdf": "effective_date=2001-05-01 jurisdiction=Ohio party=Bolt_LLC party=Bulk_LLC",
        "c.pdf": "jurisdiction=Utah party=Cork_Ltd.",
        DROPPED: "party=Dust_LP",
    },
    "dev-0": {"e.pdf": "party=Echo_LP"},
}  # fmt: skip


def record(name: str, words: list[str]) -> dict[str, Any]:
    boxes = [[10 * i, 5, 10 * i + 8, 15] for i in range(len(words))]
    pages = [{"size": [100.0, 50.0], "words": own[0], "boxes": own[1]} for own in ((words[:4], boxes[:4]), ([], []))]
    return {"file": name, "pages": [*pages, {"size": [100.0, 60.0], "words": words[4:], "boxes": boxes[4:]}]}


def pack(path: Path, rows: list[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(lzma.compress("".join(f"{row}\n" for row in rows).encode()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with four contracts to learn from, one of them damaged, and one for test."""
    own = tmp_path / "kleister_nda"
    pack(own / kleister.BOXES, [json.dumps(record(name, words)) for name, words in TEXTS.items()])
    for split, answers in ANSWERS.items():
        pack(own / split / "in.tsv.xz", [f'{name}\tkeys\t"a text' for name in answers])
        (own / split / "expected.tsv").write_text("".join(f"{row}\n" for row in answers.values()))
    return own


def read(folder: Path, seed: int = 0) -> Any:
    return read_kleister(folder, validation=1, seed=seed, least=2)


def test_values_are_projected_to_tags_and_the_damaged_document_is_left_out(folder: Path) -> None:
    data = read(folder)
    documents = {document.name: document for _, document in data.all()}
    assert set(documents) == {"a", "b", "c", "e"}
    assert documents["a"].tags == (
        "B-party", "I-party", "O", "B-jurisdiction", "O", "B-term", "I-term", "I-term",
    )  # fmt: skip
    assert documents["b"].tags[5:] == ("B-effective_date", "I-effective_date", "I-effective_date")
    assert documents["c"].words[4:] == ("or", "Utah")
    assert documents["c"].tags[4:] == ("O", "B-jurisdiction")
    assert documents["a"].pages.tolist() == [0] * 4 + [2] * 4
    assert centres_of(documents["a"])[4].tolist() == [44, 110]
    assert data.tags == TAGS
    assert documents["a"].values == (("jurisdiction", "ohio"), ("party", "acme_inc"), ("term", "24_month"))
    assert ("party", "bulk_llc") in documents["b"].values  # though the words do not say it


def test_rare_jurisdictions_and_documents_without_one_are_another_class(folder: Path) -> None:
    data = read(folder)
    assert data.classes == ("Ohio", "other")
    labels = {document.name: document.label for _, document in data.all()}
    assert labels == {"a": "Ohio", "b": "Ohio", "c": "other", "e": "other"}


def test_match_rates_are_counted_by_kind_and_apart_for_the_test_part(folder: Path) -> None:
    rates = {"match_rate_party": 0.75, "match_rate_jurisdiction": 1, "match_rate_effective_date": 1}
    assert read(folder).counts == rates | {"match_rate_term": 1, "match_rate_party_test": 1}


def test_validation_is_drawn_from_the_training_documents_and_test_never_changes(folder: Path) -> None:
    drawn = {read(folder, seed).parts["validation"][0].name for seed in range(12)}
    assert drawn == {"a", "b", "c"}
    assert {read(folder, seed).parts["test"][0].name for seed in range(3)} == {"e"}
    assert read(folder, 1).checksum == read(folder, 1).checksum
    with pytest.raises(DataError, match=r"^kleister_nda: validation=3 leaves none of 3"):
        read_kleister(folder, validation=3, seed=0)


def test_files_that_do_not_fit_each_other_are_refused(folder: Path) -> None:
    expected = folder / "train" / "expected.tsv"
    rows = expected.read_text().splitlines(keepends=True)
    expected.write_text("".join(rows[:-1]))
    with pytest.raises(DataError, match=r"train/expected.tsv: 3 lines, and 4 in in.tsv.xz"):
        read(folder)
    expected.write_text("".join(["parties=Acme\n", *rows[1:]]))
    with pytest.raises(DataError, match=r"expected.tsv, line 1: 'parties=Acme' is no answer"):
        read(folder)
    expected.write_text("".join(rows))
    pack(folder / kleister.BOXES, [json.dumps(record("a.pdf", TEXTS["a.pdf"]))])
    with pytest.raises(DataError, match=r"no document b.pdf"):
        read(folder)


@pytest.mark.parametrize("row", ["{", '{"file": "a.pdf"}', '{"file": "a.pdf", "pages": [{"words": ["x"]}]}'])
def test_a_line_that_is_no_document_is_named(folder: Path, row: str) -> None:
    pack(folder / kleister.BOXES, [json.dumps(record("a.pdf", TEXTS["a.pdf"])), row])
    with pytest.raises(DataError, match=r"words_boxes.jsonl.xz, line 2: no document"):
        read(folder)


def test_a_box_outside_its_page_is_named(folder: Path) -> None:
    wide = record("b.pdf", TEXTS["b.pdf"])
    wide["pages"][2]["boxes"][0] = [90, 5, 130, 15]
    rows = [record(name, words) if name != "b.pdf" else wide for name, words in TEXTS.items()]
    pack(folder / kleister.BOXES, [json.dumps(row) for row in rows])
    with pytest.raises(DataError, match=r"b, page 3, word 5 \('on'\): it has a box outside its page"):
        read(folder)


@pytest.mark.usefixtures("folder")
def test_damaged_and_missing_files_are_refused_or_stood_in_for(tmp_path: Path) -> None:
    files = KleisterNda(root=str(tmp_path))
    with pytest.warns(UserWarning, match="another extraction"), pytest.raises(DataError, match="of another version"):
        files.load()
    empty = str(tmp_path / "empty")
    with pytest.raises(DataError, match="is missing; put it there"):
        KleisterNda(root=empty, source="published").load()
    with pytest.warns(UserWarning, match="NOT REAL DATA"):
        data = KleisterNda(root=empty).load()
    assert data.stand_in
    assert data.tags == TAGS
    assert {document.label for _, document in data.all()} == set(KINDS)
    with pytest.raises(DataError, match=r"^kleister_nda: source=cmu is unknown"):
        KleisterNda(source="cmu").load()


def test_words_of_another_extraction_are_read_with_a_warning(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = {name: sha256_of(folder / name) for name in CHECKSUMS} | {BOXES: "0" * 64}
    monkeypatch.setattr(kleister, "FILES", replace(kleister.FILES, checksums=own))
    with pytest.warns(UserWarning, match="another extraction"):
        data = KleisterNda(root=str(folder.parent), validation=1).load()
    assert not data.stand_in
    assert {document.name for _, document in data.all()} == {"a", "b", "c", "e"}
    (folder / BOXES).write_bytes(b"cut short")
    with pytest.warns(UserWarning, match="another extraction"), pytest.raises(DataError, match="cannot be read"):
        KleisterNda(root=str(folder.parent), validation=1).load()


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / "kleister_nda").is_dir(), reason=f"no contracts: {ROOT}/kleister_nda is not there")
def test_the_published_contracts_are_as_they_were_counted() -> None:
    data = KleisterNda(root=str(ROOT), source="published").load()
    assert [own["documents"] for own in data.sizes()] == [213, 40, 83]
    assert sum(int(own["words"]) for own in data.sizes()) == 972_758
    assert len(data.classes) == 16
    least = {"party": 0.93, "jurisdiction": 1, "effective_date": 0.97, "term": 0.83}
    assert all(data.counts[f"match_rate_{kind}{part}"] >= least[kind] for kind in KINDS for part in ("", "_test"))
