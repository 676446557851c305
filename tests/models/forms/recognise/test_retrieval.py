"""The nearest training image, beside a search image by image."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from data.forms.hand import write_words
from models.forms.images import as_ink
from models.forms.reader import WordReader
from models.forms.recognise import retrieval
from models.forms.recognise.retrieval import NearestImage, levels_of, nearest

TEXTS = ["ada", "otto", "berg"]


@pytest.fixture(scope="module")
def images() -> list[torch.Tensor]:
    return [as_ink(image) for image in write_words(TEXTS, [0, 0, 0], seed=0).images()]


def test_the_nearest_is_that_of_a_search_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "BATCH", 4)
    chance = torch.Generator().manual_seed(0)
    known = [torch.rand(9, 20, generator=chance) for _ in range(12)]
    asked = [torch.rand(16, 40, generator=chance) for _ in range(9)]
    expected = []
    for image in levels_of(asked, (16, 64)):
        distances = [float(np.square(image - own).sum()) for own in levels_of(known, (16, 64))]
        expected.append(distances.index(min(distances)))
    texts = [str(place) for place in range(12)]
    assert [int(text) for text, _ in NearestImage.of(known, texts).read_words(asked)] == expected


def test_of_equally_near_images_the_first_is_taken() -> None:
    known = np.array([[255.0, 0], [0, 255], [255, 0], [0, 255]])
    assert nearest(np.array([[255.0, 0], [0, 200], [128, 128]]), known).tolist() == [0, 1, 0]


def test_an_image_of_the_training_part_is_read_without_fault(images: list[torch.Tensor]) -> None:
    reader: WordReader = NearestImage.of(images, TEXTS)
    bent = images[1].clone()
    bent[:2] = 0.1
    assert [tuple(own) for own in reader.read_words([bent, *images])] == [(own, 1) for own in ["otto", *TEXTS]]
    assert reader.read_words([]) == []


def test_each_image_needs_a_text(images: list[torch.Tensor]) -> None:
    with pytest.raises(ValueError, match="got 3 images and 2 texts"):
        NearestImage.of(images, TEXTS[:2])
    with pytest.raises(ValueError, match="got 0 images"):
        NearestImage.of([], [])
