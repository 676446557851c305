"""Changed copies: shape (but of slanted words), range and boxes stay; only seed, epoch and number count."""

from __future__ import annotations

import numpy as np
import pytest

from data.base import DataError
from data.forms.augment import (
    KINDS,
    NAMES,
    NOISES,
    SHAPES,
    TURNS,
    Augmentation,
    affine_matrix,
    left_right,
    moved_by,
    thickened,
    thinned,
    up_down,
)

FORM = np.full((40, 60), 255, np.uint8)
FORM[10:20, 5:25] = 30
FORM[25:27, 30:55] = 90
BOXES = np.array([[5, 10, 25, 20], [30, 25, 55, 27]], np.float32)


@pytest.mark.parametrize("kind", KINDS)
def test_shape_type_and_range_stay_and_the_original_is_untouched(kind: str) -> None:
    before = FORM.copy()
    augmentation = Augmentation(kind, seed=1, share=1.0)
    copies = [augmentation.word(FORM, epoch=0, number=i) for i in range(20)]
    assert all(copy.shape == FORM.shape or kind == "affine" for copy in copies)
    assert all(copy.dtype == np.uint8 for copy in copies)
    np.testing.assert_array_equal(FORM, before)
    changed = [not np.array_equal(copy, FORM) for copy in copies]
    assert not any(changed) if kind == "none" else sum(changed) > 12


def test_a_copy_hangs_on_seed_epoch_and_number_and_not_on_what_was_asked_before() -> None:
    own = Augmentation("flip", seed=3)
    many = {(e, i): own.form(FORM, BOXES, epoch=e, number=i) for e in range(3) for i in range(4)}
    for (epoch, number), (image, boxes) in reversed(many.items()):
        again = Augmentation("flip", seed=3).form(FORM, BOXES, epoch=epoch, number=number)
        np.testing.assert_array_equal(again[0], image)
        np.testing.assert_array_equal(again[1], boxes)
    assert len({image.tobytes() for image, _ in many.values()}) > 6


@pytest.mark.parametrize("turn", [left_right, up_down])
def test_a_mirror_undoes_itself_and_boxes_go_with_their_ink(turn) -> None:
    image, boxes = turn(FORM, BOXES)
    for (x0, y0, x1, y1), (a0, b0, a1, b1) in zip(boxes.astype(int), BOXES.astype(int), strict=True):
        assert np.sort(image[y0:y1, x0:x1].ravel()).tolist() == np.sort(FORM[b0:b1, a0:a1].ravel()).tolist()
        assert image[y0:y1, x0:x1].max() < 255
    back, same = turn(image, boxes)
    np.testing.assert_array_equal(back, FORM)
    np.testing.assert_array_equal(same, BOXES)
    empty = turn(FORM, np.empty((0, 4), np.float32))[1]
    assert empty.shape == (0, 4)


def test_words_are_never_mirrored_and_boxes_stay_without_a_mirror() -> None:
    flip, thesis = Augmentation("flip", share=0.0), Augmentation("thesis", share=1.0)
    assert all(np.array_equal(flip.word(FORM, epoch=0, number=i), FORM) for i in range(8))
    assert all(thesis.form(FORM, BOXES, epoch=0, number=i)[1] is BOXES for i in range(8))
    turned = {flip.form(FORM, BOXES, epoch=0, number=i)[1].tobytes() for i in range(30)}
    assert len(turned) == 4


