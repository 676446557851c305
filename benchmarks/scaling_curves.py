"""The points of the scaling benchmark, the curves that they lie on, and the slopes of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

NAMES = {"regression": "two-stage regression", "filtering": "filtering", "bptt": "BPTT step"}
AXES = {"steps": "steps N", "features": "features m", "processes": "processes"}
FLOPS = {"regression": 2, "filtering": 2, "bptt": 4}  # · N · m³ that cannot be avoided
CUBES = {"regression": 8, "filtering": 4, "bptt": 20}  # bytes: · m³ at the peak; W in float64, W, W and four gradients
FITTED = 3  # points of the upper part of a curve


@dataclass(frozen=True)
class Point:
    """What is measured; axis: the curve it lies on."""

    axis: str
    spot: str
    steps: int
    features: int
    processes: int = 1

    def __str__(self) -> str:
        several = f", {self.processes} processes" if self.processes > 1 else ""
        return f"{NAMES[self.spot]} at N = {self.steps:,}, m = {self.features}{several}"

    @property
    def place(self) -> int:
        return int(getattr(self, self.axis))

    @property
    def flops(self) -> float:
        """What cannot be avoided, in all processes together."""
        return FLOPS[self.spot] * self.steps * self.features**3

    @property
    def needed_bytes(self) -> int:
        """Roughly, of all processes: multiples of m³, and 8·N·m² for products that a gradient keeps."""
        kept = 8 * self.steps * self.features**2 if self.spot == "bptt" and self.axis == "features" else 2**30
        return self.processes * CUBES[self.spot] * self.features**3 + kept


@dataclass(frozen=True)
class Measured:
    """Processor seconds of the busiest process; bytes: the peak of the largest above what torch alone takes."""

    point: Point
    seconds: float
    bytes: float

    @property
    def rate(self) -> float:
        """Necessary floating-point operations a processor second, of one process."""
        return self.point.flops / self.point.processes / self.seconds


@dataclass(frozen=True)
class Slope:
    """d log time / d log x and d log memory / d log x over the points from `low` to `high`."""

    spot: str
    axis: str
    low: int
    high: int
    time: float
    memory: float


def curve(rows: Sequence[Measured], axis: str, spot: str) -> list[Measured]:
    found = [row for row in rows if (row.point.axis, row.point.spot) == (axis, spot)]
    return sorted(found, key=lambda row: row.point.place)


def slope_of(places: Sequence[float], values: Sequence[float]) -> float:
    """Least squares through the logarithms."""
    return float(np.polyfit(np.log(places), np.log(values), 1)[0])


def slopes(rows: Sequence[Measured]) -> list[Slope]:
    """Of every curve with two points at least, over its last `FITTED`."""
    found = []
    for axis in AXES:
        for spot in NAMES:
            upper = curve(rows, axis, spot)[-FITTED:]
            if len(upper) > 1:
                places = [row.point.place for row in upper]
                time, memory = ([getattr(row, what) for row in upper] for what in ("seconds", "bytes"))
                ends = places[0], places[-1]
                found.append(Slope(spot, axis, *ends, slope_of(places, time), slope_of(places, memory)))
    return found
