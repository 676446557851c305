"""`recipe=forms`, tiny, from the command line to the store and a parent's tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import mlflow
import numpy as np
import pandas as pd
import pytest

from data.form_images import NO_ORDER, STAMP, Form, FormImages
from data.forms.composer import ComposedForms
from full_disk import stopped_and_resumed
from logged import artifacts, only_run, table
from models.forms.detect.objective import DetectionObjective
from models.forms.detect.r_fcn import RFCN
from pipeline.export import export, export_again
from pipeline.host.errors import PipelineError
from pipeline.systems.forms.recipe import measured, passed_over
from pipeline.systems.forms.segmentation.fitting import prepared
from pipeline.systems.forms.segmentation.load import check_boxes
from pipeline.systems.forms.segmentation.servable import table_of
from pipeline.systems.forms.segmentation.stages import connected_ink

SMALL = (
    "size=tiny", "data.source=stand_in", "data.forms=4", "data.validation=3", "data.test=4", "data.height=96",
    "data.width=128", "data.most_boxes=6", "detector.width=16", "detector.depth=1",
)  # fmt: skip
OWN = ("recipe=forms", *SMALL)


def test_a_run_leaves_scores_boxes_figures_and_components_beside_it(run_pipeline: Callable, client) -> None:
    result = run_pipeline(*OWN)
    assert result.status == 0, result.err
    run = only_run(client)
    metrics, tags = run.data.metrics, run.data.tags
    assert (tags["arm"], tags["scored"], tags["augment"]) == ("r_fcn", "classes", "thesis")
    assert tags["measured"] == "forms.stage=segmentation forms.scored=classes"
    assert metrics["evaluate/test_error"] == pytest.approx(1 - metrics["evaluate/test_map"])
    assert {"evaluate/test_ap_word_components", "evaluate/test_style_ap_word"} <= set(metrics)
    found, boxes = table(run, "found.csv"), table(run, "boxes.csv")
    assert set(found["part"]) == set(boxes["part"]) == {"test", "test_style"}
    words = found[(found["part"] == "test") & (found["class"] == "word")]
    true = boxes.loc[boxes["part"] == "test", "word"].sum()
    assert words["hit"].sum() / true == pytest.approx(metrics["evaluate/test_recall_word"])
    curve = table(run, "curves/detector.csv")
    assert curve["epoch"].tolist() == [0, 1, 2]
    parts = curve[["proposal_loss", "class_loss", "box_loss"]].sum(axis=1)
    np.testing.assert_allclose(parts[1:], curve["train_loss"][1:], rtol=1e-5)
    assert metrics["detector/box_loss"] == pytest.approx(curve["box_loss"].iloc[-1])
    assert f"recipe=predict model=runs:/{run.info.run_id}/model data.path=FOLDER" in result.out
    data = ComposedForms(forms=4, validation=3, test=4, height=96, width=128, most_boxes=6, source="stand_in").load()
    said = mlflow.pyfunc.load_model(f"runs:/{run.info.run_id}/model").predict(table_of(data.parts["test"], 4))
    least = metrics["evaluate/least_score"]
    first = found[(found["part"] == "test") & (found["score"] >= least)]
    assert f"kept with a least score of {least:g}" in result.out
    assert len(said) == len(first)
    np.testing.assert_array_equal(np.sort(said["score"]), np.sort(first["score"]))
    assert {
        "figures/detector.svg",
        "figures/changes_form.svg",
        "figures/test_forms.svg",
        "figures/test_style_precision.svg",
    } <= artifacts(client, run, "figures")


@pytest.mark.parametrize(("stage", "known"), [
    ("segmentation", "forms.scored=words"), ("recognition", "forms.alphabet=texts"),
    ("pipeline", "forms.boxes=found forms.alphabet=texts"),
])  # fmt: skip
def test_errors_of_unlike_stages_boxes_and_alphabets_are_told_apart(stage: str, known: str) -> None:
    """The same forms have errors of boxes and of characters; fewer characters are wrong in true boxes, or of fewer."""
    own = SimpleNamespace(stage=stage, scored="words", boxes="found", alphabet="texts")
    assert measured(cast("Any", SimpleNamespace(forms=own))) == f"forms.stage={stage} {known}"


def test_connected_ink_is_left_out_and_it_is_said_where_no_training_form_has_a_word(capsys) -> None:
    form = Form(np.eye(40, dtype=np.uint8), np.array([[2, 3, 30, 20]], np.float32), np.array([STAMP]), ("",),
                np.array([NO_ORDER]))  # fmt: skip
    settings: Any = SimpleNamespace(forms=SimpleNamespace(components=True, tuned_on=40))
    fitted, data = SimpleNamespace(curve=object()), SimpleNamespace(parts={"train": FormImages.of([form])})
    assert connected_ink(settings, cast("Any", data), cast("Any", fitted)) is None
    assert "components: none of 1 training forms has a word" in capsys.readouterr().out


def test_a_training_form_with_too_many_boxes_is_named_by_its_file() -> None:
    data = ComposedForms(forms=3, validation=3, test=3, height=96, width=128, most_boxes=6, source="stand_in").load()
    counts = np.diff(data.parts["train"].offsets)
    most = int(counts.argmax())
    named = replace(data, files={part: tuple(f"{part}{row}.png" for row in range(len(own)))
                                 for part, own in data.parts.items()})  # fmt: skip
    said = f"form {most + 1} of the train part, file 'train{most}.png' has {counts.max()}; raise it to"
    with pytest.raises(PipelineError, match=f"^detector: proposals=2 .* {said}"):
        prepared(RFCN(proposals=2), named)


def test_a_run_that_was_stopped_goes_on_to_the_same_numbers_with_changed_copies(
    run_pipeline: Callable, client, monkeypatch
) -> None:
    asked = (*OWN, "detector=yolo_v3", "tracking.detail=summary", "forms.augment=flip", "forms.components=false")
    assert run_pipeline(*asked).status == 0
    whole = only_run(client)
    client.delete_run(whole.info.run_id)
    losses = stopped_and_resumed(run_pipeline, asked, DetectionObjective, 3, monkeypatch)
    assert len(losses) > 3
    again = only_run(client)
    pd.testing.assert_frame_equal(table(whole, "found.csv"), table(again, "found.csv"), check_exact=True)
    histories = [[(row.step, row.value) for row in client.get_metric_history(run.info.run_id, "detector/object_loss")]
                 for run in (whole, again)]  # fmt: skip
    assert histories[0] == histories[1]
    assert len(histories[0]) == 2  # an epoch each


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("detector=east", "forms.scored=classes"), "East finds words alone; take forms.scored=words"),
        (("data=funsd",), "takes images of forms: choose data=composed_forms, forms_folder"),
        (("detector.stride=3",), "detector"),
        (
            ("forms.augment=affine",),
            "forms.augment=affine: images of words alone are slanted, and no recogniser of them",
        ),
        (("forms.moved=0.2",), "only a recogniser that reads forms learns from moved boxes"),
        (("dtype=float64",), "recipe=forms computes with dtype=float32"),
        (("data=forms_folder",), "data.path"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(asked: tuple[str, ...], said: str, run_pipeline: Callable) -> None:
    result = run_pipeline("recipe=forms", "size=tiny", "tracking=off", *asked)
    assert said in result.error


@pytest.mark.parametrize(
    ("stage", "unit", "boxes", "idle"),
    [
        ("segmentation", "forms", "found", {"recogniser", "recognition"}),
        ("recognition", "words", "found", {"detector", "fit"}),
        ("pipeline", "forms", "found", set()),
        ("pipeline", "forms", "truth", {"detector", "fit"}),
        ("data", "forms", "found", {"detector", "recogniser", "recognition"}),
        ("data", "words", "found", {"detector", "recogniser", "fit"}),
    ],
)
def test_sections_that_change_nothing_are_passed_over(stage: str, unit: str, boxes: str, idle: set[str]) -> None:
    settings: Any = SimpleNamespace(forms=SimpleNamespace(stage=stage, boxes=boxes), refiner=None, reader=None)
    assert set(passed_over(settings, unit)) == idle | {"refiner", "reader"}


def test_a_part_without_what_is_scored_is_refused() -> None:
    data = ComposedForms(forms=1, validation=1, test=1, height=96, width=128, source="stand_in", layout="free").load()
    forms = [form._replace(classes=np.where(form.classes == 1, 5, form.classes), order=np.full_like(form.order, -1))
             for form in data.parts["validation"].forms()]  # fmt: skip
    without = replace(data, parts={**data.parts, "validation": FormImages.of(forms)})
    check_boxes(data, "words")
    check_boxes(without, "classes")
    with pytest.raises(PipelineError, match="no form of the validation part has a word; give some"):
        check_boxes(without, "words")


@pytest.mark.parametrize(
    ("experiment", "asked", "arms"),
    [
        ("forms_segmentation", ("detector=r_fcn,craft",), ["craft", "r_fcn"]),
        ("forms_classes", ("detector=faster_rcnn", "forms.augment=none,thesis"), ["faster_rcnn", "faster_rcnn, none"]),
    ],
)
def test_every_experiment_runs_tiny_and_its_page_is_made_again(
    experiment: str, asked: tuple[str, ...], arms: list[str], run_pipeline: Callable, tmp_path
) -> None:
    result = run_pipeline(f"+experiment={experiment}", *SMALL, *asked, "seed=0", "run_name=page",
                          "forms.components=false", "fit.epochs=1", "data.forms=2", "data.test=2")  # fmt: skip
    assert result.status == 0, result.err
    export("STAND-IN-page (data not real)", tmp_path)
    page = next(tmp_path.glob("*/means.csv")).parent
    kept = {name: (page / name).read_bytes() for name in ("means.csv", "paired.csv")}
    means = pd.read_csv(page / "means.csv")
    for narrow in (False, True):
        chosen = (means["part"] == "test") & ((means["scored"] == "narrow words") == narrow)
        assert sorted(means.loc[chosen, "arm"]) == arms
    export_again(page)
    assert kept == {name: (page / name).read_bytes() for name in kept}
