"""Time and memory against the number of steps N, of features m and of processes, and the slopes of their logarithms.

    python benchmarks/scaling.py --output docs/performance/scaling

Each point is a process of its own with one thread (`scaling_point.py`), and its time that of the processor, so that
other work on the machine does not count; it still takes its share of caches and memory. Writes OUTPUT.csv after each
point, OUTPUT.md and, where matplotlib is installed, OUTPUT.svg. Points that OUTPUT.csv holds already are not measured
again: remove the file for a new run. Some three minutes of one core, and up to 9 GB of memory. Linux alone.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

from scaling_curves import AXES, FITTED, NAMES, Measured, Point, Slope, curve, slopes
from scaling_point import measured_apart
from side_by_side import processor

STEPS = {
    "regression": (1000, 10_000, 100_000, 300_000, 1_000_000),
    "filtering": (1600, 16_000, 100_000, 300_000, 1_000_000),
    "bptt": (400, 1600, 6400, 25_600),
}
FEATURES = {
    "regression": (100, 200, 400, 1000),
    "filtering": (100, 200, 400, 1000),
    "bptt": (100, 200, 400, 700, 1000),
}
PROCESSES = (1, 2)
FIXED_FEATURES, SHARED_FEATURES = 50, 100  # along N; along the processes
FIXED_STEPS = {"regression": 500, "filtering": 160, "bptt": 100}  # along m
SHARED_STEPS = {"regression": 20_000, "filtering": 8000, "bptt": 3200}  # along the processes
SAFE_SHARE = 0.75  # of the memory that is free: a point that may need more is left out
NO_FIGURE = "No figure: matplotlib is not installed."
MEASURED = (
    "one thread a process, single precision. Processor seconds of the busiest process for one call; memory: the peak "
    "of the largest process above what it takes with torch loaded. Slopes: least squares through the logarithms of the "
    f"last {FITTED} points of each curve."
)


def grid() -> list[Point]:
    """Every point, the quick ones first."""
    along_steps = [Point("steps", s, n, FIXED_FEATURES) for s, places in STEPS.items() for n in places]
    along_features = [Point("features", s, FIXED_STEPS[s], m) for s, places in FEATURES.items() for m in places]
    shared = [Point("processes", s, SHARED_STEPS[s], SHARED_FEATURES, p) for s in NAMES for p in PROCESSES]
    return sorted(along_steps + along_features + shared, key=lambda point: point.flops)


def free_bytes() -> int:
    lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))


def measure(point: Point) -> Measured:
    found = measured_apart(point.spot, steps=point.steps, features=point.features, processes=point.processes)
    return Measured(point, *found)


def read(file: Path) -> list[Measured]:
    """The points of an earlier run; none where there is no file."""
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return [
            Measured(
                Point(row["axis"], row["spot"], *(int(row[k]) for k in ("steps", "features", "processes"))),
                float(row["seconds"]),
                float(row["bytes"]),
            )
            for row in csv.DictReader(lines)
        ]


def write(file: Path, rows: Iterable[Measured]) -> None:
    records = [{**asdict(row.point), "seconds": f"{row.seconds:.6g}", "bytes": int(row.bytes)} for row in rows]
    with file.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, fieldnames=list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)


def slope_table(found: Iterable[Slope]) -> str:
    lines = ["| hot spot | against | from | to | slope of time | slope of memory |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {NAMES[s.spot]} | {AXES[s.axis]} | {s.low:,} | {s.high:,} | {s.time:.2f} | {s.memory:.2f} |" for s in found
    ]
    return "\n".join(lines)


def point_table(rows: Iterable[Measured]) -> str:
    lines = [
        "| hot spot | along | steps N | features m | processes | processor | memory | necessary GF/s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        p = row.point
        cells = NAMES[p.spot], AXES[p.axis], f"{p.steps:,}", str(p.features), str(p.processes)
        lines.append(f"| {' | '.join(cells)} | {row.seconds:.3g} s | {row.bytes / 1e6:.0f} MB | {row.rate / 1e9:.1f} |")
    return "\n".join(lines)


def page(rows: Sequence[Measured], left_out: Sequence[str], *, figure: str | None) -> str:
    parts = [
        "# Scaling",
        "    python benchmarks/scaling.py --output docs/performance/scaling",
        f"{processor()}, {MEASURED}",
        f"![time and memory against steps, features and processes]({figure})" if figure else NO_FIGURE,
        slope_table(slopes(rows)),
        point_table([row for axis in AXES for spot in NAMES for row in curve(rows, axis, spot)]),
        *([f"Left out: {'; '.join(left_out)}."] if left_out else []),
    ]
    return "\n\n".join(parts) + "\n"


def too_large(point: Point) -> str:
    """Why the point is left out, empty where it is not."""
    free = free_bytes()
    if point.needed_bytes <= SAFE_SHARE * free:
        return ""
    return f"{point} may need {point.needed_bytes / 1e9:.0f} GB, of which {free / 1e9:.0f} GB were free"


def all_points(file: Path) -> tuple[list[Measured], list[str]]:
    """Every point of the grid, those of the file and the others as they are measured, and why some are missing."""
    rows, left_out = read(file), []
    known = {row.point for row in rows}
    for point in grid():
        if point in known:
            continue
        if reason := too_large(point):
            left_out.append(reason)
            continue
        rows.append(measure(point))
        print(point_table(rows[-1:]).splitlines()[-1], file=sys.stderr, flush=True)
        write(file, rows)
    return rows, left_out


def points_of_file(file: Path) -> tuple[list[Measured], list[str]]:
    """What has been measured up to now, and what has not."""
    rows = read(file)
    known = {row.point for row in rows}
    return rows, [f"{point}, not measured" for point in grid() if point not in known]


def main() -> None:
    parser = argparse.ArgumentParser(description="time and memory against steps, features and processes")
    parser.add_argument("--output", type=Path, default=Path("build/scaling"), help="files without their endings")
    parser.add_argument("--report", action="store_true", help="measure nothing: page and figure of OUTPUT.csv alone")
    options = parser.parse_args()
    output: Path = options.output
    output.parent.mkdir(parents=True, exist_ok=True)
    rows, left_out = (points_of_file if options.report else all_points)(output.with_suffix(".csv"))
    figure = None
    if find_spec("matplotlib"):
        from scaling_figure import draw

        figure = output.with_suffix(".svg")
        draw(rows, slopes(rows), figure)
    text = page(rows, left_out, figure=figure.name if figure else None)
    output.with_suffix(".md").write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
