"""Word models, and character models that begin with one: of another run, from a folder, or trained before."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import mlflow
import pandas as pd
import pytest
import torch

from data.forms.hand import write_words
from full_disk import stopped_and_resumed
from logged import only_run, table
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.character import CharacterNetwork
from models.forms.recognise.objective import RecognitionObjective
from models.forms.recognise.saved import load_recogniser, save_recogniser
from models.forms.recognise.word import Word, WordNetwork
from pipeline.host.errors import PipelineError
from pipeline.systems.forms.config import FormsFit
from pipeline.systems.forms.reading import parts
from pipeline.systems.forms.recipe import names_of_run
from pipeline.systems.forms.recognition.starting import start_digest
from pipeline.systems.forms.servable import png_of

TEXTS = ["ada", "berg", "otto"] * 5
ALPHABET = Alphabet.of_texts(TEXTS)
CHARACTER = ("recogniser=character", "tracking.log_model=false")


@pytest.fixture
def asked(tmp_path: Path) -> tuple[str, ...]:
    """A folder of fifteen images of three words, and what every run of it asks for."""
    for number, image in enumerate(write_words(TEXTS, range(len(TEXTS)), seed=0).images()):
        (tmp_path / f"{number}.png").write_bytes(png_of(image))
    rows = pd.DataFrame({"file": [f"{number}.png" for number in range(len(TEXTS))], "text": TEXTS})
    rows.to_csv(tmp_path / "words.csv", index=False)
    return (
        "recipe=forms", "forms.stage=recognition", "data=words_folder", f"data.path={tmp_path / 'words.csv'}",
        "size=tiny", "tracking.detail=summary", "forms.augment=none", "forms.retrieval=false", "recognition.batch=3",
    )  # fmt: skip


def test_a_word_model_is_kept_and_a_character_model_begins_with_its_trunk(
    run_pipeline: Callable, client, monkeypatch: pytest.MonkeyPatch, asked: tuple[str, ...], tmp_path: Path
) -> None:
    assert run_pipeline(*asked, "recogniser=word", "run_name=words").status == 0
    run, parameters = only_run(client), tmp_path / "parameters"
    read = table(run, "read.csv")
    assert "nearest" not in read
    client.download_artifacts(run.info.run_id, "parameters", str(tmp_path))
    word, _ = load_recogniser(parameters / "words")
    assert isinstance(word, WordNetwork)
    assert word.words == ("ada", "berg", "otto")
    model = mlflow.pyfunc.load_model(f"runs:/{run.info.run_id}/model")
    assert model.predict(pd.read_csv(parameters / "example.csv"))["text"].tolist() == read["read"].tolist()[:1]

    character, given = (*asked, *CHARACTER), list[WordNetwork]()
    monkeypatch.setattr(CharacterNetwork, "start", lambda own, network: given.append(network))  # noqa: ARG005
    for start in (run.info.run_name, str(parameters / "words")):
        assert run_pipeline(*character, f"recogniser.start={start}", "recognition.epochs=0").status == 0
        assert torch.equal(given.pop().trunk.stem.weight, word.trunk.stem.weight)
    monkeypatch.undo()
    wide = run_pipeline(*character, f"recogniser.start={run.info.run_name}", "recogniser.width=16")
    assert "width=16, the word model that it starts from height=32 and width=8" in wide.error
    assert "no finished run is named 'other'" in run_pipeline(*character, "recogniser.start=other").error


def test_a_word_model_that_is_trained_before_goes_on_to_the_same_numbers(
    run_pipeline: Callable, client, monkeypatch: pytest.MonkeyPatch, asked: tuple[str, ...]
) -> None:
    character = (*asked, *CHARACTER, "recogniser.start=word")
    assert run_pipeline(*character).status == 0
    whole = only_run(client)
    assert {"word/word_loss", "recogniser/ctc_loss"} <= set(whole.data.metrics)
    client.delete_run(whole.info.run_id)
    # four steps are those of the word model
    stopped_and_resumed(run_pipeline, character, RecognitionObjective, 6, monkeypatch)
    pd.testing.assert_frame_equal(table(whole, "read.csv"), table(only_run(client), "read.csv"), check_exact=True)


def test_a_model_to_start_from_that_is_trained_again_makes_another_run_and_another_part(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    section: dict[str, Any] = {
        "_target_": "models.forms.recognise.character.Character",
        "start": str(tmp_path / "words"),
    }
    own = {"stage": "recognition", "boxes": "found", "augment": "none", "alphabet": "texts", "scored": "words",
           "variant": None, "vocabulary": None, "moved": 0.0, "corrected_within": 0}  # fmt: skip
    settings: Any = SimpleNamespace(
        recipe="forms", forms=SimpleNamespace(**own), recogniser=section, recognition=FormsFit(), refiner=None,
        reader=None, extensions=[], seed=0, dtype="float32",
    )  # fmt: skip
    monkeypatch.setattr(parts, "part_of", lambda name, mark, *_: mark)  # noqa: ARG005
    data: Any = SimpleNamespace(checksum="")

    def said(seed: int) -> tuple[str, Any]:
        shutil.rmtree(tmp_path / "words", ignore_errors=True)
        network = Word(width=8).prepared(TEXTS, ALPHABET).network(ALPHABET, seed=seed)
        save_recogniser(network, tmp_path / "words")
        named = names_of_run(settings, cast("Any", SimpleNamespace(choices={})), "words")
        return named.content, parts.recogniser_for(settings, data, data, torch.device("cpu"))

    first, again, other = said(0), said(0), said(1)
    assert first == again
    assert first[0] != other[0]
    assert first[1] != other[1]
    assert [start_digest(settings) for section["start"] in (None, "word")] == ["", ""]
    section["start"] = str(tmp_path)
    with pytest.raises(PipelineError, match=f"recogniser.start={tmp_path}: .* holds no saved recogniser"):
        start_digest(settings)
