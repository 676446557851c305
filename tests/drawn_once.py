"""A run logs each figure as PNG and as SVG. In a process of tests the first PNG of each path is drawn. For those after
it an empty picture is. Figures are laid out and drawn as SVG as ever, so that what cannot be laid out or drawn is an
error in every test.

The program is as it was, and draws both where tests start it in a process of its own.
"""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure
from mlflow.tracking import MlflowClient


def draw_once(patch: pytest.MonkeyPatch) -> None:
    """Spares the PNG of a path that was logged before, until the patch is undone."""
    log, drawn = MlflowClient.log_figure, set[str]()

    def log_figure(client: MlflowClient, run_id: str, figure: Figure, path: str) -> None:
        spared = path.endswith(".png") and path in drawn
        log(client, run_id, Figure(figsize=(0.1, 0.1)) if spared else figure, path)
        drawn.add(path)

    patch.setattr(MlflowClient, "log_figure", log_figure)
