"""Every benchmark, into one Markdown file.

python benchmarks/run_all.py --threads 1 --output build/bench.md
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import attention_peers
import bptt_step
import document_step
import epoch
import experts_step
import factorised
import feature_map
import five_lines
import form_boxes
import form_words
import gated_step
import gp_regression
import kernel_error
import long_series
import loop
import mctn_step
import online_step
import page_attention
import ssgp
import trace_estimation
import two_stage
from side_by_side import machine_of, parser, report

HOT_SPOTS = (
    feature_map,
    two_stage,
    bptt_step,
    online_step,
    epoch,
    loop,
    long_series,
    factorised,
    trace_estimation,
    ssgp,
    gated_step,
    gp_regression,
    five_lines,
    mctn_step,
    experts_step,
    page_attention,
    attention_peers,
    document_step,
    form_boxes,
    form_words,
)
DIMENSIONS, FREQUENCIES, POINTS = (5, 10, 44), 128, 200


def kernel_errors(draws: int) -> str:
    columns = {
        dimension: kernel_error.measure(dimension=dimension, count=FREQUENCIES, draws=draws, points=POINTS, seed=0)
        for dimension in DIMENSIONS
    }
    title = f"Kernel error relative to {kernel_error.REFERENCE}, {FREQUENCIES} frequencies, {draws} draws ± s.e.:"
    return f"{title}\n\n{kernel_error.table(columns)}\n"


def main() -> None:
    made = parser("every benchmark, into one Markdown file")
    made.add_argument("--draws", type=int, default=20, help="of the frequencies, for the kernel errors; at least 2")
    made.add_argument("--output", type=Path, default=Path("build/bench.md"), help="file, replaced if it is there")
    options = made.parse_args()
    if options.draws < 2:
        made.error("--draws must be at least 2")
    start, rows = time.perf_counter(), []
    machine = machine_of(options)
    for benchmark in HOT_SPOTS:
        print(f"{benchmark.__name__} …", file=sys.stderr, flush=True)
        rows += benchmark.measure(machine, options.budget)
    text = f"{report(machine, rows)}\n{kernel_errors(options.draws)}"
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(text, encoding="utf-8")
    print(f"{text}\n{options.output}, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
