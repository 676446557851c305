"""A form reader with a detector and a recogniser whose answers are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from drawn_forms import ONE_FORM
from models.forms.detect.boxes import Detections, Truth
from models.forms.detect.components import Components
from models.forms.detect.detector import Detector
from models.forms.reader import FormReader, crop, ink_of, text_of
from models.forms.recognise.correction import Correction
from models.forms.tables import found_table


class Known(Detector):
    """Finds what it is told."""

    def __init__(self, found: Detections) -> None:
        super().__init__()
        self.found = found

    def losses(self, images: Tensor, truths: Sequence[Truth]) -> dict[str, Tensor]:  # noqa: ARG002
        return {}

    def detect(self, images: Tensor, least_score: float = 0.05) -> list[Detections]:
        assert images.shape == (1, 1, 40, 100)
        assert not self.training
        return [self.found.at(self.found.scores >= least_score)]


class Sizes:
    """Reads the size of an image and how much ink it has."""

    def read_words(self, images: Sequence[Tensor]) -> list[tuple[str, float]]:
        return [(f"{image.shape[1]}x{image.shape[0]}", float(image.mean())) for image in images]


FOUND = Detections(
    torch.tensor([[60.0, 2, 90, 12], [5.0, 20, 30, 31], [10.5, 3.5, 40.2, 12.5], [70.0, 20, 90, 38]]),
    torch.tensor([1, 1, 1, 3]), torch.tensor([0.9, 0.8, 0.7, 0.6]),
)  # fmt: skip
PAGE = np.full((40, 100), 255, np.uint8)


def test_words_come_in_reading_order_and_others_after_them() -> None:
    page = PAGE.copy()
    page[20:31, 5:30] = 0
    rows = FormReader(Known(FOUND), Sizes()).read(page)
    assert [(found.order, found.kind, found.text) for found in rows] == [
        (0, "word", "31x10"), (1, "word", "30x10"), (2, "word", "25x11"), (-1, "stamp", ""),
    ]  # fmt: skip
    assert [found.probability for found in rows] == [0.0, 0.0, 1.0, None]
    assert rows[2].box == (5.0, 20.0, 30.0, 31.0)
    assert rows[0].score == pytest.approx(0.7)
    assert text_of(rows) == "31x10 30x10 25x11"


def test_what_of_a_box_lies_outside_the_form_is_left_out() -> None:
    """A negative corner is no place counted from the end."""
    ink = torch.arange(12.0).reshape(3, 4)
    torch.testing.assert_close(crop(ink, (-1.5, -2, 1.2, 1)), ink[:1, :2])
    torch.testing.assert_close(crop(ink, (2.5, 1, 9, 7)), ink[1:, 2:])
    torch.testing.assert_close(crop(ink, (4, 3, 4, 3)), ink[2:, 3:])
    for outside in ((-3, 0, -1, 2), (0, 4, 2, 6), (5, 0, 6, 2), (0, -3, 2, -1), (2, 0, 1, 2), (float("nan"), 0, 1, 1)):
        with pytest.raises(ValueError, match=r"the box \[.*\] lies outside the form of 4 × 3, or is none"):
            crop(ink, outside)


def test_a_corrected_word_keeps_what_was_read_beside_its_probability() -> None:
    reader = FormReader(Known(FOUND), Sizes(), correction=Correction(("31x11", "30x10")))
    plain, known = reader.read(PAGE), reader.read(PAGE, vocabulary=True)
    assert [(found.text, found.read) for found in known] == [
        ("31x11", "31x10"), ("30x10", "30x10"), ("31x11", "25x11"), ("", ""),
    ]  # fmt: skip
    assert [own._replace(text=own.read) for own in known] == plain
    table = found_table({"a": known})
    assert (table["read"].tolist(), table["text"][0]) == (["31x10", "30x10", "25x11", ""], "31x11")


def test_a_form_is_looked_at_where_the_detector_is() -> None:
    class Elsewhere(Known):
        def __init__(self) -> None:
            super().__init__(FOUND)
            self.weight = nn.Parameter(torch.zeros(1, device="meta"))

        def detect(self, images: Tensor, least_score: float = 0.05) -> list[Detections]:
            assert images.device.type == "meta"
            return super().detect(images, least_score)

    assert len(FormReader(Elsewhere()).read(PAGE)) == 4


def test_boxes_alone_low_scores_and_a_form_without_any() -> None:
    reader = FormReader(Known(FOUND))
    assert [found.text for found in reader.read(PAGE)] == [""] * 4
    assert [found.order for found in reader.read(PAGE, 0.75)] == [0, 1]
    assert reader.read(PAGE, 0.95) == []
    for score in (1.5, -0.1, float("nan")):
        with pytest.raises(ValueError, match="must be from 0 to 1"):
            reader.read(PAGE, score)
    assert text_of([]) == ""


def test_a_real_detector_reads_an_image() -> None:
    image, truth = ONE_FORM
    detector = Components().prepared([image], [truth]).network()
    rows = FormReader(detector, Sizes()).read((255 * (1 - image[0])).round().byte().numpy())
    assert rows[0].text == "36x12"


def test_crops_have_all_pixels_that_a_box_touches() -> None:
    ink = torch.arange(12.0).view(3, 4)
    assert crop(ink, (0.9, 1.1, 2.1, 1.2)).tolist() == [[4, 5, 6]]
    assert crop(ink, (4.0, 3.0, 4.0, 3.0)).tolist() == [[11]]


@pytest.mark.parametrize(
    ("image", "said"),
    [(np.zeros((4, 5)), "type uint8, .* got float64"), (np.zeros((4, 5, 3), np.uint8), r"got \(4, 5, 3\)"),
     (np.zeros((0, 5), np.uint8), "a pixel at least"), (np.zeros((5001, 5000), np.uint8), "is too large"),
     ("form.png", "type uint8")],
    ids=["floats", "colour", "empty", "large", "text"],
)  # fmt: skip
def test_what_is_no_image_is_refused(image: object, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        FormReader(Known(FOUND)).read(image)


def test_ink_is_one_where_the_page_is_black() -> None:
    grey = np.array([[0, 255, 51]], np.uint8)
    grey.setflags(write=False)  # as Pillow gives it; PyTorch would warn, and warnings are errors here
    assert ink_of(grey)[0].tolist() == pytest.approx([1.0, 0.0, 0.8])
