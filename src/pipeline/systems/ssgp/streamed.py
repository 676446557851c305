"""The cost of a fit in a stream: generated rows, one block in memory at a time."""

from __future__ import annotations

import math
import resource
from collections.abc import Iterator
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from models.features.kernels import Kernel
from models.features.samplers import Sampler, draw_frequencies
from models.runtime.seeding import generator
from models.ssgp.model import SSGP
from models.ssgp.moments import Rows, RowStream
from pipeline.compare.markdown import markdown_table
from pipeline.host.devices import DTYPES
from pipeline.job.study import Study
from pipeline.plotting import legend, line, new_axes
from pipeline.systems.ssgp.config import SsgpConfig
from pipeline.systems.ssgp.fits import Draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLOCK = 16384  # rows that are generated at once
TEST_ROWS = 2000
NOISE = 0.1  # standard deviation of the generated targets' noise


def generated_block(block: int, rows: int, *, dimension: int, seed: int, dtype: torch.dtype) -> Rows:
    """Returns inputs (row, dimension) and targets (row,) of one block, the same for the same number and seed."""
    chance = generator(seed, f"ssgp/stream/{block}")
    inputs = torch.randn(rows, dimension, generator=chance, dtype=dtype)
    targets = (inputs.sin().sum(1) + inputs[:, 0] * inputs[:, -1]) / math.sqrt(dimension)
    return inputs, targets + NOISE * torch.randn(rows, generator=chance, dtype=dtype)


def generated(rows: int, *, dimension: int, seed: int, dtype: torch.dtype) -> RowStream:
    """Returns a stream of `rows` generated rows, none of which is kept."""

    def blocks() -> Iterator[Rows]:
        for block, start in enumerate(range(0, rows, BLOCK)):
            size = min(BLOCK, rows - start)
            yield generated_block(block, size, dimension=dimension, seed=seed, dtype=dtype)

    return blocks


def fit_of(rows: int, model: SSGP, *, dimension: int, seed: int, dtype: torch.dtype) -> dict[str, float]:
    """Returns the seconds of one conditioning and of generating its rows, the peak memory until then (MiB), and the
    test RMSE, beside the number of rows."""
    start = perf_counter()
    posterior = model.posterior(generated(rows, dimension=dimension, seed=seed, dtype=dtype))
    seconds = perf_counter() - start
    inputs, targets = generated_block(-1, TEST_ROWS, dimension=dimension, seed=seed, dtype=dtype)
    error = (posterior.predict(inputs).mean - targets.double()).square().mean().sqrt().item()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"rows": rows, "seconds": seconds, "peak_memory_mib": memory, "test_rmse": error}


def untrained(kernel: Kernel, sampler: Sampler, *, count: int, dimension: int, seed: int) -> SSGP:
    """Returns a process that nothing is trained of: length-scale √dimension, signal variance 1, noise variance 0.25."""
    frequencies: Tensor = draw_frequencies(
        kernel=kernel, sampler=sampler, count=count, dimension=dimension, bandwidth=math.sqrt(dimension),
        generator=generator(seed, "ssgp/stream/frequencies"),
    )  # fmt: skip
    return SSGP(frequencies)


def streamed_costs(rows: list[int], model: SSGP, *, dimension: int, seed: int, dtype: torch.dtype) -> pd.DataFrame:
    """Returns a row for the fit to each number of rows. The smallest comes first, so that peak memory says what more
    rows add."""
    return pd.DataFrame([fit_of(n, model, dimension=dimension, seed=seed, dtype=dtype) for n in sorted(set(rows))])


def slope(costs: pd.DataFrame) -> float:
    """Returns the slope of log seconds on log rows, by least squares; 1 is linear. It is NaN for fewer than two numbers
    of rows."""
    if len(costs) < 2:
        return math.nan
    logs = np.log(costs[["rows", "seconds"]].to_numpy(dtype=np.float64))
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def cost_figure(costs: pd.DataFrame, *, title: str) -> Figure:
    """Returns a figure of the seconds of a fit and of peak memory against the number of rows."""
    figure, (time, memory) = new_axes(title, x="rows", y="seconds of a fit", rows=2, height=5.0)
    line(time, 0, costs["rows"], costs["seconds"], f"slope in log-log: {slope(costs):.2f}")
    time.set_xscale("log")
    time.set_yscale("log")
    legend(time)
    line(memory, 1, costs["rows"], costs["peak_memory_mib"], "of the process")
    memory.set_ylabel("peak memory (MiB)")
    memory.set_xscale("log")
    memory.set_ylim(0, 1.2 * float(np.max(costs["peak_memory_mib"])))
    legend(memory)
    return figure


def log_stream(settings: SsgpConfig, draw: Draw, here: Study) -> None:
    """Logs the cost of a fit against the number of generated rows, as a table and a figure, with the slope where there
    are two numbers of rows, and prints the table."""
    own = settings.stream
    model = untrained(draw.kernel, draw.sampler, count=own.count, dimension=own.dimension, seed=settings.seed)
    dtype = DTYPES[settings.dtype]
    costs = streamed_costs(own.rows, model, dimension=own.dimension, seed=settings.seed, dtype=dtype)
    here.run.table(costs, "evaluate/stream.csv")
    if len(costs) > 1:
        here.run.metric("stream/slope", slope(costs))
    here.run.figure(cost_figure(costs, title=f"{here.title}: a fit in a stream of generated rows"), "figures/stream")
    print(markdown_table(costs))
