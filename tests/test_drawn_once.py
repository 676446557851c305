"""What tests spare of figures: PNGs of a path after its first, and nothing else."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from matplotlib.figure import Figure

from drawn_once import draw_once
from pipeline.plotting import new_axes
from pipeline.tracking.run import Run

LOGGED = Run.figure  # without what the session spares
WHOLE = 5_000  # bytes that a drawn PNG has, and an empty one has not


class Files:
    """Stands in for MLflow's client."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get_run(self, _: str) -> Any:
        return SimpleNamespace(data=SimpleNamespace(metrics={}), info=SimpleNamespace(run_name="a run"))

    def log_figure(self, _: str, figure: Figure, path: str) -> None:
        figure.savefig(self.folder / path)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(Run, "figure", LOGGED)
    return Run(Files(tmp_path), "a")  # pyright: ignore[reportArgumentType]


def curve(points: int) -> Figure:
    figure, (panel,) = new_axes("a title", x="step", y="error")
    panel.plot(range(points))
    return figure


def sizes(folder: Path) -> list[bool]:
    """Whether each PNG is a drawn one, in the order of names."""
    return [path.stat().st_size > WHOLE for path in sorted(folder.glob("*.png"))]


def test_the_first_png_of_a_path_is_drawn_and_every_svg(run: Run, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        draw_once(patch)
        run.figure(curve(3), "one")
        first = (tmp_path / "one.svg").read_text()
        assert sizes(tmp_path) == [True]
        run.figure(curve(30), "one")
        run.figure(curve(3), "two")
        assert sizes(tmp_path) == [False, True]
        assert "<path" in (tmp_path / "one.svg").read_text() != first
    run.figure(curve(3), "one")
    assert sizes(tmp_path) == [True, True]


def test_a_figure_that_cannot_be_laid_out_fails_after_one_that_can(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    draw_once(monkeypatch)
    run.figure(curve(3), "one")
    crowded = curve(3)
    crowded.axes[0].set_title("\n" * 200)
    for _ in range(2):
        with pytest.raises(UserWarning, match="axes sizes collapsed to zero"):
            run.figure(crowded, "one")
