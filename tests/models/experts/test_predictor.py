"""A translator with its vocabulary: saved and loaded, one text at a time or all, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experts_problems import filled
from models.experts.arms import Adapting, Mixing
from models.experts.network import Architecture, TranslationNetwork
from models.experts.predictor import TranslationPredictor, load_predictor
from models.experts.tables import translated_table
from models.experts.tags import tag_names, tags_of
from models.sequence.vocabulary import FIRST_TAG, Vocabulary
from other_vocabulary import other_pieces

TASKS = (("de", "en"), ("fr", "en"), ("en", "de"))
TEXTS = ["ein Haus", "<2de> ein", "", "ein Haus ein Haus ein Haus", " \t"]


@pytest.fixture(scope="module")
def predictor() -> TranslationPredictor:
    vocabulary = Vocabulary.train(["ein Haus", "a house", "une maison"], pieces=270, tags=tag_names(TASKS))
    architecture = Architecture(
        vocabulary.size,
        3,
        8,
        heads=2,
        hidden=6,
        layers=1,
        mixing=Mixing("token", count=3),
        adapting=Adapting("static", 4),
    )
    network = filled(TranslationNetwork(architecture, seed=0), 0.3).eval()
    return TranslationPredictor(network, vocabulary, TASKS, longest=12)


def test_tags_name_the_task_by_numbers(predictor: TranslationPredictor) -> None:
    assert predictor.vocabulary.tags == ("2en", "2de", "de2", "fr2", "en2")
    found = [tags_of(predictor.vocabulary, ("fr", "en"), tag) for tag in ("target", "task", "none")]
    assert found == [(FIRST_TAG,), (FIRST_TAG, FIRST_TAG + 3), ()]
    sources, _ = predictor.sources(["<2en> ein"], [0], 60)
    assert (sources.values[1:] >= predictor.vocabulary.first).sum() == len(sources.values) - 2  # a tag, an end


def test_translations_hang_on_no_other_text_and_come_back_from_disk(
    predictor: TranslationPredictor, tmp_path: Path
) -> None:
    tasks = [0, 1, 2, 1, 0]
    found = predictor.translate(TEXTS, tasks, beam=2)
    assert [one.truncated for one in found] == [False, False, False, True, False]
    assert found[2] == found[4] == ("", 0.0, False, True)
    assert all(np.isfinite(one.score) and one.score < 0 for one in (found[0], found[1], found[3]))
    alone = [predictor.translate([text], [task], beam=2)[0] for text, task in zip(TEXTS, tasks, strict=True)]
    assert [one.text for one in alone] == [one.text for one in found]
    assert [one.score for one in alone] == pytest.approx([one.score for one in found], abs=1e-12)
    predictor.save(tmp_path / "kept")
    assert load_predictor(tmp_path / "kept").translate(TEXTS, tasks, beam=2) == found
    (tmp_path / "kept" / "vocabulary.json").write_text(other_pieces(predictor.vocabulary.to_json()))
    learned = predictor.vocabulary.digest[:12]
    with pytest.raises(ValueError, match=rf"vocabulary.json has the SHA-256 .* with the vocabulary {learned}…; put"):
        load_predictor(tmp_path / "kept")
    told = json.loads((tmp_path / "kept" / "translator.json").read_text())
    del told["vocabulary"]  # as it was saved before
    (tmp_path / "kept" / "translator.json").write_text(json.dumps(told))
    (tmp_path / "kept" / "vocabulary.json").write_text(predictor.vocabulary.to_json())
    assert load_predictor(tmp_path / "kept").translate(TEXTS, tasks, beam=2) == found
    (tmp_path / "kept" / "vocabulary.json").write_text(Vocabulary.train(["a"], pieces=261, tags=["2en"]).to_json())
    with pytest.raises(ValueError, match=r"vocabulary.json has 261 pieces and the network 270; the folder must hold"):
        load_predictor(tmp_path / "kept")
    (tmp_path / "kept" / "translator.npz").unlink()
    with pytest.raises(ValueError, match=r"holds no saved model: translator.npz is not there"):
        load_predictor(tmp_path / "kept")


def test_drawn_translations_follow_seed_and_place_and_no_other_text(predictor: TranslationPredictor) -> None:
    tasks = [0, 1, 2, 1, 0]
    found = predictor.translate(TEXTS, tasks, decoding_temperature=2.0, seed=3)
    assert predictor.translate(TEXTS, tasks, decoding_temperature=2.0, seed=3) == found
    others = ["une maison", "maison", "une", TEXTS[3], "x"]
    assert predictor.translate(others, tasks, decoding_temperature=2.0, seed=3)[3].text == found[3].text
    assert predictor.translate(TEXTS, tasks, decoding_temperature=2.0, seed=4)[3].text != found[3].text
    assert found[2] == found[4] == ("", 0.0, False, True)
    cold = predictor.translate(TEXTS, tasks, decoding_temperature=1e-6)
    assert [one.text for one in cold] == [one.text for one in predictor.translate(TEXTS, tasks, beam=1)]
    with pytest.raises(ValueError, match="sampling needs a positive and finite temperature, got 0"):
        predictor.translate(TEXTS, tasks, decoding_temperature=0)


def test_a_table_is_translated_in_its_order_whatever_else_it_has(predictor: TranslationPredictor) -> None:
    table = pd.DataFrame({"text": ["ein", None], "from": "de", "to": "en", "more": 1}, index=[5, 5])
    found = translated_table(predictor, table, beam=1)
    assert found["translation"].tolist() == [predictor.translate(["ein"], [0], beam=1)[0].text, ""]
    assert found["truncated"].tolist() == [False, False]
    assert found["finished"].tolist() == [predictor.translate(["ein"], [0], beam=1)[0].finished, True]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"text": ["a\x00b"]}, r"text 0: it holds the character U\+0000, which is no text; remove it"),
        ({"text": ["\ufeffa"]}, r"text 0: it holds the character U\+FEFF"),
        ({"text": [5]}, "column text, row 0: 5 is no text; write it as text"),
        ({"from": ["xx"]}, "row 0: this model does not translate from xx into en; it knows de-en, fr-en, en-de"),
        ({"from": ["en"]}, "row 0: from and to are both 'en'; give two languages"),
        ({"to": ["fr"]}, "row 0: this model does not translate from de into fr"),
    ],
)
def test_what_cannot_be_translated_is_refused_in_one_line(
    changed: dict[str, list[object]], reason: str, predictor: TranslationPredictor
) -> None:
    with pytest.raises(ValueError, match=reason):
        translated_table(predictor, pd.DataFrame({"text": ["ein"], "from": ["de"], "to": ["en"]} | changed))


def test_columns_rows_and_the_search_are_checked(predictor: TranslationPredictor) -> None:
    table = pd.DataFrame({"text": ["ein"], "from": ["de"], "to": ["en"]})
    with pytest.raises(ValueError, match="column to is missing; the model needs text, from, to"):
        translated_table(predictor, table.drop(columns="to"))
    with pytest.raises(ValueError, match="there are no rows"):
        translated_table(predictor, table[:0])
    with pytest.raises(ValueError, match="beam must be a whole number from 1 to 8, got 9"):
        translated_table(predictor, table, beam=9)
    with pytest.raises(ValueError, match=r"longest must be a whole number from 4 to 12, got 3$"):
        translated_table(predictor, table, longest=3)
    reason = r"got 13; the model learned from no longer texts, so cut yours into sentences$"
    with pytest.raises(ValueError, match=rf"^longest must be a whole number from 4 to 12, {reason}"):
        translated_table(predictor, table, longest=13)
    assert translated_table(predictor, table, longest=12).equals(translated_table(predictor, table))


@pytest.mark.parametrize("file", ["translator.json", "translator.npz", "vocabulary.json"])
def test_damaged_files_are_told_of_in_one_line(predictor: TranslationPredictor, tmp_path: Path, file: str) -> None:
    predictor.save(tmp_path / "kept")
    path = tmp_path / "kept" / file
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(
        ValueError,
        match=r"^[^\n]*(holds no (saved model|vocabulary) that can be read|is cut off)[^\n]*save (it|the model) again$",
    ):
        load_predictor(tmp_path / "kept")


@pytest.mark.parametrize("name", ["beam", "longest"])
def test_a_search_of_nothing_is_refused(predictor: TranslationPredictor, name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must be a whole number from \d to \d+, got 0$"):
        predictor.translate(["ein"], [0], **{name: 0})


def test_gaps_of_pandas_are_empty_texts_and_no_language(predictor: TranslationPredictor) -> None:
    table = pd.DataFrame({"text": ["ein Haus", None], "from": "de", "to": "en"}).convert_dtypes()
    assert translated_table(predictor, table)["translation"].iloc[1] == ""
    table.loc[1, "from"] = pd.NA
    with pytest.raises(ValueError, match=r"^row 1: this model does not translate from None into en"):
        translated_table(predictor, table)
