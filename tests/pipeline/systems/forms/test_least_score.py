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
from models.forms.recognise.alphabet import Alphabet
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


@pytest.mark.parametrize(("epochs", "least"), [(1, 0.4), (0, 0.05)])
def test_texts_of_a_recogniser_that_is_not_trained_choose_no_least_score(epochs: int, least: float) -> None:
    boxes = np.array([[10, 10, 20, 20], [30, 10, 40, 20]], np.float32)
    form = Form(np.zeros((40, 80), np.uint8), boxes, np.array([1, 1]), ("a", "b"), np.array([0, 1]))
    data = SimpleNamespace(parts=dict.fromkeys(("train", "validation"), FormImages.of([form])))
    settings = SimpleNamespace(forms=SimpleNamespace(edges="found", most_shared=0.2), reader=None,
                               recognition=SimpleNamespace(epochs=epochs))  # fmt: skip
    detector, recogniser = SimpleNamespace(model=Unsure()), SimpleNamespace(model=(Letters(), None))
    reader, _ = reader_of(*cast("Any", (settings, data, detector, recogniser)))
    assert reader.least_score == least
