"""What tests spare of figures: PNGs of a path after its first, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure
from mlflow.tracking import MlflowClient

from drawn_once import draw_once
from pipeline.plotting import new_axes
from pipeline.tracking.run import Run

LOGGED = MlflowClient.log_figure  # without what the session spares
WHOLE = 5_000  # bytes that a drawn PNG has, and an empty one has not


@pytest.fixture
def run(client: MlflowClient, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(MlflowClient, "log_figure", LOGGED)
    return Run(client, client.create_run("0").info.run_id)


def curve(points: int) -> Figure:
    figure, (panel,) = new_axes("a title", x="step", y="error")
    panel.plot(range(points))
    return figure


def drawn(run: Run) -> list[bool]:
    """Whether each PNG is a drawn one, in the order of names."""
    files = sorted(run.client.list_artifacts(run.id), key=lambda file: file.path)
    return [file.file_size > WHOLE for file in files if file.path.endswith(".png")]


def svg(run: Run) -> str:
    return Path(run.client.download_artifacts(run.id, "one.svg")).read_text(encoding="utf-8")


def test_the_first_png_of_a_path_is_drawn_and_every_svg(run: Run) -> None:
    with pytest.MonkeyPatch.context() as patch:
        draw_once(patch)
        run.figure(curve(3), "one")
        first = svg(run)
        assert drawn(run) == [True]
        run.figure(curve(30), "one")
        run.figure(curve(3), "two")
        assert drawn(run) == [False, True]
        assert "<path" in svg(run) != first
    run.figure(curve(3), "one")
    assert drawn(run) == [True, True]


def test_a_figure_that_cannot_be_laid_out_fails_after_one_that_can(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    draw_once(monkeypatch)
    run.figure(curve(3), "one")
    crowded = curve(3)
    crowded.axes[0].set_title("\n" * 200)
    for _ in range(2):
        with pytest.raises(UserWarning, match="axes sizes collapsed to zero"):
            run.figure(crowded, "one")
