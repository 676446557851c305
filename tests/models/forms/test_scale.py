"""Forms that are far larger or smaller than those of training are said in one line."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from drawn_forms import WORDS_ALONE
from models.forms.detect.components import Components
from models.forms.reader import FormReader
from models.forms.saved import load_reader, save_reader
from models.forms.scale import SCALE, Scale, ScaleWarning, ink_height, scale_in

OWN = Scale(12, 12, 96)  # of `WORDS_ALONE`


def enlarged(times: int) -> Tensor:
    """The ink of `WORDS_ALONE`, with pixels that are so many times as high and wide."""
    return WORDS_ALONE[0][0].repeat_interleave(times, 0).repeat_interleave(times, 1)


def greys(ink: Tensor) -> np.ndarray:
    """Ink as an image of a form."""
    return (255 * (1 - ink)).round().byte().numpy()


@pytest.fixture(scope="module")
def reader() -> FormReader:
    """Finds words, and knows that it has learned from `WORDS_ALONE`."""
    return FormReader(Components().network(), scale=OWN)


def with_frame(ink: Tensor) -> Tensor:
    """Ink with a frame around the form, a rule and a speck, which say nothing of the height of letters."""
    own = ink.clone()
    for line in (own[0], own[-1], own[:, 0], own[:, -1], own[len(own) // 2, 5:-5]):
        line[:] = 1.0
    own[2, 2] = 1.0
    return own


def test_the_scale_is_that_of_the_median_word_and_of_ink_without_frames_and_rules() -> None:
    assert ink_height(enlarged(1)) == ink_height(with_frame(enlarged(1))) == 12
    assert Scale.of([10, 14, 90], [enlarged(1), enlarged(3), with_frame(enlarged(2))], 200) == Scale(14, 24, 200)
    assert Scale.of([], [enlarged(1)], 96) is None
    for nothing in (torch.zeros(9, 9), with_frame(torch.zeros(40, 400))[:, :2]):
        assert ink_height(nothing) is None
        assert Scale.of([12], [nothing], 96) is None
        assert OWN.advice(nothing) is None


@pytest.mark.parametrize(
    ("times", "scale", "said"),
    [
        (4, OWN, "its ink is 4 times as high as that of training forms, and its longer side has 384 pixels where "
         "theirs have at most 96; make the scan smaller by about a factor of 4, so that words are about 12 pixels "
         "high"),
        (1, Scale(36, 36, 300), "its ink is 0.33 times as high as that of training forms, and its longer side has 96 "
         "pixels where theirs have at most 300; make the scan larger by about a factor of 3, so that words are about "
         "36 pixels high"),
        (2, OWN, None),  # a factor of two
        (4, Scale(48, 48, 96), None),  # a larger sheet with letters as large
        (4, Scale(12, 12, 384), None),  # a sheet as large with larger letters
        (4, Scale(12, 120, 96), None),  # larger and smaller
    ],
)  # fmt: skip
def test_what_is_beyond_a_factor_of_two_is_said(times: int, scale: Scale, said: str | None) -> None:
    assert scale.advice(enlarged(times)) == said


def test_forms_of_either_of_two_scales_of_training_are_not_said_and_those_of_a_third_are() -> None:
    """Three forms at four times the pixels and one of the usual size, as where scans of 75 and 300 dpi are mixed."""
    mixed = Scale.of([48, 48, 48, 12], [enlarged(4), enlarged(4), enlarged(4), enlarged(1)], 384)
    alone = Scale.of([48, 48, 48], [enlarged(4)] * 3, 384)
    assert (mixed, alone) == (Scale(48, 48, 384, smallest=96), Scale(48, 48, 384))
    assert mixed is not None
    assert alone is not None
    assert alone.advice(enlarged(1)) is not None
    for times in (1, 2, 4):
        assert mixed.advice(enlarged(times)) is None
    assert "4 times as high" in str(mixed.advice(enlarged(16)))
    apart = Scale.of([96] * 10, [enlarged(8)] * 19 + [enlarged(1)], 768)
    assert apart is not None
    assert apart.advice(enlarged(2)) is None
    assert "make the scan larger by about a factor of 2.7" in str(apart.advice(enlarged(3)))
    less = Scale.of([192, 192, 48], [enlarged(16), enlarged(16), enlarged(4)], 1536)
    assert less is not None
    assert "make the scan larger" in str(less.advice(enlarged(1)))


def page(scale: int) -> Tensor:
    """Ten words of training on a page whose sides are so many times as long."""
    own = torch.zeros(100 * scale, 96 * scale)
    for place in range(10):
        row, column = divmod(place, 2)
        own[20 * row : 20 * row + 12, 48 * column : 48 * column + 30] = 1.0
    return own


def test_neither_a_logo_nor_specks_nor_a_crop_are_taken_for_another_scale() -> None:
    logo, specks = page(4), page(4)
    logo[200:290, 200:290] = 1.0
    specks[::7, ::7] = 1.0
    for own in (page(4), logo, specks, logo[:, :60][:30], torch.zeros(30, 30)):
        assert OWN.advice(own) is None


def test_paper_may_be_grey() -> None:
    assert ink_height(0.4 + 0.5 * enlarged(4)) == ink_height(enlarged(4)) == 48


def test_a_reader_warns_of_a_form_of_another_scale_and_of_no_other(reader: FormReader) -> None:
    with pytest.warns(ScaleWarning, match="^form 'a': its ink is 4 times as high .* are about 12 pixels high$"):
        reader.read(greys(enlarged(4)), where="form 'a'")
    with pytest.warns(ScaleWarning, match="^the form: its ink is 4 times"):
        assert reader.read(greys(enlarged(4)), 1.0) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert reader.read(greys(enlarged(1)))
        FormReader(reader.detector).read(greys(enlarged(4)))  # of no known scale


def test_a_saved_reader_keeps_its_scale_and_one_of_before_has_none(reader: FormReader, tmp_path: Path) -> None:
    save_reader(reader, tmp_path / "own")
    assert load_reader(tmp_path / "own").scale == OWN
    description = tmp_path / "own" / "reader.json"
    own = json.loads(description.read_text(encoding="utf-8"))
    assert own.pop(SCALE) == asdict(OWN)
    description.write_text(json.dumps(own), encoding="utf-8")
    assert load_reader(tmp_path / "own").scale is None
    assert scale_in({SCALE: None}) is None


@pytest.mark.parametrize("given", [(0, 12, 96), (12, -1, 96), (12, 12, 0)])
def test_a_scale_without_a_size_is_refused(given: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Scale(*given)
