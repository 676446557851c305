"""Recognisers on disk: what is loaded reads the same."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from torch import Tensor

from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.character import Character
from models.forms.recognise.correction import Correction
from models.forms.recognise.crnn import CRNN
from models.forms.recognise.ctc_seq2seq import CTCSeq2Seq
from models.forms.recognise.language import Language
from models.forms.recognise.moran import MORAN
from models.forms.recognise.recogniser import RecogniserSettings
from models.forms.recognise.saved import load_recogniser, save_recogniser
from models.forms.recognise.word import Word

CTC_SEQ2SEQ = CTCSeq2Seq(height=16, channels=16, units=8, encoder_layers=1, decoder_layers=1)
SMALL = (
    CRNN(height=16, units=8),
    CRNN(height=16, units=8, language=Language(beam=2, texts=("ada", "berg"))),
    CTC_SEQ2SEQ,
    MORAN(height=16, units=8),
    Word(height=16, vocabulary=("ada", "berg")),
    Character(height=16, start="word"),
)


@pytest.mark.parametrize("settings", SMALL, ids=lambda own: type(own).__name__)
def test_what_is_loaded_reads_the_same(settings: RecogniserSettings, word_images: list[Tensor], tmp_path: Path) -> None:
    network = settings.network(Alphabet(tuple("abdegrot")), seed=1).eval()
    save_recogniser(network, tmp_path / "kept", correction=Correction(("ada",)))
    loaded, correction = load_recogniser(tmp_path / "kept")
    assert (loaded.settings, correction) == (settings, Correction(("ada",)))
    assert loaded.read_words(word_images) == network.read_words(word_images)


def test_what_was_saved_before_it_could_be_residual_is_not(word_images: list[Tensor], tmp_path: Path) -> None:
    settings = replace(CTC_SEQ2SEQ, residual=False)
    network = settings.network(Alphabet(tuple("abdegrot")), seed=1).eval()
    save_recogniser(network, tmp_path / "kept")
    described = json.loads((tmp_path / "kept" / "recogniser.json").read_text(encoding="utf-8"))
    del described["settings"]["fields"]["residual"]
    (tmp_path / "kept" / "recogniser.json").write_text(json.dumps(described), encoding="utf-8")
    loaded, _ = load_recogniser(tmp_path / "kept")
    assert loaded.settings == settings
    assert loaded.read_words(word_images) == network.read_words(word_images)


def test_a_folder_without_a_recogniser_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"holds no saved recogniser: recogniser\.json is not there"):
        load_recogniser(tmp_path)
