"""The figure of the scaling curves: a panel for each axis and quantity, readable in grey."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, ScalarFormatter
from scaling import AXES, NAMES, Measured, Slope, curve

STYLES: dict[str, dict[str, Any]] = {
    "regression": {"linestyle": "-", "marker": "o", "color": "black"},
    "filtering": {"linestyle": "--", "marker": "s", "color": "0.35"},
    "bptt": {"linestyle": ":", "marker": "^", "color": "0.55"},
}
QUANTITIES = {"seconds": "processor time (s)", "bytes": "peak memory (bytes)"}
REFERENCES = {
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
    panel.plot([low, high], [begin, begin * (high / low) ** slope], color="0.7", linewidth=0.8, zorder=0)
    panel.annotate(label, (low, begin), xytext=(2, 4), textcoords="offset points", fontsize=8, color="0.4")


def fill(panel: Axes, rows: Sequence[Measured], slopes: Sequence[Slope], axis: str, quantity: str) -> None:
    fitted = {s.spot: s.time if quantity == "seconds" else s.memory for s in slopes if s.axis == axis}
    curves = {spot: curve(rows, axis, spot) for spot in NAMES}
    for spot, found in curves.items():
        label = f"{NAMES[spot]}: slope {fitted[spot]:.2f}" if spot in fitted else NAMES[spot]
        places, values = [row.point.place for row in found], [getattr(row, quantity) for row in found]
        panel.plot(places, values, markersize=4, linewidth=1.4, label=label, **STYLES[spot])
    top = max((found for found in curves.values() if found), key=lambda found: getattr(found[-1], quantity))
    slope, label = REFERENCES[axis, quantity]
    reference(panel, slope, label, top, quantity)


def draw(rows: Sequence[Measured], slopes: Sequence[Slope], file: Path) -> None:
    figure = Figure(figsize=(11, 6.4), layout="constrained")
    for row, (quantity, label) in enumerate(QUANTITIES.items()):
        for column, (axis, name) in enumerate(AXES.items()):
            panel = figure.add_subplot(len(QUANTITIES), len(AXES), 1 + column + row * len(AXES))
            panel.set_xscale("log")
            panel.set_yscale("log")
            panel.grid(True, color="0.92")
            panel.set_xlabel(name, fontsize=9)
            panel.set_ylabel(label, fontsize=9)
            if any(found.point.axis == axis for found in rows):
                fill(panel, rows, slopes, axis, quantity)
                panel.legend(fontsize=7)
            if axis != "steps":
                panel.set_xticks(sorted({found.point.place for found in rows if found.point.axis == axis}))
                panel.get_xaxis().set_major_formatter(ScalarFormatter())
                panel.get_xaxis().set_minor_formatter(NullFormatter())
    with rc_context({"svg.hashsalt": "scaling"}):
        figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)
