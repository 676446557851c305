"""Trials of trace estimates: failures and errors by method and number of queries, and how long an estimate takes."""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor
from tqdm import tqdm

from models.trace.estimators import METHODS, estimate_traces, independent_estimates
from models.trace.oracles import Oracle
from models.trace.parallel import OverRanks, over_processes
from models.trace.queries import QueryDraw
from pipeline.host.devices import DTYPES
from pipeline.job import checkpoint
from pipeline.systems.trace.config import TraceConfig
from pipeline.systems.trace.problems import TraceProblem

VECTORS = 30  # that the timed products are compared with the matrix on
BATCH_BYTES = 64 * 2**20  # of the queries of the trials that are made at once


def trials_at_once(settings: TraceConfig, size: int) -> int:
    """Returns the number of trials whose queries are made at once: as many as `BATCH_BYTES` hold, at least one."""
    return max(1, BATCH_BYTES // (max(settings.estimate.queries) * size * DTYPES[settings.dtype].itemsize))


def query_draw(problem: TraceProblem, settings: TraceConfig, *, trials: int) -> QueryDraw:
    """Returns how the queries of so many trials are drawn."""
    return QueryDraw(
        size=problem.size, trials=trials, distribution=settings.estimate.distribution, dtype=DTYPES[settings.dtype]
    )


def one_run(
    problem: TraceProblem, settings: TraceConfig, number: int, device: torch.device, bar: Any
) -> dict[str, Tensor]:
    """Makes the trials of run `number`, whose chance is its own, and returns estimates (budget, trial) by method,
    float64."""
    asked, most = settings.estimate, trials_at_once(settings, problem.size)
    generator = torch.Generator(device).manual_seed((settings.seed << 20) + number)
    parts: list[dict[str, Tensor]] = []
    for start in range(0, asked.trials, most):
        trials = min(most, asked.trials - start)
        estimates = estimate_traces(
            OverRanks(problem.oracle), query_draw(problem, settings, trials=trials), methods=asked.methods,
            budgets=asked.queries, generator=generator,
        )  # fmt: skip
        parts.append(estimates)
        bar.update(trials)
    return {name: torch.cat([part[name] for part in parts], 1).double().cpu() for name in asked.methods}


def all_runs(problem: TraceProblem, settings: TraceConfig, device: torch.device, folder: Path) -> dict[str, Tensor]:
    """Returns estimates (run, budget, trial) by method. A run that was finished before a stop is read from its
    checkpoint."""
    asked, runs = settings.estimate, []
    with tqdm(total=asked.runs * asked.trials, desc=problem.what, unit="trial", disable=None) as bar:
        for number in range(asked.runs):
            path = folder / f"run{number}.npz"
            saved = checkpoint.find(path)
            if saved is None:
                runs.append(one_run(problem, settings, number, device, bar))
                checkpoint.save(path, runs[-1], {})
            else:
                runs.append(saved.tensors)
                bar.update(asked.trials)
    return {name: torch.stack([run[name] for run in runs]) for name in asked.methods}


def expected_failures(problem: TraceProblem, settings: TraceConfig, queries: int) -> float:
    """Returns the failures of Hutchinson's method with normal queries, in percent, if its estimate were normal with its
    variance of 2‖A‖²_F/m. It is NaN for other queries, and where ‖A‖_F is not known."""
    if problem.norm is None or settings.estimate.distribution != "gaussian":
        return math.nan
    deviation = problem.norm * math.sqrt(2 / queries)
    return 100 * math.erfc(settings.estimate.epsilon * abs(problem.trace) / deviation / math.sqrt(2))


def failures(trials: dict[str, Tensor], problem: TraceProblem, settings: TraceConfig) -> pd.DataFrame:
    """Returns a row for each method, number of queries and run: failures in percent of its trials, errors relative to
    tr(A). trials: estimates (run, budget, trial) by method."""
    rows = []
    for name, estimates in trials.items():
        errors = (estimates - problem.trace) / abs(problem.trace)
        for run, of_run in enumerate(errors):
            for queries, error in zip(settings.estimate.queries, of_run, strict=True):
                failed = 100 * float((error.abs() > settings.estimate.epsilon).double().mean())
                rows.append((name, queries, run, failed, float(error.square().mean().sqrt()), float(error.mean())))
    return pd.DataFrame(rows, columns=["method", "queries", "run", "failures", "rms_error", "bias"])


def summary(runs: pd.DataFrame, problem: TraceProblem, settings: TraceConfig) -> pd.DataFrame:
    """Returns means over the runs, a row for each method and number of queries, and the standard deviation of the
    failures between runs."""
    groups = runs.groupby(["method", "queries"], sort=False)
    table = groups.agg(
        failures=("failures", "mean"), failures_sd=("failures", "std"),
        rms_error=("rms_error", lambda errors: math.sqrt((errors**2).mean())), bias=("bias", "mean"),
    ).reset_index()  # fmt: skip
    by_law = {queries: expected_failures(problem, settings, queries) for queries in settings.estimate.queries}
    expected = [by_law[q] if m == "hutchinson" else math.nan for m, q in zip(table.method, table.queries, strict=True)]
    return table.assign(expected_failures=expected)


def seconds_of(oracle: Oracle, problem: TraceProblem, settings: TraceConfig, method: str, queries: int) -> float:
    """Measures the seconds of one estimate: the mean over `timing.trials`, one after the other."""
    generator = torch.Generator().manual_seed(settings.seed)
    start = time.perf_counter()
    for _ in range(settings.timing.trials):
        independent_estimates(
            oracle, method=method, queries=queries, size=problem.size, generator=generator,
            distribution=settings.estimate.distribution, dtype=DTYPES[settings.dtype],
        )  # fmt: skip
    return (time.perf_counter() - start) / settings.timing.trials


def timings(problem: TraceProblem, settings: TraceConfig) -> pd.DataFrame:
    """Measures the seconds of an estimate in this process, and with the products of each round asked by several
    processes; these are NaN where one process is all."""
    count, rows = settings.timing.processes, []
    parallel = over_processes(problem.timed, processes=count) if count > 1 else nullcontext()
    with parallel as pool:
        if pool is not None:
            pool(torch.zeros(count, problem.size, dtype=DTYPES[settings.dtype]) + 1)  # the workers have begun
        for method in settings.estimate.methods:
            for queries in settings.timing.queries:
                alone = seconds_of(problem.timed, problem, settings, method, queries)
                shared = math.nan if pool is None else seconds_of(pool, problem, settings, method, queries)
                rows.append((method, queries, METHODS[method].rounds, alone, shared, count))
    return pd.DataFrame(rows, columns=["method", "queries", "rounds", "sequential", "parallel", "processes"])


def products_metrics(problem: TraceProblem, settings: TraceConfig, device: torch.device) -> dict[str, float]:
    """Returns how far the timed products are from the matrix, queries being equal, by the names of metrics.

    products_error: the largest ‖Ax − Bx‖/‖Ax‖, B being what is timed. products_bias: the mean of xᵀBx − xᵀAx, over
    tr(A). products_difference: the largest difference between estimates of the least budget, over tr(A).
    """
    asked, draw = settings.estimate, query_draw(problem, settings, trials=3)
    least = [min(asked.queries)]

    def chance() -> torch.Generator:
        return torch.Generator(device).manual_seed(settings.seed)

    def estimates(oracle: Oracle) -> Tensor:
        by_method = estimate_traces(oracle, draw, methods=asked.methods, budgets=least, generator=chance())
        return torch.stack(list(by_method.values()))

    x = replace(draw, trials=1).queries(VECTORS, generator=chance())[0]
    exact, timed = problem.oracle(x), problem.timed(x)
    difference = (estimates(problem.oracle) - estimates(problem.timed)).abs().max()
    return {
        "trace/products_error": float(((exact - timed).norm(dim=1) / exact.norm(dim=1)).max()),
        "trace/products_bias": float((x * (timed - exact)).sum(1).mean() / abs(problem.trace)),
        "trace/products_difference": float(difference / abs(problem.trace)),
    }
