"""Where things stand on a form: printed labels, rules, and the lines that are written on.

Lengths are pixels of a form 480 high; `scale` is what another height makes of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from data.documents.funsd import FILES, read_archive
from data.forms.layers import printed, put_on
from data.pages import Document

LABELS = (
    "Name", "Vorname", "Strasse", "Ort", "Datum", "Unterschrift", "Geburtsort", "Bezirk", "Anschrift", "Hausnr.",
    "Gemeinde", "Date", "Address", "City", "Street", "Signed", "Remarks", "No.", "Nr.", "Amt", "Place of birth",
    "Wohnort", "Strecke",
)  # fmt: skip
LAYOUTS = ("free", "funsd")
LEAST_PITCH, MARGIN, LABEL = 44.0, 12.0, 11.0
LEAST_ROOM = 70.0
LEAST_LINES = 3


class Label(NamedTuple):
    """Holds printed text, its upper left corner and its size."""

    x: float
    y: float
    text: str
    size: float


class Line(NamedTuple):
    """Holds a line to write on: the y of its base, and stretches x0, x1 with room for words."""

    base: float
    rooms: tuple[tuple[float, float], ...]


class Plan(NamedTuple):
    """Holds what a page has before it is filled in. rules: x0, y0, x1, y1 each."""

    lines: tuple[Line, ...]
    labels: tuple[Label, ...]
    rules: tuple[tuple[float, float, float, float], ...]


def free_plan(shape: tuple[int, int], generator: np.random.Generator) -> Plan:
    """Returns lines at even distances with a label here and there, and rules below most of them."""
    height, width = shape
    scale = height / 480
    pitch = LEAST_PITCH * scale * generator.uniform(1.0, 1.7)
    bases = np.arange((MARGIN + 40) * scale, height - MARGIN * scale, pitch)
    labels, lines, rules = list[Label](), list[Line](), list[tuple[float, float, float, float]]()
    ruled = generator.random() < 0.75
    for base in bases.tolist():
        starts = (
            [MARGIN * scale] if generator.random() < 0.75 else [MARGIN * scale, width * generator.uniform(0.45, 0.6)]
        )
        ends = [*(start - 8 * scale for start in starts[1:]), width - MARGIN * scale]
        rooms = list[tuple[float, float]]()
        for start, end in zip(starts, ends, strict=True):
            own = start
            if generator.random() < 0.5:
                text = LABELS[int(generator.integers(len(LABELS)))] + generator.choice(np.array([":", "", " ."]))
                size = LABEL * scale * generator.uniform(0.9, 1.4)
                labels.append(Label(start, base - size, text, size))
                own += 0.62 * size * len(text) + 6 * scale
            rooms.append((own, end))
            if ruled:
                rules.append((own, base + 3 * scale, end, base + 3 * scale))
        lines.append(Line(base, tuple(rooms)))
    return Plan(tuple(lines), tuple(labels), tuple(rules))


def table_plan(shape: tuple[int, int], generator: np.random.Generator) -> Plan:
    """Returns a table: cells with a small label in their upper left corner. The second style of page."""
    height, width = shape
    scale = height / 480
    rows = int(generator.integers(5, 8))
    edges = np.linspace(MARGIN * scale, height - MARGIN * scale, rows + 1)
    left, right = MARGIN * scale, width - MARGIN * scale
    rules = [(left, float(y), right, float(y)) for y in edges]
    labels, lines = list[Label](), list[Line]()
    for top, bottom in pairwise(edges.tolist()):
        columns = np.linspace(left, right, int(generator.integers(1, 4)) + 1)
        rules += [(float(x), float(top), float(x), float(bottom)) for x in columns]
        for x in columns[:-1]:
            text = LABELS[int(generator.integers(len(LABELS)))].upper()
            labels.append(Label(float(x) + 3 * scale, float(top) + 2 * scale, text, 8 * scale))
        base = float(bottom) - 8 * scale
        rooms = [(float(x) + 5 * scale, float(end) - 3 * scale) for x, end in pairwise(columns.tolist())]
        lines.append(Line(base, tuple(rooms)))
    return Plan(tuple(lines), tuple(labels), tuple(rules))


def real_plan(document: Document, shape: tuple[int, int], generator: np.random.Generator) -> Plan:
    """Returns lines where the answers of a real form stand, and the rest of its text as labels, seen through a window
    as wide as the page."""
    height, width = shape
    size = document.sizes[0]
    zoom = width / size.width
    top = generator.uniform(0, max(1.0, size.height - height / zoom))
    boxes = (document.boxes - np.array([0, top, 0, top], np.float32)) * zoom
    seen = (boxes[:, 1] > 0) & (boxes[:, 3] < height)
    answer = np.array([tag.endswith("answer") for tag in document.tags])
    labels = tuple(
        Label(float(box[0]), float(box[1]), text, float(np.clip(box[3] - box[1], 5, 16)))
        for box, text in zip(boxes[seen & ~answer], np.array(document.words, object)[seen & ~answer], strict=True)
    )
    begins = np.array([tag == "B-answer" for tag in document.tags]) & seen
    lines = lines_at(boxes[begins], boxes[seen & ~answer], shape)
    return Plan(tuple(lines), labels, ()) if len(lines) >= LEAST_LINES else free_plan(shape, generator)


def lines_at(answers: np.ndarray, labels: np.ndarray, shape: tuple[int, int]) -> list[Line]:
    """Returns lines through answers, one a height at least, each with the room up to the next label."""
    height, width = shape
    scale = height / 480
    lines = list[Line]()
    for box in answers[np.argsort(answers[:, 3], kind="stable")]:
        base = float(box[3])
        if base < (MARGIN + 30) * scale:
            continue
        if lines and base - lines[-1].base < LEAST_PITCH * scale:
            base = lines[-1].base
            rooms = lines.pop().rooms
        else:
            rooms = ()
        beside = labels[(np.abs(labels[:, 3] - base) < 12 * scale) & (labels[:, 0] > box[0] + 4)]
        end = float(beside[:, 0].min()) - 4 if len(beside) else width - MARGIN * scale
        taken = any(x0 < end and float(box[0]) < x1 for x0, x1 in rooms)
        own = () if taken or end - box[0] < LEAST_ROOM * scale else ((float(box[0]), end),)
        if rooms or own:
            lines.append(Line(base, tuple(sorted(rooms + own))))
    return lines


def read_layouts(root: str | None, *, source: str) -> dict[str, Sequence[Document]] | None:
    """Returns real forms to take places from, those of the published training part for training; None where they are
    missing or a stand-in is asked for. Raises DataError as `Published.find` does."""
    found = FILES.find(root, source=source)
    if found is None:
        return None
    forms = read_archive(found[0])
    return {"train": forms["train"], "validation": forms["train"], "test": forms["test"]}


def print_layer(plan: Plan, shape: tuple[int, int], dark: int) -> np.ndarray:
    """Returns the printed part of a page as a layer: labels and rules."""
    layer = np.zeros(shape, np.uint8)
    for x0, y0, x1, y1 in plan.rules:
        top, left = max(0, round(y0)), max(0, round(x0))
        layer[top : round(y1) + 1, left : round(x1) + 1] = 255
    for label in plan.labels:
        put_on(layer, printed(label.text, max(5, round(label.size))), round(label.x), round(label.y))
    return (layer * np.float32(dark / 255)).astype(np.uint8)
