"""RoIAlign beside a loop over points, and Faster R-CNN."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from drawn_forms import ONE_FORM, learned, precision
from models.forms.detect.faster_rcnn import FasterRCNN
from models.forms.detect.r_fcn import RFCN
from models.forms.detect.roi_align import roi_align
from models.runtime.plain import made_of, plain

IMAGE, TRUTH = ONE_FORM
SMALL = FasterRCNN(width=32, depth=1, proposals=40, bins=4).prepared([IMAGE], [TRUTH])
BOXES = [[0.0, 0.0, 9.0, 7.0], [1.3, 0.7, 7.9, 5.2], [4.2, 3.1, 4.6, 3.4], [8.7, 6.5, 9.0, 7.0], [0.0, 0.0, 0.2, 7.0]]


def value_at(maps: Tensor, x: float, y: float) -> Tensor:
    """Between the four nearest centres of cells, (channel,)."""
    rows, columns = maps.shape[1:]
    x, y = min(max(x - 0.5, 0.0), columns - 1.0), min(max(y - 0.5, 0.0), rows - 1.0)
    left, top = min(math.floor(x), columns - 2), min(math.floor(y), rows - 2)
    right_share, low_share = x - left, y - top
    upper = maps[:, top, left] * (1 - right_share) + maps[:, top, left + 1] * right_share
    lower = maps[:, top + 1, left] * (1 - right_share) + maps[:, top + 1, left + 1] * right_share
    return upper * (1 - low_share) + lower * low_share


def aligned_by_loop(maps: Tensor, boxes: list[list[list[float]]], bins: int) -> Tensor:
    out = []
    for form, own in zip(maps, boxes, strict=True):
        for x0, y0, x1, y1 in own:
            for i in range(bins):
                for j in range(bins):
                    points = [
                        value_at(form, x0 + (j + v) * (x1 - x0) / bins, y0 + (i + u) * (y1 - y0) / bins)
                        for u in (0.25, 0.75) for v in (0.25, 0.75)
                    ]  # fmt: skip
                    out.append(torch.stack(points).mean(0))
    return torch.stack(out).view(-1, bins, bins, maps.shape[1]).permute(0, 3, 1, 2)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-11), (torch.float32, 2e-5)])
def test_values_and_gradients_are_those_of_the_loop(dtype: torch.dtype, tolerance: float) -> None:
    chance = torch.Generator().manual_seed(0)
    maps = torch.randn(3, 2, 7, 9, generator=chance, dtype=dtype)
    boxes, bins = [BOXES, [], BOXES[:2]], 3
    weights = torch.randn(7, 2, bins, bins, generator=chance, dtype=dtype)
    tensors = [torch.tensor(own, dtype=dtype).reshape(-1, 4) for own in boxes]
    answers = []
    for pool in (lambda own: roi_align(own, tensors, bins), lambda own: aligned_by_loop(own, boxes, bins)):
        own = maps.clone().requires_grad_()
        values = pool(own)
        (values * weights).sum().backward()
        answers.append((values.detach(), own.grad))
    for ours, expected in zip(*answers, strict=True):
        torch.testing.assert_close(ours, expected, rtol=tolerance, atol=tolerance)


def test_it_learns_one_form_by_heart() -> None:
    detector = SMALL.network()
    curve = learned(detector, ONE_FORM, steps=90, rate=5e-3)  # at 1e-2 rounding decides what is found
    assert curve[-1] < 0.4 * curve[0]
    assert precision(detector, ONE_FORM) == 1.0
    assert precision(SMALL.network(), ONE_FORM) < 0.3


def test_it_has_about_as_many_parameters_as_r_fcn() -> None:
    ours, theirs = (
        sum(part.numel() for part in settings.prepared([IMAGE], [TRUTH]).network().parameters())
        for settings in (FasterRCNN(), RFCN())
    )
    assert abs(ours / theirs - 1) < 0.2


def test_settings_are_plain_and_checked() -> None:
    assert made_of(plain(SMALL, "detector")) == SMALL
    for name in ("bins", "channels", "hidden"):
        with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 1"):
            FasterRCNN(**{name: 0})  # pyright: ignore[reportArgumentType]
