"""A detector of forms as it is logged, served and used on a folder of images."""

from __future__ import annotations

import json
import re
from base64 import b64decode, encodebytes
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mlflow
import numpy as np
import pandas as pd
import pytest

from data.base import DataError
from data.forms.composer import ComposedForms
from data.forms.images import READING, Reading, read_image
from models.forms.detect.components import Components
from models.forms.detect.saved import load_detector, save_detector
from models.forms.reader import FormReader, WholeReader, ink_of
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.crnn import CRNN
from models.forms.scale import ScaleWarning, ink_height
from models.forms.tables import found_table
from pipeline.host.errors import PipelineError
from pipeline.systems.forms import served
from pipeline.systems.forms.reading import servable as reading
from pipeline.systems.forms.segmentation.servable import table_of, trained_model
from pipeline.systems.forms.servable import png_of, servable
from pipeline.systems.predict import forms
from pipeline.systems.predict.config import PredictConfig
from pipeline.systems.predict.forms import predicted_forms
from pipeline.tracking.model import model_parts
from pipeline.tracking.servable import EXAMPLE
from served_in_process import application, in_process


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Any:
    forms = ComposedForms(forms=1, validation=1, test=2, height=96, width=128, source="stand_in", layout="free").load()
    folder, own = tmp_path_factory.mktemp("logged"), Components().network()
    (folder / "parameters").mkdir()
    trained_model(own, forms, 0.5).write(folder / "parameters")
    mlflow.pyfunc.save_model(folder / "model", **model_parts(servable(folder / "parameters"), folder))
    return SimpleNamespace(reader=FormReader(own), path=str(folder / "model"), forms=forms.parts["test"], data=forms)


def expected(logged: Any) -> pd.DataFrame:
    """What the detector itself finds."""
    return found_table({f"form {place + 1}": logged.reader.read(image)
                        for place, image in enumerate(logged.forms.images())})  # fmt: skip


def test_the_logged_model_finds_what_the_detector_finds_for_bytes_and_base64(logged: Any) -> None:
    model = mlflow.pyfunc.load_model(logged.path)
    table = table_of(logged.forms, 2)
    own = expected(logged)
    assert len(own)
    pd.testing.assert_frame_equal(model.predict(table), own)
    plain = table.assign(image=[png_of(logged.forms.image(place)) for place in range(2)])
    pd.testing.assert_frame_equal(model.predict(plain), own)
    lines = table.assign(image=[encodebytes(image).decode() for image in plain["image"]])
    assert "\n" in lines["image"][0]
    pd.testing.assert_frame_equal(model.predict(lines), own)
    some = model.predict(table, params={"least_score": 0.5})
    assert len(some) == (own["score"] >= 0.5).sum() < len(own)
    assert len(model.predict(table, params={"least_score": 1.0})) == 0


def test_a_detector_finds_boxes_from_the_score_on_that_it_is_kept_with(logged: Any, tmp_path: Path) -> None:
    """One that an older version saved has none, and finds all from 0.05 on."""
    own = expected(logged)
    least = float(own["score"].median())
    trained_model(logged.reader.detector, logged.data, 0.5, least).write(tmp_path)
    mlflow.pyfunc.save_model(tmp_path / "model", **model_parts(servable(tmp_path), tmp_path))
    model, table = mlflow.pyfunc.load_model(str(tmp_path / "model")), table_of(logged.forms, 2)
    assert len(model.predict(table)) == (own["score"] >= least).sum() < len(own)
    assert len(model.predict(table, params={"least_score": 0.05})) == len(own)
    description = tmp_path / "forms" / "detector.json"
    description.write_text(json.dumps(json.loads(description.read_text()) | {"more": {}}))
    assert served.Boxes.reader_of(tmp_path / "forms").least_score == 0.05


