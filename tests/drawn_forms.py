"""Forms drawn with little ink, for tests of detectors."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from models.forms.detect.average_precision import precision_of
from models.forms.detect.boxes import Truth
from models.forms.detect.detector import Detector


def drawn_form(words: Sequence[tuple[int, int, int, int]], stamps: Sequence[tuple[int, int, int, int]] = (),
               *, size: tuple[int, int] = (64, 96)) -> tuple[Tensor, Truth]:  # fmt: skip
    """An image (1, height, width) with words of upright strokes and stamps that are frames, and its truth."""
    image = torch.zeros(1, *size)
    for x0, y0, x1, y1 in words:
        image[0, y0:y1, x0:x1:4] = 1.0
        image[0, (y0 + y1) // 2, x0:x1] = 0.7
        image[0, y0:y1, x1 - 1] = 1.0
    for x0, y0, x1, y1 in stamps:
        image[0, y0:y1, x0:x1] = 0.8
        image[0, y0 + 2 : y1 - 2, x0 + 2 : x1 - 2] = 0.0
    boxes = torch.tensor([*words, *stamps]).float().reshape(-1, 4)
    return image, Truth(boxes, torch.tensor([1] * len(words) + [3] * len(stamps)))


ONE_FORM = drawn_form([(4, 6, 40, 18), (50, 8, 90, 20), (6, 40, 50, 52)], [(60, 30, 90, 58)])
WORDS_ALONE = drawn_form([(4, 6, 40, 18), (50, 8, 90, 20), (6, 40, 50, 52)])
LARGE_WORDS = drawn_form([(8, 8, 72, 34), (90, 12, 150, 38), (10, 56, 84, 82)], size=(96, 160))


def learned(detector: Detector, form: tuple[Tensor, Truth], *, steps: int, rate: float = 3e-3) -> list[float]:
    """Trains a detector on one form, by a rate that falls to 0; the sum of its losses at each step."""
    image, truth = form
    optimizer = torch.optim.AdamW(detector.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    curve = list[float]()
    for _ in range(steps):
        loss = torch.stack(list(detector.losses(image[None], [truth]).values())).sum()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(detector.parameters(), 5.0)
        optimizer.step()
        schedule.step()
        curve.append(float(loss.detach()))
    return curve


def precision(detector: Detector, form: tuple[Tensor, Truth]) -> float:
    """The mean average precision on one form."""
    image, truth = form
    return precision_of(detector.eval().detect(image[None]), [truth]).mean
