"""The least score of boxes that are read, as the validation part chooses it."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch

from data.form_images import Form, FormImages
from models.forms.detect.boxes import Detections, Truth
from models.forms.detect.detector import Detector
from models.forms.reader import FormReader
from models.forms.recognise.alphabet import Alphabet
from pipeline.systems.forms.reading import report
from pipeline.systems.forms.reading.scores import Reader, Sheet
from pipeline.systems.forms.reading.stages import reader_of


class Letters:
    """Reads every image as the same letters, as a network may that is not trained."""

    alphabet = Alphabet.of_texts(["abx"])

    def read_words(self, images: Sequence[torch.Tensor]) -> list[tuple[str, float]]:
        return [("xxxxx", 1.0) for _ in images]


class Unsure(Detector):
    """Finds two words of a form, one of them with a low score."""

    def losses(self, images: torch.Tensor, truths: Sequence[Truth]) -> dict[str, torch.Tensor]:  # noqa: ARG002
        return {}

    def detect(self, images: torch.Tensor, least_score: float = 0.05) -> list[Detections]:  # noqa: ARG002
        boxes = torch.tensor([[10.0, 10, 20, 20], [30, 10, 40, 20]])
        return [Detections(boxes, torch.tensor([1, 1]), torch.tensor([0.95, 0.35]))]


class Low(Unsure):
    """Finds the same words, both with a score below 0.3."""

    def detect(self, images: torch.Tensor, least_score: float = 0.05) -> list[Detections]:
        (found,) = super().detect(images, least_score)
        return [found._replace(scores=torch.tensor([0.25, 0.15]))]


class LowWithSignature(Low):
    """Finds a signature of a high score besides."""

    def detect(self, images: torch.Tensor, least_score: float = 0.05) -> list[Detections]:
        (found,) = super().detect(images, least_score)
        boxes = torch.cat([found.boxes, torch.tensor([[60.0, 10, 70, 20]])])
        return [Detections(boxes, torch.tensor([1, 1, 2]), torch.tensor([0.25, 0.15, 0.95]))]


@pytest.mark.parametrize(("epochs", "least"), [(1, 0.4), (0, 0.05)])
def test_texts_of_a_recogniser_that_is_not_trained_choose_no_least_score(epochs: int, least: float) -> None:
    reader, _ = chosen(Unsure(), epochs)
    assert reader.least_score == least


def chosen(own: Detector, epochs: int, *, words: int = 2) -> tuple[Reader, list[Sheet]]:
    """What validation chooses on a form of so many words, and what is read there."""
    boxes = np.array([[10, 10, 20, 20], [30, 10, 40, 20]], np.float32)[:words]
    texts, order = ("a", "b")[:words], np.arange(words)
    form = Form(np.zeros((40, 80), np.uint8), boxes, np.ones(words, int), texts, order)
    data = SimpleNamespace(parts=dict.fromkeys(("train", "validation"), FormImages.of([form])))
    settings = SimpleNamespace(forms=SimpleNamespace(edges="found", most_shared=0.2), reader=None,
                               recognition=SimpleNamespace(epochs=epochs))  # fmt: skip
    detector, recogniser = SimpleNamespace(model=own), SimpleNamespace(model=(Letters(), None))
    return reader_of(*cast("Any", (settings, data, detector, recogniser)))


@pytest.mark.parametrize(("detector", "boxes"), [(Low(), 2), (LowWithSignature(), 3)])
def test_bad_texts_do_not_choose_a_score_that_no_word_has(detector: Detector, boxes: int) -> None:
    """Five wrong letters in each word are more than none at all, and with no word nothing is ever read."""
    reader, sheets = chosen(detector, 1)
    assert reader.least_score == 0.05
    assert len(sheets[0].read[""]) == boxes


class Spurious(Low):
    """Finds a word of a form of one word, and what is none, whose score is lower."""

    def detect(self, images: torch.Tensor, least_score: float = 0.05) -> list[Detections]:
        (found,) = super().detect(images, least_score)
        return [found._replace(boxes=torch.tensor([[10.0, 10, 20, 20], [60, 10, 70, 20]]))]


class OnlySpurious(Spurious):
    """Finds no word there is."""

    def detect(self, images: torch.Tensor, least_score: float = 0.05) -> list[Detections]:
        (found,) = super().detect(images, least_score)
        return [found.at(torch.tensor([1]))]


@pytest.mark.parametrize(("detector", "least"), [(Spurious(), 0.2), (OnlySpurious(), 0.05)])
@pytest.mark.parametrize("epochs", [0, 1])
def test_on_forms_of_one_word_the_boxes_that_are_words_choose(detector: Detector, least: float, epochs: int) -> None:
    """No neighbours are there to be out of order. Five wrong letters are more than none at all."""
    reader, _ = chosen(detector, epochs, words=1)
    assert reader.least_score == least


@pytest.mark.parametrize("detector", [Low(), LowWithSignature()])
def test_a_run_says_from_which_score_on_it_reads_and_what_lies_below(detector: Detector) -> None:
    _, (sheet,) = chosen(detector, 1)
    tested, reader = report.Tested("test", [sheet]), FormReader(Low(), Letters(), least_score=0.3)
    front = "Boxes are read from a least score of 0.3 on, which validation chose. Average precision is over all boxes"
    below = (
        "On test no word has it, and 2 have a lower score: recipe=predict takes them, but for those that overlap "
        "others, with least_score=0.05."
    )
    assert report.least_score_in_words(reader, [tested]) == f"\n\n{front} from 0.05 on. {below}"
    reader = FormReader(Low(), Letters(), least_score=0.2)
    assert report.least_score_in_words(reader, [tested]).endswith("from 0.05 on.")
    assert report.least_score_in_words(reader, [tested._replace(sheets=[sheet._replace(found=None)])]) == ""
