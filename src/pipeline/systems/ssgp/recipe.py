"""`recipe=ssgp`: sparse-spectrum Gaussian processes beside the full one and controls, over numbers of frequencies and
seeds, in one run. What is finished of it is kept, so that `resume=true` goes on from there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import pandas as pd
from tqdm import tqdm

from data.points import Points
from models.features.samplers import Iid
from pipeline.compare.markdown import markdown_table
from pipeline.host.atomic import written_whole
from pipeline.host.devices import DTYPES
from pipeline.host.errors import PipelineError
from pipeline.host.torchrun import refuse_several
from pipeline.job.clock import Clock
from pipeline.job.study import Study, set_up, study
from pipeline.settings.build import build
from pipeline.settings.job import Job
from pipeline.settings.schema import refuse_repeated
from pipeline.systems.ssgp.arms import Bench, Cell, arm_of, check_peers
from pipeline.systems.ssgp.clusters import cluster_figure, pictured
from pipeline.systems.ssgp.config import SsgpConfig
from pipeline.systems.ssgp.curves import CurveRow, best_row, standardised_points
from pipeline.systems.ssgp.report import report, table_of
from pipeline.systems.ssgp.streamed import cost_figure, slope, streamed_costs, untrained
from pipeline.tracking.run import Run

LEAST_PICTURE = 4  # points that t-SNE needs at least
VERSION = 3  # of how fits are made and kept, raised when a run must not go on with those of before


def cells(settings: SsgpConfig, rows: int) -> Iterator[Cell]:
    """Seeds outermost, so that an interrupted run has whole seeds. rows: of the training part."""
    for seed in range(settings.seed, settings.seed + settings.ssgp.seeds):
        for arm in settings.ssgp.arms:
            model, _ = arm_of(arm, settings.samplers)
            if seed > settings.seed and model.fits_once(settings, rows):
                continue
            for p in settings.ssgp.counts if model.counted else [0]:
                yield Cell(arm, p, seed)


def finished_cells(path: Path) -> dict[Cell, dict[str, Any]]:
    """What an interrupted run has kept. Raises PipelineError where its fits were made in another way than now."""
    if not path.exists():
        return {}
    kept = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(kept, dict) or kept["version"] != VERSION:
        raise PipelineError(f"{path} was begun by another version of recipe=ssgp; start anew, without resume=true")
    return {Cell(**row["cell"]): row for row in kept["cells"]}


def fit_cells(bench: Bench, wanted: list[Cell], path: Path, run: Run) -> list[dict[str, Any]]:
    """Every cell that is not finished yet, each kept and logged when it is."""
    done = finished_cells(path)
    for cell in tqdm(wanted, desc="fits", unit="fit", disable=None):
        if cell in done:
            continue
        start = perf_counter()
        curve = bench.fit(cell)
        done[cell] = {
            "cell": cell._asdict(), "seconds": perf_counter() - start, "curve": [flat(row) for row in curve],
            "stopped": bench.stops_early(cell, curve), "autoencoder": bench.unlogged.pop(cell.seed, {}),
        }  # fmt: skip
        with written_whole(path) as partial:
            partial.write_text(json.dumps({"version": VERSION, "cells": list(done.values())}), encoding="utf-8")
        log_cell(run, cell, best_row(curve))
        for name, value in done[cell]["autoencoder"].items():
            run.metric(f"autoencoder/{name}", value, cell.seed)
    return [done[cell] for cell in wanted]


def flat(row: CurveRow) -> dict[str, float]:
    parts = {"validation": row.validation, "test": row.test}
    return {"iteration": row.iteration, "loss": row.loss} | {
        f"{part}_{name}": value for part, found in parts.items() for name, value in found._asdict().items()
    }


def metric_name(cell: Cell) -> str:
    return cell.arm.replace("/", "-") + (f"-p{cell.p}" if cell.p else "")


def log_cell(run: Run, cell: Cell, best: CurveRow) -> None:
    """A metric per arm and number of frequencies, its steps the seeds."""
    for key, value in flat(best).items():
        if key.startswith("test_"):
            run.metric(f"{metric_name(cell)}/{key}", value, cell.seed)


def log_means(run: Run, means: pd.DataFrame) -> None:
    """Means of the test errors over seeds: what is compared between runs."""
    for row in means.to_dict("records"):
        name = metric_name(Cell(row["arm"], row["p"], 0))
        run.metric(f"{name}/mean_test_rmse", row["rmse"])
        run.metric(f"{name}/mean_test_nlpd", row["nlpd"])


def log_autoencoders(run: Run, found: list[dict[str, Any]]) -> None:
    """A row per seed; one that a resumed run trained again has come to the same."""
    rows = [{"seed": row["cell"]["seed"], **row["autoencoder"]} for row in found if row["autoencoder"]]
    if rows:
        run.table(pd.DataFrame(rows).drop_duplicates("seed"), "evaluate/autoencoders.csv")


def load_points(settings: SsgpConfig) -> Points:
    """Raises PipelineError where data= names sequences, which this recipe cannot take."""
    points = build("data", settings.data, settings.extensions)
    if not isinstance(points, Points):
        raise PipelineError(
            "recipe=ssgp takes tables of points; choose data=points (your own), abalone, gas_turbine or precipitation"
        )
    return points


def log_clusters(settings: SsgpConfig, bench: Bench, opened: Study) -> None:
    """t-SNE of test inputs before and after the first seed's autoencoder."""
    changed, rows = bench.reconfigured(settings.seed), len(bench.points.test.targets)
    if rows < LEAST_PICTURE:
        tqdm.write(f"the test part has {rows} rows, too few for a t-SNE; figures/clusters is left out")
        return
    tables = [
        pictured(
            points.test.inputs[: settings.ssgp.picture], kind=kind, clusters=settings.autoencoder.components,
            seed=settings.seed,
        )
        for kind, points in (("inputs", bench.points), ("reconfigured", changed))
    ]  # fmt: skip
    table = pd.concat(tables, ignore_index=True)
    opened.run.table(table, "evaluate/clusters.csv")
    opened.run.figure(cluster_figure(table, title=f"{opened.title}: clusters of the test inputs"), "figures/clusters")


