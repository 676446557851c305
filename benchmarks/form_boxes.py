"""Boxes on forms: suppression and position-sensitive scores beside loops, what a detection takes after its maps, and
what changing a form takes of a training step.

python benchmarks/form_boxes.py --threads 1
"""

from __future__ import annotations

import math

import numpy as np
import torch
from side_by_side import Form, Machine, Row, compare, run
from torch import Tensor, nn

from data.forms.augment import Augmentation
from data.forms.composer import ComposedForms
from models.forms.detect.boxes import CLASSES, Detections, Truth
from models.forms.detect.position_sensitive import position_sensitive_scores
from models.forms.detect.r_fcn import RFCN
from models.forms.detect.suppression import softened, suppress
from models.forms.detect.two_stage import found_in
from models.forms.reader import ink_of

BOXES = (300, 1000)
POOLED = 300
SIZE = (480, 640)
BINS, STRIDE, WIDTH = (3, 7), 8, 48
MOST_OVERLAP, DECAY, LEAST_SCORE = 0.3, 0.5, 0.05
ANCHORS = ((40.0, 24.0), (90.0, 30.0), (160.0, 32.0), (90.0, 90.0), (240.0, 40.0))


def strewn(count: int, seed: int = 0) -> Tensor:
    """Returns boxes of the size of words, strewn over a form."""
    chance = torch.Generator().manual_seed(seed)
    corners = torch.rand(count, 2, generator=chance) * torch.tensor([SIZE[1] - 100.0, SIZE[0] - 50.0])
    return torch.cat([corners, corners + 20 + torch.rand(count, 2, generator=chance) * torch.tensor([80.0, 30.0])], 1)


def some_found(count: int) -> Detections:
    chance = torch.Generator().manual_seed(1)
    classes = torch.randint(1, len(CLASSES), (count,), generator=chance)
    return Detections(strewn(count), classes, torch.rand(count, generator=chance))


def overlap(one: list[float], other: list[float]) -> float:
    wide = max(0.0, min(one[2], other[2]) - max(one[0], other[0]))
    high = max(0.0, min(one[3], other[3]) - max(one[1], other[1]))
    both = (one[2] - one[0]) * (one[3] - one[1]) + (other[2] - other[0]) * (other[3] - other[1]) - wide * high
    return wide * high / both


def suppressed_by_loop(found: Detections) -> list[int]:
    """Returns what is kept, box by box."""
    boxes, classes, scores = (part.tolist() for part in found)
    kept = list[int]()
    for place in sorted(range(len(scores)), key=lambda each: -scores[each]):
        own = boxes[place]
        if all(classes[each] != classes[place] or overlap(boxes[each], own) <= MOST_OVERLAP for each in kept):
            kept.append(place)
    return kept


def pooled_by_loop(maps: Tensor, boxes: Tensor, bins: int) -> Tensor:
    """Returns the mean of each bin of each box, bin by bin."""
    channels, (rows, columns), out = maps.shape[1] // bins**2, maps.shape[2:], list[Tensor]()
    for x0, y0, x1, y1 in boxes.tolist():
        for i in range(bins):
            top = min(math.floor(y0 + i * (y1 - y0) / bins), rows - 1)
            bottom = max(min(math.ceil(y0 + (i + 1) * (y1 - y0) / bins), rows), top + 1)
            for j in range(bins):
                left = min(math.floor(x0 + j * (x1 - x0) / bins), columns - 1)
                right = max(min(math.ceil(x0 + (j + 1) * (x1 - x0) / bins), columns), left + 1)
                first = (i * bins + j) * channels
                out.append(maps[0, first : first + channels, top:bottom, left:right].mean((1, 2)))
    return torch.stack(out).view(len(boxes), bins, bins, channels)


def suppression_rows(machine: Machine, budget: float) -> list[Row]:
    rows = list[Row]()
    for count in BOXES:
        found = some_found(count)
        kept = suppress(found, most_overlap=MOST_OVERLAP)
        assert kept.tolist() == suppressed_by_loop(found)  # noqa: S101
        forms: dict[str, Form] = {
            "ours": lambda found=found: suppress(found, most_overlap=MOST_OVERLAP),
            "soft": lambda found=found: softened(found, decay=DECAY, least_score=LEAST_SCORE, most=500),
            "box by box": lambda found=found: suppressed_by_loop(found),
        }
        size = f"n = {count}, {len(kept)} kept"
        rows += compare("suppression", size, forms, machine=machine, budget=budget)
    return rows


