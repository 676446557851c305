"""A model of documents as it is logged, served and used on a file."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mlflow
import pandas as pd
import pytest

from data.base import DataError
from data.documents.generator import SyntheticDocuments
from data.pages import Document
from models.documents.chunks import Reading
from models.documents.network import Architecture, DocumentNetwork
from models.documents.predictor import DocumentPredictor
from models.documents.tables import predicted_table
from models.sequence.patterns import DistanceWindow
from models.sequence.vocabulary import Vocabulary
from pipeline.host.errors import PipelineError
from pipeline.systems.documents.servable import servable, table_of, trained_model
from pipeline.systems.predict.config import PredictConfig
from pipeline.systems.predict.documents import predicted_documents
from pipeline.tracking.model import model_parts
from served_in_process import application, in_process


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    made = SyntheticDocuments(train=2, validation=1, test=1, words=60, questions=4, values=2).load().parts["train"]
    return [own._replace(words=("NA", *own.words[1:])) for own in made]


def predictor(documents: list[Document], head: str) -> DocumentPredictor:
    vocabulary = Vocabulary.train([" ".join(own.words) for own in documents], pieces=280)
    network = DocumentNetwork(Architecture(vocabulary.size, 8, 2, 8, layers=1, longest=90, outputs=3), seed=0).eval()
    outputs = ("O", "B-a", "I-a") if head == "tags" else ("u", "v", "w")
    return DocumentPredictor(network, Reading(vocabulary, (DistanceWindow(8, 8),), 1, 90, 20), head, outputs)


@pytest.fixture(scope="module", params=["tags", "classes"])
def logged(request: Any, documents: list[Document], tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("logged")
    own = predictor(documents, request.param)
    (folder / "parameters").mkdir()
    trained_model(own, documents, 0.5).write(folder / "parameters")
    parts = model_parts(servable(folder / "parameters"), folder)
    mlflow.pyfunc.save_model(folder / "model", **parts)
    return SimpleNamespace(own=own, path=str(folder / "model"), head=request.param)


def test_the_logged_model_says_what_the_predictor_says(logged: Any, documents: list[Document]) -> None:
    model = mlflow.pyfunc.load_model(logged.path)
    assert model.metadata.metadata["takes"] == "documents"
    found = model.predict(table_of(documents))
    if logged.head == "tags":
        expected = logged.own.tags(documents)
        assert found["label"].tolist() == [tag for own in expected for tag in own.labels]
        assert found["probability"].tolist() == [float(each) for own in expected for each in own.probabilities]
        assert found["word"].tolist()[0] == "NA"
    else:
        assert found["label"].tolist() == [own.label for own in logged.own.classes(documents)]
    assert found["chunks"].min() > 1
    assert len(model.input_example) == 80
    assert model.input_example["word"].tolist()[0] == "NA"


def test_servers_answer_with_tables_or_a_line(
    logged: Any, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = table_of(documents[:1], most=6)
    table.loc[2, ["x0", "y0", "x1", "y1"]] = None
    split = json.loads(table.to_json(orient="split"))
    for kind in ("plain", "strict"):
        app = application(logged.path, kind, monkeypatch)
        with pytest.warns(UserWarning, match="1 of 6 words have no box"):
            status, said = in_process(app, {"dataframe_split": split})
        assert status == 200, said
        assert len(said["predictions"]) == (6 if logged.head == "tags" else 1)
        assert {"label", "probability", "chunks"} <= set(said["predictions"][0])
        for body, reason in (
            ({"dataframe_records": [{"word": "a"}]}, "column document is missing"),
            ({"inputs": [[1]]}, "this model takes a table"),
            ({"dataframe_records": table.assign(page_width=0.0).to_dict("records")}, "its size is missing or 0"),
        ):
            status, said = in_process(app, json.loads(json.dumps(body).replace("NaN", "null")))
            assert status == 400
            assert reason in said["message"]


def asked(path: Path, **changed: Any) -> PredictConfig:
    settings = PredictConfig(**{"recipe": "predict", **changed})
    settings.data.path = str(path)
    return settings


def test_a_file_is_predicted_as_far_as_a_model_that_cuts_reads(
    logged: Any, documents: list[Document], tmp_path: Path
) -> None:
    cut = replace(logged.own, reading=replace(logged.own.reading, whole=False))
    metadata = SimpleNamespace(
        metadata={"gives": logged.head, "whole": False}
    )  # as models have that were logged before
    model = SimpleNamespace(metadata=metadata, predict=lambda table: predicted_table(cut, table))
    table_of(documents).to_csv(tmp_path / "own.csv", index=False)
    said = r"^\d+ of 120 words are not read, as this model was trained to read the first 90 "
    with pytest.warns(UserWarning, match=said):
        found, words = predicted_documents(model, asked(tmp_path / "own.csv"))
    if logged.head == "tags":
        read = found.groupby("document")["label"].count()
        assert 0 < read.min() <= read.max() < 60
        assert words == f"tags of {read.sum()} words in 2 documents"
    else:
        assert words == "classes of 2 documents"


def test_columns_of_a_file_that_the_model_adds_too_are_kept(
    logged: Any, documents: list[Document], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, path = mlflow.pyfunc.load_model(logged.path), tmp_path / "own.csv"
    table_of(documents).assign(label="invoice", label_of_file="before", chunks=7).to_csv(path, index=False)
    found, _ = predicted_documents(model, asked(path))
    said, tags = capsys.readouterr().out, logged.head == "tags"
    assert ("the file's own are kept as label_of_file_of_file, chunks_of_file" in said) == tags
    if tags:
        assert set(found["label"]) <= {"O", "a"}
        assert [set(found[name]) for name in ("label_of_file", "label_of_file_of_file", "chunks_of_file")] == [
            {"before"}, {"invoice"}, {"7"},
        ]  # fmt: skip


def test_a_file_is_predicted_row_by_row(logged: Any, documents: list[Document], tmp_path: Path) -> None:
    model, path = mlflow.pyfunc.load_model(logged.path), tmp_path / "own.csv"
    table = table_of(documents).assign(more="x")
    table.to_csv(path, index=False)
    found, words = predicted_documents(model, asked(path))
    if logged.head == "tags":
        assert words == "tags of 120 words in 2 documents, 2 of them read in overlapping chunks"
        assert found["word"].tolist() == table["word"].tolist()
        assert found["label"].tolist() == model.predict(table)["label"].tolist()
        assert found["page"].tolist() == table["page"].tolist()
    else:
        assert words == "classes of 2 documents, 2 of them read in overlapping chunks"
        pd.testing.assert_frame_equal(found, model.predict(table))
    with pytest.raises(PipelineError, match=r"^horizon=3: this model reads documents; leave it out$"):
        predicted_documents(model, asked(path, horizon=3))
    table.assign(y1=-5.0).to_csv(path, index=False)
    with pytest.raises(
        DataError, match=rf"^{re.escape(str(path))}: document .*train-0, page 1, word 1 \('NA'\): it has"
    ):
        predicted_documents(model, asked(path))
    table.assign(x0="a").to_csv(path, index=False)
    said = rf"^data: {re.escape(str(path))}, row 2, document train-0, page 1, word 'NA': column 'x0': 'a' is no"
    with pytest.raises(DataError, match=said):
        predicted_documents(model, asked(path))
