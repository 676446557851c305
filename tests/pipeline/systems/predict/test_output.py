"""What `recipe=predict` says of the file and of the model that are named, and of the file that it writes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from pipeline.host.errors import PipelineError
from pipeline.systems.predict.config import ModelUriConfig, NewDataConfig, PredictConfig, check
from pipeline.systems.predict.recipe import output_of, word_of_model, write_predictions
from pipeline.tracking.model import load_model

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


def test_a_file_that_takes_the_place_of_an_older_one_is_told(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    file = tmp_path / "new-forecast-aaaaaaaa.csv"
    write_predictions(pd.DataFrame({"a": [1]}), file, "forecasts of 1 step")
    assert capsys.readouterr().out == f"forecasts of 1 step: {file}\n"
    write_predictions(pd.DataFrame({"a": [1, 2]}), file, "forecasts of 2 steps")
    told = "(in place of an older file of this name; another output=FILE keeps both)"
    assert capsys.readouterr().out == f"forecasts of 2 steps: {file} {told}\n"
    assert pd.read_csv(file)["a"].tolist() == [1, 2]


@pytest.mark.parametrize("path", ["", " "])
def test_an_empty_path_is_named_with_what_to_give(path: str) -> None:
    with pytest.raises(PipelineError, match=r"^data\.path is empty; give data\.path=FILE"):
        check(PredictConfig(data=NewDataConfig(path=path), model=ModelUriConfig(uri=FIRST)))


@pytest.mark.parametrize("named", ["runs:/{}", "runs:/{}/", "{}"])
def test_a_run_in_place_of_its_model_is_told_how_the_model_is_typed(named: str) -> None:
    run = "0a" * 16
    with pytest.raises(PipelineError, match=f"names a run and not its model; give model=runs:/{run}/model$"):
        load_model(named.format(run))
