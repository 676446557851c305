"""Forms read from small files of FUNSD's format: tags, page sizes, split, and what is refused."""

from __future__ import annotations

import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from data.base import DataError
from data.documents.funsd import TAGS, Funsd, read_archive, split_forms
from data.files.published import PutByHand
from pipeline.host.paths import PACKAGE

BESIDE = PACKAGE.parent.parent.parent / "shared" / "data"
ROOT = Path(os.environ.get("PIPELINE_DATA_ROOT_FOR_TESTS", BESIDE))


def entity(label: str, *words: str, x: int = 10) -> dict[str, Any]:
    own = [{"text": word, "box": [x + 20 * i, 30, x + 20 * i + 15, 42]} for i, word in enumerate(words)]
    return {"label": label, "text": " ".join(words), "words": own}


FORMS = {
    "training_data/annotations/a.json": [entity("question", "Colour", "of", "", "hat:"), entity("answer", "green")],
    "training_data/annotations/b.json": [entity("header", "HATS"), entity("other", "page", "1", x=780)],
    "training_data/annotations/c.json": [entity("answer", " ", "blue", "ish")],
    "testing_data/annotations/d.json": [entity("question", "Size")],
}


def pack(path: Path, forms: dict[str, Any]) -> Path:
    with tarfile.open(path, "w:xz") as archive:
        for name, form in forms.items():
            content = json.dumps({"form": form}).encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def read(folder: Path, seed: int = 0) -> Any:
    return split_forms(read_archive(pack(folder / "forms.tar.xz", FORMS)), validation=1, seed=seed)


def test_entities_become_tags_and_blank_words_are_left_out(tmp_path: Path) -> None:
    data = read(tmp_path)
    documents = {document.name: document for _, document in data.all()}
    assert documents["a"].words == ("Colour", "of", "hat:", "green")
    assert documents["a"].tags == ("B-question", "I-question", "I-question", "B-answer")
    assert documents["b"].tags == ("B-header", "O", "O")
    assert documents["c"].tags == ("B-answer", "I-answer")  # its first word is blank
    assert documents["a"].boxes[2].tolist() == [70, 30, 85, 42]
    assert data.tags == TAGS
    assert len(TAGS) == 7


def test_words_come_entity_by_entity_or_in_the_lines_of_the_page(tmp_path: Path, monkeypatch) -> None:
    forms = {"training_data/a.json": [entity("question", "Colour", "of", x=50), entity("answer", "green", x=10)],
             "training_data/b.json": [entity("header", "HATS")],
             "testing_data/d.json": [entity("question", "Size")]}  # fmt: skip
    path = pack(tmp_path / "forms.tar.xz", forms)
    monkeypatch.setattr(PutByHand, "find", lambda *_, **__: [path])
    words = {}
    for order in ("file", "lines"):
        data = Funsd(validation=1, order=order).load()
        words[order] = next(own.words for _, own in data.all() if own.name == "a")
    assert words == {"file": ("Colour", "of", "green"), "lines": ("green", "Colour", "of")}
    with pytest.raises(DataError, match="order=columns is unknown; choose one of file, lines"):
        Funsd(order="columns").load()


def test_a_page_is_754_by_1000_or_as_large_as_its_boxes_need(tmp_path: Path) -> None:
    sizes = {document.name: tuple(document.sizes[0]) for _, document in read(tmp_path).all()}
    assert sizes["a"] == (754, 1000)
    assert sizes["b"] == (815, 1000)


def test_validation_is_drawn_and_the_test_forms_stay(tmp_path: Path) -> None:
    data = [read(tmp_path, seed) for seed in range(12)]
    assert {own.parts["validation"][0].name for own in data} == {"a", "b", "c"}
    assert {tuple(form.name for form in own.parts["test"]) for own in data} == {("d",)}
    with pytest.raises(DataError, match="leaves none of 3 forms"):
        split_forms(read_archive(tmp_path / "forms.tar.xz"), validation=3, seed=0)


@pytest.mark.parametrize("form", [[{"label": "answer"}], [entity("title", "x")], [{"label": "answer", "words": [1]}]])
def test_a_form_that_is_none_is_named(tmp_path: Path, form: Any) -> None:
    path = pack(tmp_path / "forms.tar.xz", {**FORMS, "training_data/annotations/bad.json": form})
    with pytest.raises(DataError, match=r"bad.json: no form of entities"):
        read_archive(path)


def test_damaged_and_missing_files_are_refused_or_stood_in_for(tmp_path: Path) -> None:
    (tmp_path / "funsd").mkdir()
    with pytest.warns(UserWarning, match="NOT REAL DATA"):
        data = Funsd(root=str(tmp_path)).load()
    assert data.stand_in
    assert data.tags == TAGS
    with pytest.raises(DataError, match="is missing; put it there"):
        Funsd(root=str(tmp_path), source="published").load()
    (tmp_path / "funsd" / "annotations.tar.xz").write_bytes(b"no archive")
    with pytest.raises(DataError, match="damaged, or of another version"):
        Funsd(root=str(tmp_path)).load()
    with pytest.raises(DataError, match="cannot be read"):
        read_archive(tmp_path / "funsd" / "annotations.tar.xz")


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / "funsd").is_dir(), reason=f"no forms: {ROOT}/funsd is not there")
def test_the_published_forms_are_as_they_were_counted() -> None:
    sizes = Funsd(root=str(ROOT), source="published").load().sizes()
    assert [own["documents"] for own in sizes] == [129, 20, 50]
    assert int(sizes[0]["words"]) + int(sizes[1]["words"]) == 21_888
    assert (sizes[2]["words"], sizes[2]["longest"]) == (8707, 433)