def scoring_rows(machine: Machine, budget: float, bins: int) -> list[Row]:
    """Returns the rows of scores of bins x bins, ours beside ours by parts of cells, and beside maps that are made for
    each bin and pooled bin by bin."""
    chance = torch.Generator().manual_seed(0)
    maps = torch.randn(1, WIDTH, SIZE[0] // STRIDE, SIZE[1] // STRIDE, generator=chance).to(machine.device)
    maps.requires_grad_()
    boxes = (strewn(POOLED) / STRIDE).to(machine.device)
    forms = torch.zeros(POOLED, dtype=torch.int64).to(machine.device)
    made = nn.Conv2d(WIDTH, bins**2 * (len(CLASSES) + 4), 1).to(machine.device)
    scores = {
        "ours": lambda: position_sensitive_scores(maps, made, boxes, forms, bins),
        "by parts of cells": lambda: position_sensitive_scores(maps, made, boxes, forms, bins, pooling="precise"),
        "maps, bin by bin": lambda: pooled_by_loop(made(maps), boxes, bins).mean((1, 2)),
    }
    torch.testing.assert_close(scores["ours"](), scores["maps, bin by bin"](), rtol=1e-4, atol=1e-5)
    ahead: dict[str, Form] = {name: torch.no_grad()(score) for name, score in scores.items()}
    both: dict[str, Form] = {
        name: lambda score=score: torch.autograd.grad(score().sum(), maps) for name, score in scores.items()
    }
    size = f"{POOLED} boxes of {bins} x {bins} bins"
    return [
        *compare("position-sensitive scores", f"{size}, forward", ahead, machine=machine, budget=budget),
        *compare("position-sensitive scores", f"{size}, and backward", both, machine=machine, budget=budget),
    ]


def detection_rows(machine: Machine, budget: float) -> list[Row]:
    """Returns the rows of a whole detection, and of what follows its maps: proposals, decoding and suppression. The
    network is as it is drawn, so every class of every proposal is a candidate: more than a trained one has."""
    network = RFCN(anchors=ANCHORS, stride=STRIDE).network().eval().to(machine.device)
    image = (torch.rand(1, 1, *SIZE, generator=torch.Generator().manual_seed(0)) > 0.9).float().to(machine.device)
    with torch.no_grad():
        maps = network.trunk(image)
        raw = network.proposals(maps)
        regions = network.proposed(raw, *SIZE)
        said = network.judge(maps, regions)

    def after() -> None:
        network.proposed(raw, *SIZE)
        network.settings.suppressed(found_in(said, regions[0], SIZE, 0.05), 0.05)

    forms: dict[str, Form] = {"ours": lambda: network.detect(image), "what follows the maps, alone": after}
    return compare("detection by R-FCN", f"{SIZE[0]} x {SIZE[1]}", forms, machine=machine, budget=budget)


def training_rows(machine: Machine, budget: float) -> list[Row]:
    """Returns the rows of a training step with one form, and of changing that form before it. Forms are composed once,
    before the first step, so a step composes none."""
    source = ComposedForms(
        forms=1, validation=1, test=1, height=SIZE[0], width=SIZE[1], layout="free", source="stand_in"
    )
    form, augmentation = source.load().parts["train"].form(0), Augmentation("thesis")
    network = RFCN(anchors=ANCHORS, stride=STRIDE).network().to(machine.device)

    def changed() -> tuple[np.ndarray, np.ndarray]:
        return augmentation.form(form.image, form.boxes, epoch=0, number=0)

    def step() -> None:
        grey, boxes = changed()
        truth = Truth(torch.from_numpy(boxes), torch.from_numpy(form.classes)).to(machine.device)
        losses = network.losses(ink_of(grey)[None, None].to(machine.device), [truth])
        network.zero_grad()
        torch.stack(list(losses.values())).sum().backward()

    forms: dict[str, Form] = {"ours": step, "changing the form, alone": changed}
    return compare("training step of R-FCN", f"{SIZE[0]} x {SIZE[1]}", forms, machine=machine, budget=budget)


def measure(machine: Machine, budget: float) -> list[Row]:
    return [
        *suppression_rows(machine, budget),
        *(row for bins in BINS for row in scoring_rows(machine, budget, bins)),
        *detection_rows(machine, budget),
        *training_rows(machine, budget),
    ]


if __name__ == "__main__":
    run("boxes on forms", measure)
