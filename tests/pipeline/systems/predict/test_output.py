"""Where predictions go when no file is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.systems.predict.config import ModelUriConfig, NewDataConfig, PredictConfig
from pipeline.systems.predict.recipe import output_of, word_of_model

FIRST, SECOND = (f"runs:/{digit * 8}{'0' * 24}/model" for digit in "ab")


def output(uri: str, given: Path, *, horizon: int = 0) -> Path:
    asked = PredictConfig(data=NewDataConfig(path=str(given)), model=ModelUriConfig(uri=uri), horizon=horizon)
    return output_of(asked)


def test_predictions_of_two_models_on_one_file_have_two_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert output(FIRST, tmp_path / "new.csv") == tmp_path / "new-predictions-aaaaaaaa.csv"
    assert output(SECOND, tmp_path / "new.csv") == tmp_path / "new-predictions-bbbbbbbb.csv"


def test_a_forecast_and_one_step_predictions_have_two_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert output(FIRST, tmp_path / "new.csv") == tmp_path / "new-predictions-aaaaaaaa.csv"
    assert output(FIRST, tmp_path / "new.csv", horizon=20) == tmp_path / "new-forecast-aaaaaaaa.csv"


@pytest.mark.parametrize(
    ("uri", "word"),
    [
        ("models:/houses/1", "houses-1"),
        ("models:/houses@best", "houses-best"),
        ("store/first/model", "store-first"),
        ("file:///store/second/model", "store-second"),
        ("s3://bucket/third", "bucket-third"),
    ],
)
def test_a_model_has_a_word_that_a_file_can_be_called(uri: str, word: str) -> None:
    assert word_of_model(uri) == word


def test_long_addresses_that_begin_alike_have_two_words() -> None:
    first, second = (word_of_model(f"{'folder/' * 20}{name}/model") for name in ("first", "second"))
    assert first != second
    assert "/" not in first + second
