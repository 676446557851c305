"""A run logs each figure as PNG and as SVG. In a process of tests the first figure of each path is logged so. For those
after it an empty picture stands for the PNG. They are laid out and drawn as SVG as ever, so that what cannot be laid
out or drawn is an error in every test.

The program is as it was, and logs both where tests start it in a process of its own.
"""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure
from mlflow.tracking import MlflowClient

from pipeline.tracking.run import Run


class WithoutPictures:
    """A client of MLflow that logs an empty picture in place of each PNG."""

    def __init__(self, client: MlflowClient) -> None:
        self.client = client

    def log_figure(self, run_id: str, figure: Figure, path: str) -> None:
        self.client.log_figure(run_id, Figure(figsize=(0.1, 0.1)) if path.endswith(".png") else figure, path)


def draw_once(patch: pytest.MonkeyPatch) -> None:
    """Spares the PNG of a path that was logged before, until the patch is undone."""
    whole, drawn = Run.figure, set[str]()

    def figure(run: Run, figure: Figure, path: str) -> None:
        client = run.client
        if path in drawn:
            run.client = WithoutPictures(client)  # pyright: ignore[reportAttributeAccessIssue]
        try:
            whole(run, figure, path)
        finally:
            run.client = client
        drawn.add(path)

    patch.setattr(Run, "figure", figure)