def log_stream(settings: SsgpConfig, bench: Bench, opened: Study) -> None:
    """Cost of a fit against the number of generated rows."""
    own = settings.stream
    model = untrained(bench.kernel, Iid(), count=own.count, dimension=own.dimension, seed=settings.seed)
    dtype = DTYPES[settings.dtype]
    costs = streamed_costs(own.rows, model, dimension=own.dimension, seed=settings.seed, dtype=dtype)
    opened.run.table(costs, "evaluate/stream.csv")
    if len(costs) > 1:
        opened.run.metric("stream/slope", slope(costs))
    opened.run.figure(
        cost_figure(costs, title=f"{opened.title}: a fit in a stream of generated rows"), "figures/stream"
    )
    print(markdown_table(costs))


def stages(settings: SsgpConfig, bench: Bench, points: Points, opened: Study) -> float:
    """All fits, then tables and figures; returns the least validation RMSE."""
    with opened.clock.stage("fit"):
        wanted = list(cells(settings, len(bench.points.train.targets)))
        found = fit_cells(bench, wanted, opened.folder / "cells.json", opened.run)
    stopped = ["{arm} p={p} seed={seed}".format(**row["cell"]) for row in found if row["stopped"]]
    if stopped:
        opened.run.tags({"ssgp.stopped": ", ".join(stopped)})
    with opened.clock.stage("report"):
        table = table_of(found)
        log_means(opened.run, report(opened.run, table, points, title=opened.title))
        log_autoencoders(opened.run, found)
    if any(arm_of(name, settings.samplers)[0].pictured for name in settings.ssgp.arms):
        with opened.clock.stage("clusters"):
            log_clusters(settings, bench, opened)
    if settings.stream.rows:
        with opened.clock.stage("stream"):
            log_stream(settings, bench, opened)
    return float(table.loc[table["chosen"], "validation_rmse"].min())


def check(settings: SsgpConfig) -> None:
    """Raises PipelineError, before anything is loaded, for settings that mean nothing to the arms."""
    own = settings.ssgp
    if not own.arms:
        raise PipelineError("ssgp.arms is empty; give at least one, as in ssgp.arms=[ssgp/iid]")
    asked = [arm_of(arm, settings.samplers)[0] for arm in own.arms]
    for key, values in {"ssgp.arms": own.arms, "ssgp.counts": own.counts}.items():
        refuse_repeated(key, values)
    if any(arm.pictured for arm in asked) and own.picture < LEAST_PICTURE:
        raise PipelineError(f"ssgp.picture={own.picture}: a t-SNE takes at least {LEAST_PICTURE} points")
    if any(arm.autoencoder for arm in asked) and settings.autoencoder.batch_size < 2:
        raise PipelineError("autoencoder.batch_size=1: its layers normalise over a batch; give at least 2")
    check_peers(settings)


def compare(settings: SsgpConfig, job: Job) -> float:
    """The whole recipe; returns the least validation RMSE of all fits."""
    refuse_several("recipe=ssgp")
    device, clock = set_up(settings, job), Clock()
    with clock.stage("load"):
        points = load_points(settings)
        standardised = standardised_points(
            points, rows=settings.size.steps, dtype=DTYPES[settings.dtype], device=device
        )
        bench = Bench(settings, standardised)
    tqdm.write(f"{points.name}: {len(standardised.train.targets)} training rows")
    with study(settings, job, points, device, clock) as opened:
        return stages(settings, bench, points, opened)
