"""`recipe=trace`: a matrix, its trace computed exactly, trials of stochastic estimates, and their times."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import torch
from tqdm import tqdm

from models.runtime.collectives import world
from models.trace.estimators import check_budget
from models.trace.oracles import check_symmetric
from pipeline.host.devices import DTYPES
from pipeline.host.errors import PipelineError
from pipeline.host.torchrun import settings_of_rank
from pipeline.job.clock import Clock
from pipeline.job.study import Study, log_metrics, set_up, study
from pipeline.settings.job import Job
from pipeline.settings.schema import refuse_repeated
from pipeline.systems.trace import own, own_report, records, report
from pipeline.systems.trace.claims import paired
from pipeline.systems.trace.config import OWN, TraceConfig
from pipeline.systems.trace.problems import PROBLEMS, TraceProblem
from pipeline.systems.trace.trials import all_runs, failures, products_metrics, summary, timings


def check(settings: TraceConfig) -> None:
    """Raises PipelineError, before anything is loaded, for settings that leave nothing to estimate or mean nothing."""
    own.check(settings)
    records.check(settings)
    asked, timing = settings.estimate, settings.timing
    if settings.hessian.readout.lags is None:
        raise PipelineError("hessian.readout.lags has no value; give a number, 0 for the state alone")
    if settings.hessian.readout.fitted_last:
        raise PipelineError(
            "hessian.readout: the Hessian is that of the model with its one linear readout; leave out grouped, count, "
            "traces and direct"
        )
    lists = {"estimate.methods": asked.methods, "estimate.queries": asked.queries, "timing.queries": timing.queries}
    for key, values in lists.items():
        refuse_repeated(key, values)
    if settings.problem == "synthetic" and asked.distribution == "rademacher":
        raise PipelineError(
            "estimate.distribution=rademacher: xᵀAx is the trace itself for every x of ±1 and the diagonal matrix of "
            "problem=synthetic; take gaussian, or another problem"
        )


def check_budgets(settings: TraceConfig, size: int) -> None:
    """Raises PipelineError, before anything is drawn, for a budget that a method cannot be given.

    For a matrix of one's own nothing is timed, and any budget may come to XTrace, in even numbers.
    """
    own_matrix = settings.problem == OWN
    asked = {"estimate": settings.estimate.queries, **({} if own_matrix else {"timing": settings.timing.queries})}
    for key, budgets in asked.items():
        for queries in budgets:
            chosen = [("xtrace", queries - queries % 2)] if own_matrix else []
            for name, count in [*((name, queries) for name in settings.estimate.methods), *chosen]:
                try:
                    check_budget(name, count, size)
                except ValueError as error:
                    raise PipelineError(f"{key}.queries: {error}") from error


def below_size(settings: TraceConfig, size: int) -> TraceConfig:
    """Leaves out budgets of as many queries as a matrix of one's own has rows, or more, and says so: so many products
    with unit vectors give the trace exactly. Raises PipelineError where none is left."""
    asked = settings.estimate.queries
    kept = [queries for queries in asked if queries < size]
    if len(kept) == len(asked):
        return settings
    if not kept:
        raise PipelineError(
            f"estimate.queries: {min(asked)} are not fewer than the matrix has rows, {size}: so many products give the "
            "trace exactly, as estimate_trace(A) in Python does; here give a matrix with more rows, or fewer queries"
        )
    told = ", ".join(str(queries) for queries in asked if queries not in kept)
    tqdm.write(f"estimate.queries: {told} left out, as {size} products give the trace of {size} rows exactly")
    return replace(settings, estimate=replace(settings.estimate, queries=kept))


def load_problem(settings: TraceConfig, device: torch.device) -> TraceProblem:
    """Returns the problem that the settings name. Raises PipelineError as `check_budgets` does, and OracleError where
    the oracle of the problem is not symmetric or does not answer as it has to."""
    problem = PROBLEMS[settings.problem](settings, device)
    check_budgets(settings, problem.size)
    generator = torch.Generator(device).manual_seed(settings.seed)
    check_symmetric(problem.oracle, problem.size, generator=generator, dtype=DTYPES[settings.dtype])
    return problem


def log_problem(here: Study, problem: TraceProblem, settings: TraceConfig, device: torch.device) -> None:
    """Logs the trace, the size and the flatness of a matrix, and how far the timed products are from it."""
    metrics = {"trace/reference": problem.trace, "trace/size": problem.size}
    flat = report.flatness(problem)
    log_metrics(here.run, metrics if flat is None else {**metrics, "trace/flatness": flat})
    if problem.timed is not problem.oracle:
        log_metrics(here.run, products_metrics(problem, settings, device))


def time_stage(here: Study, problem: TraceProblem, settings: TraceConfig, device: torch.device) -> None:
    """Measures and logs the seconds of estimates, of one process on the CPU alone: several ranks, or a GPU, would be
    timed for what they are not, and it is said that they are not. Nothing is timed where `timing.trials` is 0."""
    if settings.timing.trials == 0:
        return
    if world() > 1 or device.type != "cpu":
        tqdm.write("timing: left out, as one process on the CPU alone is timed; start one with device=cpu for it")
        return
    with here.clock.stage("timing"):
        report.log_timings(here, problem, timings(problem, settings))


def estimate_own(settings: TraceConfig, job: Job) -> float:
    """Runs the recipe for a matrix of one's own, and returns the relative standard error at the most queries."""
    device, clock = set_up(settings, job), Clock()
    with clock.stage("load"):
        matrix = own.load(settings, device)
        settings = below_size(settings, matrix.data.size)
        check_budgets(settings, matrix.data.size)
    with study(settings, job, matrix.data, device, clock) as here:
        with clock.stage("exact"):
            trace = own.known_trace(here, matrix, settings)
        with clock.stage("estimates"):
            table = own.curve(matrix, settings)
        own_report.log_curve(here, matrix, table, trace)
        words = own_report.description(here, matrix, settings, table, trace)
        here.run.describe(words)
        print(words)
    return float(table.loc[table["method"] == "auto", "relative_error"].iloc[-1])


def estimate(settings: TraceConfig, job: Job) -> float:
    """Runs the whole recipe, and returns the mean failures, in percent, at the most queries, or what `estimate_own`
    returns."""
    records.refuse_no_file(settings, job)
    settings = settings_of_rank(settings)
    if settings.problem == OWN:
        return estimate_own(settings, job)
    device, clock = set_up(settings, job), Clock()
    with clock.stage("load"):
        problem = load_problem(settings, device)
    with study(settings, job, problem.data, device, clock) as here:
        log_problem(here, problem, settings, device)
        with clock.stage("trials"):
            estimates = all_runs(problem, settings, device, here.folder)
            runs = failures(estimates, problem, settings)
            table = summary(runs, problem, settings)
            report.log_failures(here, problem, settings, runs, table)
            verdicts = report.log_claims(here, paired(estimates, problem, settings))
        time_stage(here, problem, settings, device)
        words = report.description(here, problem, settings, table, verdicts)
        here.run.describe(words)
        print(words)
    return mean_failures(table)


def mean_failures(table: pd.DataFrame) -> float:
    """Returns the mean failures over the methods, in percent, at the most queries."""
    return float(table.loc[table["queries"] == table["queries"].max(), "failures"].mean())
