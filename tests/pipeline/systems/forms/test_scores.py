"""Scores of what a detector finds: classes that it does not find are no part of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import torch

from data.form_images import Form, FormImages
from models.forms.detect.boxes import CLASSES, WORDS_ALONE, Detections, Truth
from models.forms.detect.components import ConnectedInk
from models.forms.detect.craft import Craft
from models.forms.detect.detector import Detector
from models.forms.detect.r_fcn import RFCN
from pipeline.systems.forms.segmentation import report
from pipeline.systems.forms.segmentation.figures import precision_and_recall
from pipeline.systems.forms.segmentation.fitting import fit
from pipeline.systems.forms.segmentation.load import Shown
from pipeline.systems.forms.segmentation.multirun import mean_known
from pipeline.systems.forms.segmentation.scores import least_score_of, metrics_of
from pipeline.systems.forms.segmentation.stages import least_score, least_score_in_words

BOXES = torch.tensor([[0.0, 0.0, 9.0, 9.0], [20.0, 20.0, 40.0, 40.0]])
TRUTH = Truth(BOXES, torch.tensor([1, 3]))  # a word and a stamp
FORM = Form(np.full((100, 100), 255, np.uint8), BOXES.numpy(), np.array([1, 3]), ("a", ""), np.array([0, -1]))
FOUND = Detections(BOXES[:1], torch.tensor([1]), torch.tensor([0.9]))


def test_classes_that_are_not_found_have_no_score() -> None:
    every = metrics_of([FOUND], [TRUTH], RFCN.kinds)
    assert every == {"ap_word": 1.0, "ap_stamp": 0.0, "recall_word": 1.0, "recall_stamp": 0.0, "map": 0.5,
                     "ap_narrow_word": 1.0}  # fmt: skip
    assert RFCN.kinds == CLASSES[1:]
    assert metrics_of([FOUND], [TRUTH], Craft.kinds) == {
        "ap_word": 1.0, "recall_word": 1.0, "ap_narrow_word": 1.0
    }  # fmt: skip
    assert metrics_of([FOUND], [Truth(BOXES[1:], torch.tensor([3]))], WORDS_ALONE) == {}


def test_the_least_score_is_that_of_the_best_f1_of_what_the_detector_finds() -> None:
    """From 0.4 on one of two true boxes is found, from 0.3 on both and no false one, below that with false ones."""
    false = torch.tensor([[60.0, 60.0, 70.0, 70.0], [80.0, 80.0, 90.0, 90.0]])
    found = Detections(torch.cat([BOXES, false]), torch.tensor([1, 3, 1, 1]), torch.tensor([0.9, 0.35, 0.15, 0.12]))
    assert least_score_of([found], [TRUTH], RFCN.kinds) == (0.2, 1.0)
    assert least_score_of([found.at(torch.tensor([0, 2]))], [TRUTH], Craft.kinds) == (0.2, 1.0)  # stamps do not count
    assert least_score_of([found.at(torch.tensor([2]))], [TRUTH], RFCN.kinds) == (0.05, 0.0)


def test_the_least_score_goes_by_what_is_scored() -> None:
    """False stamps below 0.4 are nothing to words."""
    stamps = torch.tensor([[60.0, 60.0, 70.0, 70.0], [80.0, 80.0, 90.0, 90.0], [50.0, 0.0, 60.0, 9.0]])
    scores = torch.tensor([0.95, 0.31, 0.32, 0.33])
    found = Detections(torch.cat([BOXES[:1], stamps]), torch.tensor([1, 3, 3, 3]), scores)
    settings: Any = SimpleNamespace(forms=SimpleNamespace(scored="words"))
    data: Any = SimpleNamespace(parts={"validation": FormImages.of([FORM])})
    fitted: Any = SimpleNamespace(found=[found], detector=SimpleNamespace(settings=RFCN()))
    assert least_score(settings, data, fitted) == (0.05, 1.0)
    words = least_score_in_words(settings, 0.05, 1.0)
    assert "with which words have" in words
    assert words.endswith("Average precision is over all boxes from 0.05 on.")
    settings.forms.scored = "classes"
    assert least_score(settings, data, fitted) == (0.4, 2 / 3)


def test_connected_ink_looks_at_the_validation_part_once(monkeypatch) -> None:
    parts = {part: FormImages.of([FORM]) for part in ("train", "validation")}
    settings: Any = SimpleNamespace(
        forms=SimpleNamespace(scored="words"), detector={"_target_": "models.forms.detect.components.Components"},
        extensions=[], seed=0,
    )  # fmt: skip
    looked = list[float]()

    def detect(self: Detector, images: torch.Tensor, least_score: float) -> list[Detections]:  # noqa: ARG001
        looked.append(least_score)
        return [FOUND]

    monkeypatch.setattr(ConnectedInk, "detect", detect)
    data: Any = SimpleNamespace(parts=parts)
    fitted = fit(settings, data, cast("Any", None), torch.device("cpu"))
    least_score(settings, data, fitted)
    assert looked == [0.05]


def test_classes_without_a_true_box_are_named() -> None:
    shown = Shown([], [TRUTH])
    every = report.Tested("test", shown, [FOUND], RFCN.kinds, None)
    assert every.absent() == (
        "The part test has no signature and no date and no noise: that has no score and counts in no mean."
    )
    assert report.Tested("test", shown, [FOUND], WORDS_ALONE, None).absent() == ""


def test_the_mean_over_classes_leaves_out_those_that_a_draw_has_not() -> None:
    nan = float("nan")
    found = mean_known(np.array([[0.5, nan, nan], [1.0, 0.25, nan]]))
    np.testing.assert_array_equal(found, [0.75, 0.25, nan])


def test_a_line_is_drawn_for_each_class_that_is_found() -> None:
    found = Detections(BOXES, torch.tensor([1, 3]), torch.tensor([0.9, 0.8]))
    for kinds, names in ((RFCN.kinds, ["word: AP 1.00", "stamp: AP 1.00"]), (Craft.kinds, ["word: AP 1.00"])):
        (panel,) = precision_and_recall([found], [TRUTH], kinds, title="").axes
        assert [str(line.get_label()) for line in panel.lines] == names
