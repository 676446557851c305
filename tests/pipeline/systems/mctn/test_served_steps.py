"""A model that was scored on the first steps alone reads the first steps alone where it is served."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest

from data import utterances
from data.files.exact_numbers import EXACT
from models.mctn import tables
from models.mctn.tables import COLUMNS, load_table_predictor

CUTS = pytest.mark.parametrize(
    ("cut", "kept"), [(("data.steps=3",), 3), (("size.steps=2",), 2), (("data.steps=3", "size.steps=5"), 3)]
)


def logged(client) -> tuple[pd.Series, str, Path]:
    """Returns the predictions of the only run by sample, its model, and the folder of its parameters."""
    (run,) = client.search_runs([e.experiment_id for e in client.search_experiments()])
    text = mlflow.artifacts.load_text(f"{run.info.artifact_uri}/predictions.csv")
    scored = pd.read_csv(io.StringIO(text), dtype={"name": str}, **EXACT).set_index("name")["prediction"]
    folder = mlflow.artifacts.download_artifacts(f"{run.info.artifact_uri}/parameters")
    return scored, f"runs:/{run.info.run_id}/model", Path(folder)


def without_key(folder: Path) -> None:
    """Makes the saved model one that was written before the number of steps was."""
    described = json.loads((folder / COLUMNS).read_text(encoding="utf-8"))
    del described["most_steps"]
    (folder / COLUMNS).write_text(json.dumps(described), encoding="utf-8")


def check_scored(client, table: pd.DataFrame, kept: int) -> None:
    """What is served is what was scored; a model without the number of steps reads all, which is something else."""
    scored, model, folder = logged(client)
    found = mlflow.pyfunc.load_model(model).predict(table).set_index("sample")["score"]
    assert found.loc[scored.index].to_numpy() == pytest.approx(scored.to_numpy(), rel=1e-5)
    assert load_table_predictor(folder).most_steps == kept
    without_key(folder)
    older = load_table_predictor(folder)
    assert older.most_steps is None
    whole = older.predict(table).set_index("sample")["score"].loc[scored.index]
    assert np.abs(whole.to_numpy() - scored.to_numpy()).max() > 1e-3


@CUTS
def test_texts(run_pipeline: Callable, client, tmp_path: Path, cut: tuple[str, ...], kept: int) -> None:
    said = [f"{how} {what} of number {k} good bad awful day" for k in range(5)
            for how in ("good", "bad", "awful") for what in ("film", "day")]  # fmt: skip
    labels = [1.0 if text.startswith("good") else -1.0 for text in said]
    own = pd.DataFrame({"sample": [f"s{k}" for k in range(len(said))], "text": said, "label": labels})
    own.to_csv(tmp_path / "own.csv", index=False)
    result = run_pipeline("recipe=mctn", "data=utterances", f"data.path={tmp_path / 'own.csv'}", "data.words=own", *cut,
                          "mctn.arm=none-t", "mctn.units=4", "mctn.bar=null", "fit.epochs=2")  # fmt: skip
    assert result.status == 0, result.err
    check_scored(client, own.drop(columns="label"), kept)


@CUTS
def test_rows_of_numbers(run_pipeline: Callable, client, tmp_path: Path, cut: tuple[str, ...], kept: int) -> None:
    chance = np.random.default_rng(0)
    rows = [
        {"sample": f"s{k}", "step": step, "label": float(chance.normal()), "a_pitch": chance.normal()}
        for k in range(20) for step in range(6)
    ]  # fmt: skip
    own = pd.DataFrame(rows)
    own["label"] = own.groupby("sample")["label"].transform("first")
    own.to_csv(tmp_path / "own.csv", index=False)
    result = run_pipeline("recipe=mctn", "data=utterances", f"data.path={tmp_path / 'own.csv'}", *cut,
                          "mctn.arm=none-a", "mctn.units=4", "mctn.bar=null", "fit.epochs=2")  # fmt: skip
    assert result.status == 0, result.err
    check_scored(client, own.drop(columns="label"), kept)
    long = pd.DataFrame({"sample": "long", "a_pitch": np.zeros(10_001)})
    with pytest.raises(ValueError, match=r"^sample long, a_pitch: 10001 steps; at most 10000; send fewer$"):
        mlflow.pyfunc.load_model(logged(client)[1]).predict(long)


def test_a_text_of_too_many_words_is_refused_whatever_is_read_of_it() -> None:
    words = tables.Vocabulary(("good",), np.array([[0.0], [1.0]], np.float16), "[a-z]+")
    assert words.steps("Good or good", "1", 2).tolist() == [[1.0], [0.0]]
    assert len(words.steps("good " * 10_000, "1")) == 10_000
    with pytest.raises(ValueError, match=r"^sample s5, text: 10001 steps; at most 10000; send fewer$"):
        words.steps("good " * 10_001, "s5", 3)


def test_the_limit_is_that_of_loading() -> None:
    assert tables.MOST_STEPS == utterances.MOST_STEPS


def test_texts_of_no_known_word_are_counted() -> None:
    words = tables.Vocabulary(("good",), np.array([[0.0], [1.0]], np.float16), "[a-z]+")
    words.warn_of_unknown(["good film", "", "GOOD", "…"])
    with pytest.warns(UserWarning, match=r"^2 of 3 texts have no known word; their scores say little$"):
        words.warn_of_unknown(["gut", "good", "schlecht und lang"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don\u2019t, don't, don\u02bct", ["don't"] * 3), ("\u2018good\u2019 film", ["good", "film"]),
        ("the dogs\u2019 good film", ["the", "dogs", "good", "film"]),
        ("rock \u2019n\u2019 roll", ["rock", "n", "roll"]),
    ],
)  # fmt: skip
def test_an_apostrophe_of_print_is_one_that_is_typed(text: str, expected: list[str]) -> None:
    known = ("don't", "good", "film")
    assert utterances.words_of(text) == expected
    words = tables.Vocabulary(known, np.arange(4, dtype=np.float16)[:, np.newaxis], utterances.WORD.pattern)
    assert words.steps(text, "1")[:, 0].tolist() == [1 + known.index(own) if own in known else 0 for own in expected]
