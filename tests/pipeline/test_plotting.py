"""The one look of all figures: what is drawn with which style, and that nobody draws past it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pipeline import plotting

ROOT = Path(__file__).resolve().parents[2]


def test_sizes_of_letters_stand_in_one_module() -> None:
    """Two figures with images and crowded ticks name smaller ones of their own; a forecaster's figure is a library's,
    which does not know the pipeline."""
    elsewhere = [
        path.relative_to(ROOT).as_posix()
        for folder in ("src", "benchmarks", "examples")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"(?:font|label)size=\d|figsize=|linewidth=1\.4", path.read_text(encoding="utf-8"))
    ]
    assert sorted(elsewhere) == ["src/models/forecasting/estimators/figure.py", "src/pipeline/plotting.py"]


def test_lines_are_told_apart_by_colour_dashes_and_markers() -> None:
    styles = [plotting.style(i) for i in range(len(plotting.STYLES))]
    for key in ("color", "linestyle", "marker"):
        assert len({str(style[key]) for style in styles}) == len(styles)
    more = [plotting.style(i) for i in range(len(styles) ** 2)]
    assert len({(style["color"], str(style["linestyle"])) for style in more}) == len(more)
    assert [style.get("markerfacecolor") for style in more[5:13]] == [None, *["white"] * 6, None]
    assert plotting.style(1, markers=False, linewidth=1.2) == styles[1] | {"marker": None, "linewidth": 1.2}


def test_a_curve_has_a_band_where_there_is_an_interval() -> None:
    figure, (panel,) = plotting.new_axes("a title", x="x", y="y")
    rows = pd.DataFrame({"m": [1, 2], "error": [4.0, 5.0], "error_low": [3.0, np.nan], "error_high": [6.0, np.nan]})
    plotting.curve(panel, 1, rows, "m", "name", markers=True)
    (shape,) = panel.collections
    corners = shape.get_paths()[0].vertices
    assert {(x, y) for x, y in corners.tolist()} == {(1.0, 3.0), (1.0, 6.0), (2.0, 5.0)}
    (drawn,) = panel.lines
    assert drawn.get_color() == plotting.colour(1)
    assert drawn.get_ydata().tolist() == [4.0, 5.0]
    assert figure.get_suptitle() == "a title"


@pytest.mark.parametrize("y", [[3.0], [np.nan, 3.0], [3.0, np.inf]])
def test_a_single_number_has_its_marker(y: list[float]) -> None:
    _, (panel,) = plotting.new_axes("t", x="x", y="y")
    plotting.line(panel, 0, list(range(len(y))), y, "one", markers=False)
    plotting.line(panel, 0, [0, 1], [1.0, 2.0], "two", markers=False)
    assert [drawn.get_marker() for drawn in panel.lines] == ["o", "None"]


@pytest.mark.parametrize(("names", "columns", "size"), [(2, 3, (6.0, 3.0)), (4, 3, (8.0, 5.0))])
def test_panels_make_room_for_as_many_as_there_are(names: int, columns: int, size: tuple[float, float]) -> None:
    grid = plotting.Grid(columns, size=(2.0, 2.0), margin=(2.0, 1.0))
    figure, axes = plotting.new_panels([str(i) for i in range(names)], "t", x="x", y="y", grid=grid)
    assert tuple(figure.get_size_inches()) == size
    assert [panel.get_title() for panel in axes.values()] == list(axes)


def test_the_same_figure_is_the_same_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        figure, (panel,) = plotting.new_axes("t", x="x", y="y")
        plotting.line(panel, 0, [0, 1], [1, 2], "line")
        plotting.legend(panel)
        plotting.save_svg(figure, tmp_path / name, "salt")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