def test_arrays_of_greys_are_answered_as_png_bytes_of_the_same_greys_are(logged: Any) -> None:
    model, table, own = mlflow.pyfunc.load_model(logged.path), table_of(logged.forms, 2), expected(logged)
    greys = np.stack([logged.forms.image(place) for place in range(2)])
    for taken in (greys, greys.astype(float), greys.astype(np.int64)):
        pd.testing.assert_frame_equal(model.predict(taken), own)
    for column in (list(greys), [image.tolist() for image in greys]):
        pd.testing.assert_frame_equal(model.predict(table.assign(image=column)), own)
    first = own[own["form"] == "form 1"]
    pd.testing.assert_frame_equal(model.predict(greys[0]), first)
    pd.testing.assert_frame_equal(model.predict(255 - greys[0]), first)  # light ink is found out, as in a file
    assert len(model.predict(greys[0], params={"least_score": 1.0})) == 0
    assert len(model.predict(np.full((2, 9, 9), 250))) == 0


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.zeros((9, 8, 3), np.uint8), "array: the shape (9, 8, 3) is not (height, width) or (image, height, width); "
         "make it grey, as by np.asarray(PIL.Image.fromarray(image).convert('L'))"),
        (np.zeros((2, 9, 8, 3)), "array: the shape (2, 9, 8, 3) is not (height, width) or (image, height, width); "),
        (np.zeros((9, 8, 1)), "array: the shape (9, 8, 1) is not (height, width) or (image, height, width); take "),
        (np.zeros(9), "array: the shape (9,) is not (height, width) or (image, height, width)"),
        (np.zeros((0, 9, 8)), "array: the shape (0, 9, 8) is not (height, width) or (image, height, width)"),
        (np.full((2, 9, 8), 0.5), "form 'form 1': the value 0.5 of row 0, column 0 (from 0 on) is no grey; give whole"),
        (np.full((9, 8), 300), "form 'form 1': the value 300 of row 0, column 0 (from 0 on) is no grey; give whole"),
    ],
)  # fmt: skip
def test_arrays_that_are_no_greys_are_refused_in_one_line(array: np.ndarray, said: str, logged: Any) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(said)}[^\n]*$"):
        mlflow.pyfunc.load_model(logged.path).predict(array)