def middles(grey: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows of an image with ink, and the mean column of the ink of each of them."""
    ink = 255.0 - grey
    rows = np.flatnonzero(ink.sum(1) > ink.sum(1).max() / 2)
    return rows, (ink @ np.arange(grey.shape[1]))[rows] / ink.sum(1)[rows]


@pytest.mark.parametrize(
    ("shear", "degrees", "leans"),
    [(0.3, 0.0, 0.3), (-0.2, 0.0, -0.2), (0.0, 3.0, -np.tan(np.radians(3))), (0.0, 0.0, 0.0)],
)
def test_an_upright_bar_leans_as_it_was_sheared_or_turned_and_none_of_its_ink_is_lost(
    shear: float, degrees: float, leans: float
) -> None:
    bar = np.full((61, 41), 255, np.uint8)
    bar[:, 19:22] = 0
    moved = moved_by(bar, affine_matrix(shear=shear, degrees=degrees, height=1.0, width=1.0))
    rows, columns = middles(moved)
    upward, aside = np.polyfit(-rows, columns, 1)
    assert upward == pytest.approx(leans, abs=0.01)
    assert aside - upward * (moved.shape[0] - 1) / 2 == pytest.approx((moved.shape[1] - 1) / 2, abs=0.05)
    assert (255.0 - moved).sum() == pytest.approx((255.0 - bar).sum(), rel=0.01)


def test_height_and_width_are_scaled_and_paper_stays_as_grey_as_it_is() -> None:
    grey = np.full((50, 100), 200, np.uint8)
    grey[20:30, 40:60] = 0
    moved = moved_by(grey, affine_matrix(shear=0.0, degrees=0.0, height=1.2, width=0.8))
    assert moved.shape == (60, 80)
    ink = (200.0 - moved) / 200
    assert ink.max(1).sum() == pytest.approx(12, abs=0.5)
    assert ink.max(0).sum() == pytest.approx(16, abs=0.5)
    turned = moved_by(grey, affine_matrix(shear=0.3, degrees=3.0, height=1.0, width=1.0))
    assert {int(turned[row, column]) for row in (0, -1) for column in (0, -1)} == {200}


def test_slanted_words_are_drawn_within_bounds_and_again_the_same_and_forms_stay() -> None:
    own = Augmentation("affine", seed=3, share=1.0)
    words = {(e, i): own.word(FORM, epoch=e, number=i) for e in range(3) for i in range(6)}
    for (epoch, number), word in reversed(words.items()):
        again = Augmentation("affine", seed=3, share=1.0).word(FORM, epoch=epoch, number=number)
        np.testing.assert_array_equal(again, word)
        assert word.min() < 60  # the thick bar is there, whole
    assert len({word.tobytes() for word in words.values()}) == len(words)
    image, boxes = own.form(FORM, BOXES, epoch=0, number=0)
    assert image is FORM
    assert boxes is BOXES
    assert not list(own.each(FORM, BOXES))
    assert [name for name, *_ in own.each(FORM, None)] == ["slant, rotation and size (augment=affine alone)"]


def test_the_slanted_copy_that_is_shown_leans() -> None:
    bar = np.full((60, 120), 255, np.uint8)
    bar[5:55, 58:62] = 0
    for seed in range(8):
        ((_, shown, _),) = Augmentation("affine", seed=seed).each(bar, None)
        rows, columns = np.nonzero(shown < 128)
        assert abs(np.polyfit(rows, columns, 1)[0]) > 0.17  # tan of the lean; the most is about 0.36


def test_ink_grows_and_shrinks_and_never_vanishes() -> None:
    thin = np.full((9, 30), 255, np.uint8)
    thin[4] = 100
    thick, lost = thickened(thin, np.random.default_rng(1)), thinned(thin, np.random.default_rng(1))
    assert (thick <= thin).all()
    assert thick.sum() < thin.sum()
    assert (lost >= thin).all()
    assert (lost[4] <= 178).all()
    assert len(NOISES) == 3
    assert len(SHAPES) == 2


def test_each_change_is_shown_alone_and_words_are_not_mirrored() -> None:
    flip = Augmentation("flip", seed=1)
    shown = {name: (grey, boxes) for name, grey, boxes in flip.each(FORM, BOXES)}
    assert list(shown) == [*(NAMES[change] for change in (*SHAPES, *NOISES)), *TURNS]
    assert all((grey != FORM).any() and grey.shape == FORM.shape for grey, _ in shown.values())
    assert all((shown[NAMES[change]][1] is BOXES) for change in (*SHAPES, *NOISES))
    for name, turn in TURNS.items():
        for own, wanted in zip(shown[name], turn(FORM, BOXES), strict=True):
            np.testing.assert_array_equal(own, wanted)
    assert [name for name, *_ in flip.each(FORM, None)] == list(shown)[: -len(TURNS)]
    assert not list(Augmentation("none").each(FORM, BOXES))
    assert len(list(Augmentation("shape").each(FORM, BOXES))) == len(SHAPES)
    assert all("between two columns" in NAMES[change] for change in SHAPES)
    assert all("augment=flip alone" in name for name in TURNS)


def test_unknown_kinds_and_shares_are_refused() -> None:
    with pytest.raises(
        DataError, match="augment=some is unknown; choose one of none, noise, shape, affine, thesis, flip"
    ):
        Augmentation("some")
    with pytest.raises(DataError, match=r"augment.share=1.5 must lie between 0 and 1"):
        Augmentation("noise", share=1.5)
