"""A run logs each figure as PNG and as SVG. In a process of tests the first PNG of each path is drawn. For those after
it an empty picture is. Figures are laid out and drawn as SVG as ever, so that what cannot be laid out or drawn is an
error in every test.

Matplotlib finds the ticks of an axis and the boxes of their labels up to ten times for a figure that is laid out and
drawn, and parses the same formulas for each figure. In a process of tests both are found once, where axis, dots per
inch and renderer are the same.

The program is as it was, and draws as ever where tests start it in an interpreter of its own; processes that are forked
(`warm_processes`) have what stands here too.
"""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser
from mlflow.tracking import MlflowClient

from pipeline.tracking.run import Run


def draw_once(patch: pytest.MonkeyPatch) -> None:
    """Spares, until the patch is undone, the PNG of a path that was logged before and what a figure finds again."""
    log, drawn = MlflowClient.log_figure, set[str]()

    def log_figure(client: MlflowClient, run_id: str, figure: Figure, path: str) -> None:
        spared = path.endswith(".png") and path in drawn
        log(client, run_id, Figure(figsize=(0.1, 0.1)) if spared else figure, path)
        drawn.add(path)

    patch.setattr(MlflowClient, "log_figure", log_figure)
    find_ticks_once(patch)
    parse_formulas_once(patch)


def parse_formulas_once(patch: pytest.MonkeyPatch) -> None:
    """Keeps what was made of each formula, whichever renderer asks: each has a parser of its own, which keeps it for
    itself."""
    parse, kept = MathTextParser._parse_cached, dict[Any, Any]()

    def parsed(parser: MathTextParser, *asked: Any) -> Any:
        key = parser._output_type, *asked
        if key not in kept:
            kept[key] = parse(parser, *asked)
        return kept[key]

    patch.setattr(MathTextParser, "_parse_cached", parsed)


def find_ticks_once(patch: pytest.MonkeyPatch) -> None:
    """Keeps the ticks of each axis and the boxes of their labels while a figure is saved, or logged by a run: nothing
    changes it then but its layout and its dots per inch."""
    kept: dict[Any, Any] | None = None

    def place(axis: Axis) -> tuple[Any, ...]:
        return axis, axis.axes.bbox.bounds, tuple(axis.get_view_interval()), axis.get_figure(root=True).dpi

    def keeping(owner: type, name: str) -> None:
        work = getattr(owner, name)

        def done(*given: Any, **named: Any) -> None:
            nonlocal kept
            before = kept
            kept = {} if before is None else before
            try:
                work(*given, **named)
            finally:
                kept = before

        patch.setattr(owner, name, done)

    def found_once(name: str) -> None:
        find = getattr(Axis, name)

        def found(axis: Axis, *given: Any) -> Any:
            if kept is None:
                return find(axis, *given)
            key = name, *place(axis), *given[1:]  # the renderer; ticks are those of the place
            if key not in kept:
                kept[key] = find(axis, *given)
            return kept[key]

        patch.setattr(Axis, name, found)

    keeping(Run, "figure")
    keeping(Figure, "savefig")
    found_once("_update_ticks")
    found_once("_get_ticklabel_bboxes")
