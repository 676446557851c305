"""`recipe=ssgp`: sparse-spectrum Gaussian processes beside the full one and controls, over numbers of frequencies and
seeds, in one run. What is finished of it is kept, so that `resume=true` goes on from there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from tqdm import tqdm

from data.points import Points
from models.features.samplers import check_pair
from pipeline.atomic import written_whole
from pipeline.build import DTYPES, build
from pipeline.clock import Clock
from pipeline.config import SsgpConfig
from pipeline.errors import PipelineError
from pipeline.job import Job
from pipeline.stages.gaussian import CurveRow, Problem, best_row, make_problem, ridge_curve, ssgp_curve
from pipeline.stages.gaussian_report import report, table_of
from pipeline.study import Study, prepare, study
from pipeline.tracking.run import Run

SAMPLED = ("ssgp", "spectrum")  # models that draw frequencies, and are named with a sampler
UNCOUNTED = ("ridge",)  # models without frequencies


class Cell(NamedTuple):
    """One fit: a model (with its sampler), the number of frequencies (0: it has none) and the seed."""

    arm: str
    p: int
    seed: int


def split_arm(arm: str, samplers: dict[str, Any]) -> tuple[str, str]:
    """Model and sampler ("" where none is drawn by). Raises PipelineError for an arm that is unknown."""
    model, _, sampler = arm.partition("/")
    if model in SAMPLED:
        if sampler not in samplers:
            raise PipelineError(f"ssgp.arms: {arm} needs a sampler; choose {model}/ one of {', '.join(samplers)}")
    elif sampler or model not in UNCOUNTED:
        known = ", ".join([*(f"{name}/SAMPLER" for name in SAMPLED), *UNCOUNTED])
        raise PipelineError(f"ssgp.arms: {arm} is unknown; choose of {known}")
    return model, sampler


def cells(settings: SsgpConfig) -> Iterator[Cell]:
    """Seeds outermost, so that an interrupted run has whole seeds."""
    for seed in range(settings.seed, settings.seed + settings.ssgp.seeds):
        for arm in settings.ssgp.arms:
            model, _ = split_arm(arm, settings.samplers)
            for p in [0] if model in UNCOUNTED else settings.ssgp.counts:
                yield Cell(arm, p, seed)


class Bench:
    """The problem, and how each model is fitted to it."""

    def __init__(self, settings: SsgpConfig, problem: Problem) -> None:
        self.settings, self.problem = settings, problem
        self.kernel = build("kernel", settings.kernel, settings.extensions)
        self.samplers = {
            name: build(f"samplers.{name}", section, settings.extensions) for name, section in settings.samplers.items()
        }
        for sampler in self.samplers.values():
            check_pair(self.kernel, sampler)

    def fit(self, cell: Cell) -> list[CurveRow]:
        model, sampler = split_arm(cell.arm, self.samplers)
        fits: dict[str, Callable[[], list[CurveRow]]] = {
            "ssgp": lambda: self.sparse(self.problem, sampler, cell),
            "spectrum": lambda: self.sparse(self.problem, sampler, cell, train_frequencies=True),
            "ridge": lambda: ridge_curve(self.problem, self.settings.ssgp.ridges),
        }
        return fits[model]()

    def sparse(self, problem: Problem, sampler: str, cell: Cell, *, train_frequencies: bool = False) -> list[CurveRow]:
        own = self.settings.ssgp
        return ssgp_curve(
            problem, self.kernel, self.samplers[sampler], count=cell.p, seed=cell.seed, iterations=own.iterations,
            learning_rate=own.learning_rate, every=own.every, train_frequencies=train_frequencies,
        )  # fmt: skip


def finished_cells(path: Path) -> dict[Cell, dict[str, Any]]:
    """What an interrupted run has kept."""
    if not path.exists():
        return {}
    return {Cell(**row["cell"]): row for row in json.loads(path.read_text(encoding="utf-8"))}


def fit_cells(bench: Bench, wanted: list[Cell], path: Path, run: Run) -> list[dict[str, Any]]:
    """Every cell that is not finished yet, each kept and logged when it is."""
    done = finished_cells(path)
    for cell in tqdm(wanted, desc="fits", unit="fit", disable=None):
        if cell in done:
            continue
        start = perf_counter()
        curve = bench.fit(cell)
        done[cell] = {"cell": cell._asdict(), "seconds": perf_counter() - start, "curve": [flat(row) for row in curve]}
        with written_whole(path) as partial:
            partial.write_text(json.dumps(list(done.values())), encoding="utf-8")
        log_cell(run, cell, best_row(curve))
    return [done[cell] for cell in wanted]


def flat(row: CurveRow) -> dict[str, float]:
    parts = {"validation": row.validation, "test": row.test}
    return {"iteration": row.iteration, "loss": row.loss} | {
        f"{part}_{name}": value for part, found in parts.items() for name, value in found._asdict().items()
    }


def log_cell(run: Run, cell: Cell, best: CurveRow) -> None:
    """A metric per arm and number of frequencies, its steps the seeds."""
    name = cell.arm.replace("/", "-") + (f"-p{cell.p}" if cell.p else "")
    for key, value in flat(best).items():
        if key.startswith("test_"):
            run.metric(f"{name}/{key}", value, cell.seed)


def load_points(settings: SsgpConfig) -> Points:
    """Raises PipelineError where data= names sequences, which this recipe cannot take."""
    points = build("data", settings.data, settings.extensions)
    if not isinstance(points, Points):
        raise PipelineError("recipe=ssgp takes tables of points; choose data=abalone, gas_turbine or precipitation")
    return points


def stages(settings: SsgpConfig, bench: Bench, points: Points, opened: Study) -> float:
    """All fits, then tables and figures; returns the least validation RMSE."""
    with opened.clock.stage("fit"):
        found = fit_cells(bench, list(cells(settings)), opened.folder / "cells.json", opened.run)
    with opened.clock.stage("report"):
        table = table_of(found)
        report(opened.run, table, points, title=opened.title)
    return float(table.loc[table["chosen"], "validation_rmse"].min())


def compare(settings: SsgpConfig, job: Job) -> float:
    """The whole recipe; returns the least validation RMSE of all fits."""
    device = prepare(settings, job)
    wanted = list(cells(settings))
    clock = Clock()
    with clock.stage("load"):
        points = load_points(settings)
        problem = make_problem(points, rows=settings.size.steps, dtype=DTYPES[settings.dtype], device=device)
        bench = Bench(settings, problem)
    tqdm.write(f"{points.name}: {len(problem.train.targets)} training rows, {len(wanted)} fits")
    with study(settings, job, points, device, clock) as opened:
        return stages(settings, bench, points, opened)
