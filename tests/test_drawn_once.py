"""What tests spare of figures: PNGs of a path after its first, and what gives the same picture."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser
from mlflow.tracking import MlflowClient

from drawn_once import draw_once
from pipeline.plotting import Grid, date_axis, legend_below, line, new_axes, new_panels, save_svg
from pipeline.tracking.run import Run

LOGGED = MlflowClient.log_figure  # without what the session spares
FOUND = [  # and so are these
    (Run, "figure", Run.figure),
    (Figure, "savefig", Figure.savefig),
    (Axis, "_update_ticks", Axis._update_ticks),
    (Axis, "_get_ticklabel_bboxes", Axis._get_ticklabel_bboxes),
    (MathTextParser, "_parse_cached", MathTextParser._parse_cached),
]
WHOLE = 5_000  # bytes that a drawn PNG has, and an empty one has not


@pytest.fixture
def run(client: MlflowClient, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(MlflowClient, "log_figure", LOGGED)
    for owner, name, function in FOUND:
        monkeypatch.setattr(owner, name, function)
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


def panels() -> Figure:
    """Linear and logarithmic axes, dates, an axis on each side, labels that are turned, an image and formulas."""
    figure, axes = new_panels(list("abcdef"), "a title", x="$x_0$", y="error", grid=Grid(3, (2.4, 2.0)))
    a, b, c, d, e, f = axes.values()
    for place, panel in enumerate((a, b, c, d)):
        line(panel, place, range(1, 40), np.linspace(0.1, 10, 39) ** (place + 1), "an arm")
    b.set(xscale="log", yscale="log", xlabel="count")
    c.set(yscale="symlog", ylabel="$10^{y}$")
    c.tick_params(axis="x", rotation=60)
    d.twinx().plot(range(40), np.arange(40) * 1e7)
    days = np.arange("2026-01-01", "2026-03-01", dtype="M8[D]")
    e.plot(days, range(len(days)))
    date_axis(e, days)
    figure.colorbar(f.imshow(np.eye(5)), ax=f)
    legend_below(figure)
    return figure


def test_what_is_found_once_gives_the_same_pictures(run: Run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")  # which SVGs have in them
    with mpl.rc_context({"svg.hashsalt": "salt"}):
        run.figure(panels(), "as/ever")
        with pytest.MonkeyPatch.context() as patch:
            draw_once(patch)
            run.figure(panels(), "once/ever")
            save_svg(curve(30), tmp_path / "once", "salt")
        save_svg(curve(30), tmp_path / "as", "salt")
    assert (tmp_path / "as").read_bytes() == (tmp_path / "once").read_bytes()
    folder = Path(run.client.download_artifacts(run.id, ""))
    for name in ("ever.png", "ever.svg"):
        assert (folder / "as" / name).read_bytes() == (folder / "once" / name).read_bytes()


def test_ticks_are_found_again_once_a_figure_was_logged(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    draw_once(monkeypatch)
    figure = curve(3)
    run.figure(figure, "one")
    figure.axes[0].set_xticks([0.5], labels=["half"])
    run.figure(figure, "one")
    assert "<!-- half -->" in svg(run)
