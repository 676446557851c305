"""All that waits for a GPU, into one Markdown file: its tests, the hot spots and an epoch beside the CPU, and two jobs.

The rows "ours, kernel by kernel" are those without CUDA graphs. Two jobs run at once, on two GPUs or on one.

    python benchmarks/gpu.py --output build/gpu.md
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import bptt_step
import epoch
import factorised
import feature_map
import online_step
import torch
import two_stage
from side_by_side import Machine, Row, measured_machine, milliseconds, parser, report

HOT_SPOTS = (feature_map, two_stage, bptt_step, online_step, epoch, factorised)
ROOT = Path(__file__).resolve().parent.parent
TESTS = (
    "-m", "pytest", "-q", "-m", "gpu", "-p", "no:cacheprovider", "-p", "no:benchmark",
    "-n", "auto", "--maxprocesses", "16",
)  # fmt: skip
JOBS = (
    "-m", "pipeline", "-m", "+experiment=mocap", "size=tiny", "data.source=stand_in", "seed=0,1",
    "hydra/launcher=joblib", "hydra.launcher.n_jobs=2",
)  # fmt: skip
BESIDE = "| hot spot | size | {0} | {1} | {1} ÷ {0} |\n|---|---|---|---|---|"


def beside(fast: Sequence[Row], slow: Sequence[Row], names: tuple[str, str]) -> str:
    """Our form of every hot spot on both devices; rows are paired by hot spot and size."""
    of_ours = {(row.spot, row.size): row.seconds for row in slow if row.form == "ours"}
    lines = [BESIDE.format(*names)]
    for row in fast:
        if row.form == "ours":
            other = of_ours[row.spot, row.size]
            cells = (row.spot, row.size, milliseconds(row.seconds), milliseconds(other), f"{other / row.seconds:.2f}")
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def ended(arguments: Sequence[str], environment: dict[str, str] | None = None) -> str:
    """Exit status, seconds and last line of a Python program of this project."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    last = ([line for line in (done.stdout + done.stderr).splitlines() if line.strip()] or [""])[-1]
    return f"exit status {done.returncode}, {time.perf_counter() - start:.0f} s: {last}"


def two_jobs(device: str) -> str:
    """Two runs of one multirun at once, in a store of their own."""
    lacking = [name for name in ("hydra", "mlflow", "joblib") if find_spec(name) is None]
    if lacking:
        return f"not run: {', '.join(lacking)} is not installed"
    with tempfile.TemporaryDirectory() as store:
        return ended([*JOBS, f"device={device}"], {"PIPELINE_MLRUNS": store, "MLFLOW_TRACKING_URI": ""})


def measured(machine: Machine, budget: float) -> list[Row]:
    rows: list[Row] = []
    for spot in HOT_SPOTS:
        print(f"{machine.device}: {spot.__name__} …", file=sys.stderr, flush=True)
        rows += spot.measure(machine, budget)
    return rows


def page(device: torch.device, budget: float, *, measure: Callable[[Machine, float], list[Row]] = measured) -> str:
    """Everything, in the order in which a reader asks: does it work, how fast beside the CPU, how near the peaks."""
    tests, jobs = ended(TESTS), two_jobs(device.type)
    machines = [measured_machine(torch.device(name)) for name in (device, "cpu")]
    fast, slow = (measure(machine, budget) for machine in machines)
    table = beside(fast, slow, (str(device), "cpu"))
    return (
        f"Tests that need a GPU (`pytest -m gpu`): {tests}\n\nTwo jobs at once: {jobs}\n\n{table}\n\n"
        f"{report(machines[0], fast)}\n{report(machines[1], slow)}"
    )


def main() -> None:
    made = parser("all that waits for a GPU, into one Markdown file")
    made.set_defaults(device=torch.device("cuda"))
    made.add_argument("--output", type=Path, default=Path("build/gpu.md"), help="file, replaced if it is there")
    options = made.parse_args()
    if options.device.type == "cuda" and not torch.cuda.is_available():
        sys.exit("error: torch sees no GPU; install a CUDA build of torch, or try the command with --device cpu")
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    text = page(options.device, options.budget)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(text, encoding="utf-8")
    print(f"{text}\n{options.output}")


if __name__ == "__main__":
    main()