def test_servers_answer_with_rows_or_a_line(logged: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(logged.forms, 1)
    for kind in ("plain", "strict"):
        app = application(logged.path, kind, monkeypatch)
        status, said = in_process(app, {"dataframe_split": json.loads(table.to_json(orient="split"))})
        assert status == 200, said
        assert len(said["predictions"]) == (expected(logged)["form"] == "form 1").sum()
        greys = {"dataframe_records": [{"form": "form 1", "image": logged.forms.image(0).tolist()}]}
        assert in_process(app, greys) == (200, said)
        for body, reason in (
            ({"dataframe_records": [{"form": "a"}]}, "expected a table with the columns form and image"),
            ({"dataframe_records": [{"form": "a", "image": "?"}]}, "form 'a': image is no base64"),
            ({"dataframe_records": [{"form": "a", "image": "JVBERi0xLjQ="}]}, "this is a PDF and no image"),
            (
                {"dataframe_records": [{"form": "a", "image": 3}]},
                "an array (height, width) of greys, and is of type int",
            ),
            (
                {"dataframe_records": [{"form": "a", "image": [[0, 1], [2]]}]},
                "form 'a': the rows of the image differ in",
            ),
            ({"dataframe_records": table.to_dict("records") * 2}, "form 'form 1' comes twice"),
            ({"inputs": [[1]]}, "this model takes a table"),
        ):
            status, said = in_process(app, body)
            assert status == 400
            assert reason in said["message"]


def asked(path: Path, **changed: Any) -> PredictConfig:
    settings = PredictConfig(**{"recipe": "predict", **changed})
    settings.data.path = str(path)
    return settings


def test_a_folder_of_images_is_predicted_image_by_image(logged: Any, tmp_path: Path) -> None:
    model = mlflow.pyfunc.load_model(logged.path)
    with pytest.raises(DataError, match="the folder has no image"):
        predicted_forms(model, asked(tmp_path))
    for place in range(2):
        (tmp_path / f"{place}.png").write_bytes(png_of(logged.forms.image(place)))
    (tmp_path / "notes.txt").touch()
    found, words = predicted_forms(model, asked(tmp_path))
    own = expected(logged)
    assert words == f"{len(own)} boxes on 2 forms, {len(own)} of them words"
    np.testing.assert_array_equal(found["x0"], own["x0"])
    assert found["form"].unique().tolist() == ["0.png", "1.png"]
    (tmp_path / "dark.png").write_bytes(png_of(255 - logged.forms.image(0)))
    with pytest.warns(
        UserWarning, match=r"dark.png: light ink on dark paper, in 1 of 1 images; they were read inverted"
    ):
        dark, _ = predicted_forms(model, asked(tmp_path / "dark.png"))
    assert dark["x0"].tolist() == own.loc[own["form"] == "form 1", "x0"].tolist()
    (tmp_path / "dark.png").unlink()
    alone, _ = predicted_forms(model, asked(tmp_path / "1.png"))
    assert len(alone) == (own["form"] == "form 2").sum()
    least = float(own["score"].median())
    few, _ = predicted_forms(model, asked(tmp_path, least_score=least))
    assert few["score"].tolist() == own.loc[own["score"] >= least, "score"].tolist()
    for refused, said in (({"beam": 2}, "beam=2"), ({"vocabulary": True}, "vocabulary=true")):
        with pytest.raises(PipelineError, match=rf"^{said}: this model reads images of forms; leave it out$"):
            predicted_forms(model, asked(tmp_path, **refused))
    speck = np.full_like(logged.forms.image(0), 255)
    speck[9, 9] = 0
    (tmp_path / "speck.png").write_bytes(png_of(speck))
    found, words = predicted_forms(model, asked(tmp_path))
    assert (len(found), words.partition(";")[2]) == (len(own), " none on speck.png")
    for more in range(6):
        (tmp_path / f"x{more}.png").write_bytes(png_of(speck))
    assert predicted_forms(model, asked(tmp_path))[1].endswith(
        "; none on speck.png, x0.png, x1.png, x2.png, x3.png and 2 more"
    )
    (tmp_path / "back.png").write_bytes(png_of(np.full((20, 20), 250, np.uint8)))
    found, words = predicted_forms(model, asked(tmp_path))
    assert (len(found), words.partition(";")[2]) == (
        len(own), " none on speck.png, x0.png, x1.png, x2.png, x3.png and 2 more; nothing is to be seen on back.png"
    )  # fmt: skip
    (tmp_path / "black.png").write_bytes(png_of(np.zeros((20, 20), np.uint8)))
    said = r"^1 of 11 images cannot be used: .*black.png: nothing is to be seen, all pixels are black \(0 to 0\); leave"
    with pytest.raises(DataError, match=said):
        predicted_forms(model, asked(tmp_path))
    (tmp_path / "black.png").unlink()
    (tmp_path / "2.png").write_bytes(b"x")
    with pytest.raises(DataError, match=r"^1 of 11 images cannot be used: .*2.png: this is no image .*; nothing was"):
        predicted_forms(model, asked(tmp_path))
    (tmp_path / "3.png").write_bytes(b"%PDF-1.7")
    said = r"^2 of 12 images .*2.png: this is no image .*3.png: this is a PDF .*"
    with pytest.raises(DataError, match=said):
        predicted_forms(model, asked(tmp_path))


def test_where_every_box_has_a_low_score_their_number_and_the_setting_are_said(
    logged: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An image is checked once, before the model reads it, also where the model is asked of it anew."""
    checked = list[str]()
    monkeypatch.setattr(
        forms, "read_image", lambda *own, **how: checked.append(how["where"]) or read_image(*own, **how)
    )
    trained_model(logged.reader.detector, logged.data, 0.5, 1.0).write(tmp_path)
    mlflow.pyfunc.save_model(tmp_path / "model", **model_parts(servable(tmp_path), tmp_path))
    model, count = mlflow.pyfunc.load_model(str(tmp_path / "model")), len(expected(logged))
    (tmp_path / "scans").mkdir()
    for place in range(2):
        (tmp_path / "scans" / f"{place}.png").write_bytes(png_of(logged.forms.image(place)))
    front = "0 boxes on 2 forms, 0 of them words; none on 0.png, 1.png"
    for given, least in (({}, "the model's least score"), ({"least_score": 0.999}, "least_score=0.999")):
        checked.clear()
        found, words = predicted_forms(model, asked(tmp_path / "scans", **given))
        assert [Path(where).name for where in checked] == ["0.png", "1.png"]
        assert (len(found), words) == (0, f"{front}; {count} with a score below {least}: least_score=0.05 takes them")
    lower, words = predicted_forms(model, asked(tmp_path / "scans", least_score=0.05))
    assert (len(lower), "below" in words) == (count, False)


@pytest.mark.parametrize(("invert", "taken"), [("true", "light"), ("false", "dark")])
def test_a_model_reads_ink_as_its_training_images_were_read(
    invert: str, taken: str, logged: Any, tmp_path: Path
) -> None:
    """And warns of none: the ink is not found out."""
    parameters, first = tmp_path / "parameters", expected(logged).query("form == 'form 1'")["x0"].tolist()
    parameters.mkdir()
    trained_model(Components().network(), replace(logged.data, invert=invert), 0.5).write(parameters)
    mlflow.pyfunc.save_model(tmp_path / "model", **model_parts(servable(parameters), tmp_path))
    model = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    assert model.predict(pd.read_csv(parameters / EXAMPLE))["x0"].tolist() == first
    for ink, image in (("dark", logged.forms.image(0)), ("light", 255 - logged.forms.image(0))):
        (tmp_path / f"{ink}.png").write_bytes(png_of(image))
        found, _ = predicted_forms(model, asked(tmp_path / f"{ink}.png"))
        assert (found["x0"].tolist() == first) is (ink == taken)


@pytest.mark.parametrize("kind", ["words", "pages", "whole"])
def test_what_is_read_knows_how_ink_is_told(kind: str, logged: Any, tmp_path: Path) -> None:
    """Its example has light ink where training images had it, and is read as the same example with dark ink is."""
    network = CRNN(height=16, units=8).network(Alphabet(tuple("abc")), seed=0).eval()
    reader = WholeReader(network) if kind == "whole" else FormReader(Components().network(), network)
    answers = {}
    for invert in ("auto", "true"):
        folder = tmp_path / invert
        folder.mkdir()
        kept = reading.trained_model(reader, replace(logged.data, invert=invert), 0.5, given=kind == "words")
        kept.write(folder)
        assert servable(folder).metadata["invert"] == invert
        example = pd.read_csv(folder / EXAMPLE)
        grey = read_image(b64decode(example["image"][0]), where="", reading=Reading(invert="false")).grey
        assert bool(np.median(grey) < 128) is (invert == "true")
        answers[invert] = served.KINDS[kind](folder / kind).answer(example, {})
    pd.testing.assert_frame_equal(answers["auto"], answers["true"])


@pytest.mark.parametrize("kind", ["words", "pages"])
def test_readers_take_arrays_too(kind: str, logged: Any, tmp_path: Path) -> None:
    network = CRNN(height=16, units=8).network(Alphabet(tuple("abc")), seed=0).eval()
    reader = FormReader(Components().network(), network)
    reading.trained_model(reader, logged.data, 0.5, given=kind == "words").write(tmp_path)
    model = served.ServedForms()
    model.load_context(SimpleNamespace(artifacts={"parameters": tmp_path}))
    greys = np.stack([logged.forms.image(place) for place in range(2)])
    table = table_of(logged.forms, 2).assign(image=[png_of(image) for image in greys])
    answer = model.predict(None, greys)
    assert len(answer) >= 2
    pd.testing.assert_frame_equal(answer, model.predict(None, table))


def test_parameters_of_before_find_out_how_ink_is_told(logged: Any, tmp_path: Path) -> None:
    trained_model(Components().network(), replace(logged.data, invert="true"), 0.5).write(tmp_path)
    (tmp_path / READING).unlink()
    assert servable(tmp_path).metadata["invert"] == served.KINDS["forms"](tmp_path / "forms").reading.invert == "auto"


def test_forms_of_another_scale_are_told_from_those_of_training(logged: Any, tmp_path: Path) -> None:
    """Once for a folder, by the first one; a detector of before, which keeps no scale, says nothing."""
    train = logged.data.parts["train"]
    words = train.boxes[train.classes == 1]
    detector, more = load_detector(Path(logged.path).parent / "parameters" / "forms")
    assert more["scale"] == {
        "word": float(np.median(words[:, 3] - words[:, 1])),
        "ink": ink_height(ink_of(train.image(0))),
        "side": 128.0,
        "smallest": None,
    }
    model, large = mlflow.pyfunc.load_model(logged.path), np.kron(train.image(0), np.ones((4, 4), np.uint8))
    for name in "ab":
        (tmp_path / f"{name}.png").write_bytes(png_of(large))
    (tmp_path / "c.png").write_bytes(png_of(logged.forms.image(0)))
    said = r"^form 'a.png': its ink is 4 times as high .* by about a factor of 4, .* \(such are 2 of 3 forms\)$"
    with pytest.warns(UserWarning, match=said) as warned:
        predicted_forms(model, asked(tmp_path))
    assert len(warned) == 1
    with pytest.warns(ScaleWarning, match="^form 'form 1': its ink is 4 times as high"):
        model.predict(large)
    save_detector(detector, tmp_path / "forms", more={"least_score": more["least_score"]})
    assert served.Boxes(tmp_path / "forms").reader.read(large)
