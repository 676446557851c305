"""Changed copies: shape, range and boxes stay, mirrors undo themselves, and seed, epoch and number alone count."""

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
    left_right,
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
    assert all(copy.shape == FORM.shape and copy.dtype == np.uint8 for copy in copies)
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
    with pytest.raises(DataError, match="augment=some is unknown; choose one of none, noise, shape, thesis, flip"):
        Augmentation("some")
    with pytest.raises(DataError, match=r"augment.share=1.5 must lie between 0 and 1"):
        Augmentation("noise", share=1.5)
