"""Images of words as crops of one height."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.forms.images import as_grey, as_ink, batches_of, crop_width, crops_of, of_one_size


def test_black_is_ink() -> None:
    torch.testing.assert_close(as_ink(np.array([[0, 255, 51]], np.uint8)), torch.tensor([[1.0, 0.0, 0.8]]))


def test_crops_have_one_height_and_paper_past_their_width() -> None:
    crops = crops_of([torch.ones(16, 20), torch.ones(8, 24), torch.ones(8, 1)], 8)
    assert crops.ink.shape == (3, 1, 8, 24)
    assert crops.widths.tolist() == [10, 24, 8]
    torch.testing.assert_close(crops.ink[0, 0, :, :10], torch.ones(8, 10))
    assert crops.ink[0, 0, :, 10:].sum() == 0
    assert crops.ink[2, 0, :, 1:].sum() == 0
    few = crops.at([2, 0])
    assert few.ink.shape == (2, 1, 8, 10)
    torch.testing.assert_close(few.ink[1], crops.ink[0, :, :, :10])


@pytest.mark.parametrize(("shape", "width"), [((16, 20), 10), ((8, 1), 8), ((2, 3000), 4096)])
def test_the_width_of_a_crop_is_known_from_the_shape_of_its_image(shape: tuple[int, int], width: int) -> None:
    assert crops_of([torch.ones(*shape)], 8).widths.tolist() == [crop_width(shape, 8)] == [width]


def test_batches_are_as_wide_as_their_own_widest_image_and_have_every_image_once() -> None:
    chance = torch.Generator().manual_seed(0)
    images = [torch.rand(8, width, generator=chance) for width in (30, 3, 200, 12, 3)]
    found = list(batches_of(images, 8, 2))
    assert [rows for rows, _ in found] == [[1, 4], [3, 0], [2]]  # of equal ones the first comes first
    assert [crops.ink.shape[-1] for _, crops in found] == [8, 30, 200]
    for rows, crops in found:
        torch.testing.assert_close(crops.ink, crops_of([images[row] for row in rows], 8).ink, rtol=0, atol=0)


@pytest.mark.parametrize(("images", "said"), [([], "no image"), ([torch.ones(2, 2), torch.ones(0, 3)], "image 1 has")])
def test_what_is_no_image_is_refused(images: list[torch.Tensor], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        crops_of(images, 8)


def test_ink_becomes_the_grey_that_it_was() -> None:
    greys = np.arange(256, dtype=np.uint8).reshape(16, 16)
    np.testing.assert_array_equal(as_grey(as_ink(greys)), greys)


def test_images_of_one_size_have_paper_below_and_at_the_right() -> None:
    found = of_one_size([torch.ones(2, 3), torch.full((3, 1), 0.5)])
    assert found.shape == (2, 3, 3)
    torch.testing.assert_close(found[0], torch.tensor([[1.0] * 3, [1.0] * 3, [0.0] * 3]))
    torch.testing.assert_close(found[1], torch.tensor([[0.5, 0.0, 0.0]] * 3))
