"""Figures: what every one of them shares."""

from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.layout_engine import ConstrainedLayoutEngine

from pipeline.plotting import COLOURS, STYLES, new_axes
from pipeline.systems.psrnn.figures import Band, forecast, prediction
from pipeline.tracking.run import Run

# how people without one kind of cone see linear light (Machado, Oliveira and Fernandes 2009, severity 1)
VISION = {
    "all cones": np.eye(3),
    "no red cones": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "no green cones": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "no blue cones": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear_light(colour: str) -> np.ndarray:
    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(light: np.ndarray) -> np.ndarray:
    """CIE 1976 L*a*b* of linear light; L* is what a grey print keeps."""
    xyz = TO_XYZ @ light.clip(0, 1) / [0.9505, 1.0, 1.089]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def nearest_pair(colours: tuple[str, ...], seen_by: np.ndarray) -> float:
    places = [lab(seen_by @ linear_light(colour)) for colour in colours]
    return min(float(np.linalg.norm(a - b)) for a, b in combinations(places, 2))


@pytest.mark.parametrize("vision", VISION)
def test_colours_are_told_apart_by_everyone(vision: str) -> None:
    assert nearest_pair(COLOURS, VISION[vision]) > 20


def test_red_and_green_would_fail() -> None:
    assert nearest_pair(("#b03000", "#507000"), VISION["no green cones"]) < 20


def test_colours_are_told_apart_in_grey_and_on_white() -> None:
    lightness = [lab(linear_light(colour))[0] for colour in COLOURS]
    assert min(np.diff(lightness)) > 8
    assert lightness[-1] < 80


def test_every_colour_has_a_style_of_its_own() -> None:
    assert len(COLOURS) == len(STYLES) == len(set(STYLES))


@pytest.mark.parametrize("title", ["short", "STAND-IN-mocap-orthogonal-gaussian-m20-seed0 · " * 5, "a_name_" * 40])
def test_titles_are_inside_the_figure(title: str) -> None:
    figure, _ = new_axes(title, x="step", y="error")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    assert figure._suptitle is not None
    box = figure._suptitle.get_window_extent(canvas.get_renderer())
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.width
    assert box.y1 <= figure.bbox.height


def test_a_prediction_is_drawn_over_its_times() -> None:
    values = np.arange(12.0).reshape(6, 2)
    days = np.arange("2024-01-01", "2024-01-07", dtype="datetime64[D]")
    panels = prediction(values, values, ["a", "b"], ["", ""], title="t", steps=("day", days)).axes
    assert panels[-1].get_xlabel() == "day"
    np.testing.assert_array_equal(panels[0].lines[0].get_xdata(), days)
    counted = prediction(values, values, ["a", "b"], ["", ""], title="t").axes
    assert counted[-1].get_xlabel() == "time step"
    np.testing.assert_array_equal(counted[0].lines[0].get_xdata(), np.arange(6))


def test_a_column_that_never_varies_has_no_panel_and_is_named() -> None:
    """b is constant; c is too, but is predicted otherwise; d is not observed and predicted by one value."""
    truth = np.column_stack([np.arange(8.0), np.full(8, 5.25), np.zeros(8), np.full(8, np.nan)])
    predicted = np.column_stack([np.arange(8.0), np.full(8, np.nextafter(5.25, 6)), np.eye(8)[0], np.ones(8)])
    drawn = prediction(truth, predicted, list("abcd"), ["m"] * 4, title="t")
    assert [panel.get_ylabel() for panel in drawn.axes] == ["a\n(m)", "c\n(m)"]
    assert drawn.legends[0].get_title().get_text() == "constant, not drawn: b, d"
    radii = np.column_stack([np.ones(3), np.zeros(3), np.zeros(3), np.ones(3)])
    ahead = forecast(truth, Band(predicted[-3:], radii), list("abcd"), [""] * 4, title="t")
    assert [panel.get_ylabel() for panel in ahead.axes] == ["a", "d"]
    assert ahead.legends[0].get_title().get_text() == "constant, not drawn: b, c"


def test_where_nothing_varies_all_is_drawn() -> None:
    flat = np.ones((4, 2))
    drawn = prediction(flat, flat, ["a", "b"], ["", ""], title="t")
    assert len(drawn.axes) == 2
    assert drawn.legends[0].get_title().get_text() == ""


def test_legends_of_panels_hide_no_line_and_lie_inside_the_figure() -> None:
    values = np.arange(120.0).reshape(60, 2)
    shown = {"title": "t " * 60, "steps": None}
    drawn = (
        prediction(values, values, ["a", "b"], ["m", ""], **shown),
        forecast(values, Band(values[-15:], np.ones((15, 2))), ["a", "b"], ["m", ""], **shown),
        prediction(values * [1, 0], values * [1, 0], ["a", "b"], ["m", ""], **shown),
    )
    for figure in drawn:
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        (legend,) = figure.legends
        box = legend.get_window_extent(canvas.get_renderer())
        assert not any(box.overlaps(panel.get_tightbbox(canvas.get_renderer())) for panel in figure.axes)
        assert box.y0 >= 0
        assert box.y1 <= figure.bbox.height
        assert box.x1 <= figure.bbox.width


class Kept:
    """Stands in for MLflow's client: keeps the figures as a store would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get_run(self, run_id: str) -> Any:
        assert run_id == "a"
        info = SimpleNamespace(run_name="a run", experiment_id="0")
        return SimpleNamespace(data=SimpleNamespace(metrics={}), info=info)

    def log_figure(self, run_id: str, figure: Figure, path: str) -> None:
        assert run_id == "a"
        figure.savefig(self.folder / path)


def test_a_figure_is_laid_out_once_and_drawn_as_it_would_be_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out, layout = [], ConstrainedLayoutEngine.execute

    def counted(engine: ConstrainedLayoutEngine, figure: Figure) -> Any:
        laid_out.append(figure)
        return layout(engine, figure)

    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", counted)
    series = np.eye(9, 2)
    drawn = {name: prediction(series, -series, ["a", "b"], ["m", ""], title="t " * 99) for name in ("own", "run")}
    drawn["own"].savefig(tmp_path / "own.png")
    laid_out.clear()
    run: Any = Run(Kept(tmp_path), "a")  # pyright: ignore[reportArgumentType]
    run.figure(drawn["run"], "run")
    assert laid_out == [drawn["run"]]
    assert (tmp_path / "run.svg").read_text().count("<svg") == 1
    np.testing.assert_array_equal(imread(tmp_path / "run.png"), imread(tmp_path / "own.png"))
