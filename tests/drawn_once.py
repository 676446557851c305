"""A figure is laid out and drawn twice, as PNG and as SVG, which takes half of a small job. In a process of tests the
first figure of each path is logged so; those after it are drawn as SVG alone, without a layout, and an empty picture
stands for the PNG.

The program is as it was, and logs both where tests start it in a process of its own.
"""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from pipeline.tracking.run import Run


def draw_once(patch: pytest.MonkeyPatch) -> None:
    """Spares the second PNG and the second layout of a path until the patch is undone."""
    whole, drawn = Run.figure, set[str]()

    def figure(run: Run, figure: Figure, path: str) -> None:
        if path not in drawn:
            drawn.add(path)
            whole(run, figure, path)
            return
        figure.set_layout_engine(None)
        run.client.log_figure(run.id, Figure(figsize=(0.1, 0.1)), f"{path}.png")
        run.client.log_figure(run.id, figure, f"{path}.svg")

    patch.setattr(Run, "figure", figure)
