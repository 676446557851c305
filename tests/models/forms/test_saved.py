"""A reader of forms on disk reads the same; what is none is refused in one line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from torch import Tensor

from drawn_forms import ONE_FORM
from models.forms.detect.components import Components
from models.forms.placing import Placing
from models.forms.reader import FormReader
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.correction import Correction
from models.forms.recognise.crnn import CRNN
from models.forms.saved import load_reader, save_reader


class Echo:
    """Reads nothing."""

    def read_words(self, images: Sequence[Tensor]) -> list[tuple[str, float]]:
        return [("", 1.0) for _ in images]


@pytest.fixture(scope="module")
def reader() -> FormReader:
    image, truth = ONE_FORM
    detector = Components().prepared([image], [truth]).network()
    recogniser = CRNN(units=8).network(Alphabet.of_texts(["ab c"])).eval()
    return FormReader(detector, recogniser, correction=Correction(("abc", "c a")), least_score=0.3,
                      placing=Placing(0.4, "ink"))  # fmt: skip


def test_a_saved_reader_reads_the_same(reader: FormReader, tmp_path: Path) -> None:
    page = (255 * (1 - ONE_FORM[0][0])).round().byte().numpy()
    save_reader(reader, tmp_path / "own")
    again = load_reader(tmp_path / "own")
    assert (again.least_score, again.placing) == (0.3, Placing(0.4, "ink"))
    assert again.read(page) == reader.read(page) != []
    assert again.read(page, vocabulary=True) == reader.read(page, vocabulary=True)
    with pytest.raises(FileExistsError, match="is there already"):
        save_reader(reader, tmp_path / "own")


def test_one_that_was_saved_before_words_were_placed_reads_them_where_they_are_found(
    reader: FormReader, tmp_path: Path
) -> None:
    save_reader(reader, tmp_path / "own")
    description = tmp_path / "own" / "reader.json"
    description.write_text(json.dumps({"least_score": 0.3, "reads": True}), encoding="utf-8")
    assert load_reader(tmp_path / "own").placing == Placing(1.0, "found")


def test_one_without_a_recogniser_finds_boxes_and_knows_no_vocabulary(reader: FormReader, tmp_path: Path) -> None:
    page = (255 * (1 - ONE_FORM[0][0])).round().byte().numpy()
    save_reader(FormReader(reader.detector), tmp_path / "boxes")
    again = load_reader(tmp_path / "boxes")
    assert [own.box for own in again.read(page, 0.3)] == [own.box for own in reader.read(page)]
    with pytest.raises(ValueError, match="knows no vocabulary"):
        again.read(page, vocabulary=True)


def test_what_is_no_reader_is_refused(reader: FormReader, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"reader\.json"):
        load_reader(tmp_path)
    with pytest.raises(TypeError, match="Echo is no recogniser"):
        save_reader(FormReader(reader.detector, Echo()), tmp_path / "own")
    assert not (tmp_path / "own").exists()
    with pytest.raises(ValueError, match="least_score=2 must be from 0 to 1"):
        FormReader(reader.detector, least_score=2)
