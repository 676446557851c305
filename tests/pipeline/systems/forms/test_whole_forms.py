"""`reader=convolve_attend_spell`, tiny: whole forms are read at once, without a detector and without a recogniser."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import mlflow
import numpy as np
import pytest

from data.form_images import HandwrittenForms
from data.forms.composer import ComposedForms
from data.word_images import WordImages
from full_disk import stopped_and_resumed
from logged import artifacts, only_run, table
from models.forms.reader import CutWarning
from models.forms.recognise.objective import RecognitionObjective
from pipeline.host.errors import PipelineError
from pipeline.systems.forms.reading.load import pages_of, whole
from pipeline.systems.forms.segmentation.servable import table_of
from pipeline.systems.forms.servable import png_of

TINY = ("size=tiny", "data.source=stand_in", "data.height=96", "data.width=128", "data.layout=free")
CHARACTERS = 230
READER = ("reader=convolve_attend_spell", "reader.height=32", "reader.units=8", f"reader.characters={CHARACTERS}")
OWN = ("recipe=forms", "forms.stage=pipeline", *READER, *TINY, "recognition.batch=3")


def forms_like(*, train: int, held: int) -> HandwrittenForms:
    return ComposedForms(
        forms=train, validation=held, test=held, height=96, width=128, layout="free", source="stand_in"
    ).load()


def test_whole_forms_are_read_without_boxes_and_the_model_reads_the_same(
    run_pipeline: Callable, client, monkeypatch: pytest.MonkeyPatch, tmp_path, caplog
) -> None:
    stopped_and_resumed(run_pipeline, OWN, RecognitionObjective, 3, monkeypatch)
    assert "Failed to validate serving input" not in caplog.text  # so MLflow says of a warning, an error in tests
    run = only_run(client)
    metrics, tags = run.data.metrics, run.data.tags
    assert tags["arm"] == "convolve_attend_spell"
    assert "detector.mark" not in tags
    read = table(run, "read.csv")
    own: Any = read[read["part"] == "test"]
    assert set(read["reading"]) == {"read"}
    assert (read[["boxes", "pairs"]] == 0).all(axis=None)
    assert metrics["evaluate/test_cer"] == pytest.approx(100 * own["faults"].sum() / own["characters"].sum())
    assert {"evaluate/test_wer", "evaluate/test_style_cer", "evaluate/validation_recogniser"} <= set(metrics)
    assert not {f"evaluate/test_{name}" for name in ("order", "ap_word", "word_accuracy")} & set(metrics)
    assert {"figures/changes_form.svg", "figures/test_forms.svg", "figures/recogniser.svg"} <= artifacts(
        client, run, "figures"
    )

    test, uri = forms_like(train=6, held=6).parts["test"], f"runs:/{run.info.run_id}/model"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutWarning)  # after so little training
        said = mlflow.pyfunc.load_model(uri).predict(table_of(test, 6))
    known = own["read"].fillna("").tolist()
    assert said["text"].tolist() == [text for text in known if text]
    assert (said[["order", "x0", "y0", "x1", "y1", "score"]] == [0, 0, 0, 128, 96, 1]).all(axis=None)
    assert set(said["class"]) <= {"form"}
    (tmp_path / "scans").mkdir()
    for name in "01":
        (tmp_path / "scans" / f"{name}.png").write_bytes(png_of(test.image(0)))
    asked = ("recipe=predict", f"model={uri}", f"data.path={tmp_path / 'scans'}", f"output={tmp_path / 'out.csv'}")
    assert len(known[0]) == CHARACTERS  # cut
    with pytest.warns(UserWarning, match=r"^form '0.png': 230 characters .* \(such are 2 of 2 forms\)$") as warned:
        assert "text read on 2 of 2 forms" in run_pipeline(*asked).out
    assert len(warned) == 1


def test_forms_are_images_of_their_texts_and_one_of_too_many_characters_is_named() -> None:
    data = forms_like(train=2, held=1)
    pages, train = pages_of(data, 400), data.parts["train"]
    assert pages.parts["train"].texts == tuple(form.text() for form in train.forms())
    np.testing.assert_array_equal(pages.parts["train"].image(1), train.image(1))
    longest = max(len(text) for text in pages.parts["train"].texts)
    with pytest.raises(
        PipelineError, match=rf"has {longest} characters, and reader.characters={longest - 1}; raise it"
    ):
        pages_of(data, longest - 1)
    form = train.form(0)
    blank = form._replace(boxes=form.boxes[:0], classes=form.classes[:0], texts=(), order=form.order[:0], characters=())
    kept = whole(type(train).of([blank, form]))
    assert isinstance(kept, WordImages)
    assert kept.texts == (form.text(),)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("forms.stage=segmentation",), "forms.stage=segmentation: a reader of whole forms finds no boxes"),
        (("forms.boxes=truth",), "forms.boxes=truth: a reader of whole forms finds no boxes"),
        (
            ("forms.augment=affine",),
            "forms.augment=affine: images of words alone are slanted, and no recogniser of them",
        ),
        (("forms.alphabet=alphanumeric",), "take forms.alphabet=texts, or reader=two_phase"),
        (("reader.height=20",), "reader: height=20 must be a multiple of 32"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(asked: tuple[str, ...], said: str, run_pipeline: Callable) -> None:
    assert said in run_pipeline(*OWN, "tracking=off", *asked).error
