"""The figure of the scaling curves: a panel for each axis and quantity."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from scaling_curves import AXES, NAMES, Measured, Slope, curve

from pipeline.plotting import HEADING, REFERENCE, SMALL_SIZE, legend, line, new_figure, save_svg, written_out

QUANTITIES = {"seconds": "processor time (s)", "bytes": "peak memory (bytes)"}
SLOPES = {
    ("steps", "seconds"): (1, "∝ N"),
    ("steps", "bytes"): (1, "∝ N"),
    ("features", "seconds"): (3, "∝ m³"),
    ("features", "bytes"): (3, "∝ m³"),
    ("processes", "seconds"): (-1, "∝ 1/processes"),
    ("processes", "bytes"): (0, "the same"),
}


def reference(panel: Axes, slope: int, label: str, rows: Sequence[Measured], quantity: str) -> None:
    """A thin line of that slope through twice the first point of the topmost curve."""
    low, high = rows[0].point.place, rows[-1].point.place
    begin = 2 * getattr(rows[0], quantity)
    panel.plot([low, high], [begin, begin * (high / low) ** slope], zorder=0, **REFERENCE)
    panel.annotate(label, (low, begin), xytext=(2, 4), textcoords="offset points", fontsize=SMALL_SIZE, color="0.4")


def fill(panel: Axes, rows: Sequence[Measured], slopes: Sequence[Slope], axis: str, quantity: str) -> None:
    fitted = {s.spot: s.time if quantity == "seconds" else s.memory for s in slopes if s.axis == axis}
    curves = {spot: curve(rows, axis, spot) for spot in NAMES}
    for index, (spot, found) in enumerate(curves.items()):
        label = f"{NAMES[spot]}: slope {fitted[spot]:.2f}" if spot in fitted else NAMES[spot]
        places, values = [row.point.place for row in found], [getattr(row, quantity) for row in found]
        line(panel, index, places, values, label)
    top = max((found for found in curves.values() if found), key=lambda found: getattr(found[-1], quantity))
    slope, label = SLOPES[axis, quantity]
    reference(panel, slope, label, top, quantity)


def draw(rows: Sequence[Measured], slopes: Sequence[Slope], file: Path) -> None:
    figure = new_figure(11, 6.4)
    for row, (quantity, label) in enumerate(QUANTITIES.items()):
        for column, (axis, name) in enumerate(AXES.items()):
            panel = figure.add_subplot(len(QUANTITIES), len(AXES), 1 + column + row * len(AXES))
            panel.set_xscale("log")
            panel.set_yscale("log")
            panel.grid(True, color="0.9")
            panel.margins(y=0.12)  # room for the words of the thin line
            panel.set_xlabel(name, fontsize=HEADING)
            panel.set_ylabel(label, fontsize=HEADING)
            if any(found.point.axis == axis for found in rows):
                fill(panel, rows, slopes, axis, quantity)
                legend(panel)
            if axis != "steps":
                written_out(panel, sorted({found.point.place for found in rows if found.point.axis == axis}))
    save_svg(figure, file, "scaling")
