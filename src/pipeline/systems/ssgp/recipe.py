"""`recipe=ssgp`: sparse-spectrum Gaussian processes beside the full one and controls, over numbers of frequencies and
seeds, in one run. What is finished of it is kept, so that `resume=true` goes on from there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import pandas as pd
import torch
from tqdm import tqdm

from data.points import Points
from models.features.samplers import Iid, check_pair
from models.numerics.signs import with_fixed_signs
from models.ssgp.autoencoder import Training, train_autoencoder
from pipeline.compare.markdown import markdown_table
from pipeline.host.atomic import written_whole
from pipeline.host.devices import DTYPES
from pipeline.host.errors import PipelineError
from pipeline.host.torchrun import refuse_several
from pipeline.job.clock import Clock
from pipeline.job.study import Study, prepare, study
from pipeline.settings.build import build
from pipeline.settings.job import Job
from pipeline.settings.schema import refuse_repeated
from pipeline.systems.ssgp.clusters import cluster_figure, pictured
from pipeline.systems.ssgp.config import SsgpConfig
from pipeline.systems.ssgp.curves import (
    CurveRow,
    Problem,
    best_row,
    explained,
    first_scale,
    make_problem,
    ridge_curve,
    ssgp_curve,
    with_inputs,
)
from pipeline.systems.ssgp.report import LINEAR, report, table_of
from pipeline.systems.ssgp.streamed import cost_figure, slope, streamed_costs
from pipeline.tracking.run import Run

SAMPLED = ("ssgp", "spectrum", "revisited", "pca", "rff")  # models that draw frequencies, and are named with a sampler
COUNTED = (*SAMPLED, "svgp")  # models that have a number of frequencies, or of inducing points
UNCOUNTED = (*LINEAR, "full_gp")  # models without
PEERS = ("rff", "svgp", "full_gp")  # GPyTorch's
LEAST_PICTURE = 4  # points that t-SNE needs at least
VERSION = 3  # of how fits are made and kept, raised when a run must not go on with those of before


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
        if model == "rff" and sampler != "iid":
            raise PipelineError(f"ssgp.arms: GPyTorch draws frequencies independently; use rff/iid in place of {arm}")
    elif sampler or model not in (*COUNTED, *UNCOUNTED):
        known = ", ".join([*(f"{name}/SAMPLER" for name in SAMPLED), "svgp", *UNCOUNTED])
        raise PipelineError(f"ssgp.arms: {arm} is unknown; choose of {known}")
    return model, sampler


def without_chance(model: str, settings: SsgpConfig, rows: int) -> bool:
    """Whether one fit stands for all seeds: the full process draws rows where there are more than it takes."""
    return model == "ridge" or (model == "full_gp" and rows <= settings.gpytorch.points)


def cells(settings: SsgpConfig, rows: int) -> Iterator[Cell]:
    """Seeds outermost, so that an interrupted run has whole seeds. rows: of the training part."""
    for seed in range(settings.seed, settings.seed + settings.ssgp.seeds):
        for arm in settings.ssgp.arms:
            model, _ = split_arm(arm, settings.samplers)
            if seed > settings.seed and without_chance(model, settings, rows):
                continue
            for p in [0] if model in UNCOUNTED else settings.ssgp.counts:
                yield Cell(arm, p, seed)


class Bench:
    """The problem, and how each model is fitted to it."""

    def __init__(self, settings: SsgpConfig, problem: Problem) -> None:
        self.settings, self.problem = settings, problem
        self.kernel = build("kernel", settings.kernel, settings.extensions)
        asked = {split_arm(arm, settings.samplers)[1] for arm in settings.ssgp.arms} - {""}
        self.samplers = {
            name: build(f"samplers.{name}", settings.samplers[name], settings.extensions) for name in sorted(asked)
        }
        for sampler in self.samplers.values():
            check_pair(self.kernel, sampler)
        self.reconfigured = cache(self.reconfigure)
        self.unlogged: dict[int, dict[str, float]] = {}  # by seed: what autoencoders trained since have come to

    def reconfigure(self, seed: int) -> Problem:
        """The problem on inputs that an autoencoder reconfigured, trained on the training inputs alone.

        Noted are the radius of its prior, and what it explains of the validation inputs (`gaussian.explained`).
        """
        own = self.settings.autoencoder
        training = Training(own.steps, own.batch_size, own.learning_rate, own.alpha, own.beta)
        model = train_autoencoder(
            self.problem.train.inputs, latent=own.latent, components=own.components, training=training, seed=seed
        )
        seen = self.problem.validation.inputs
        self.unlogged[seed] = {"radius": model.radius.item(), "explained": explained(seen, model.reconfigure(seen))}
        return with_inputs(self.problem, model.reconfigure)

    @cached_property
    def projected(self) -> Problem:
        """The problem on as many principal components of the inputs as the latent space has dimensions."""
        *_, directions = torch.linalg.svd(self.problem.train.inputs, full_matrices=False)
        kept = with_fixed_signs(directions[: self.settings.autoencoder.latent].T)
        return with_inputs(self.problem, lambda inputs: inputs @ kept)

    def fit(self, cell: Cell) -> list[CurveRow]:
        model, sampler = split_arm(cell.arm, self.samplers)
        ridges = self.settings.ssgp.ridges
        fits: dict[str, Callable[[], list[CurveRow]]] = {
            "ssgp": lambda: self.sparse(self.problem, sampler, cell),
            "spectrum": lambda: self.sparse(self.problem, sampler, cell, train_frequencies=True),
            "revisited": lambda: self.sparse(self.reconfigured(cell.seed), sampler, cell),
            "pca": lambda: self.sparse(self.projected, sampler, cell),
            "ridge": lambda: ridge_curve(self.problem, ridges),
            "vae_ridge": lambda: ridge_curve(self.reconfigured(cell.seed), ridges),
        }
        return fits[model]() if model in fits else self.peer(model, cell)

    def stops_early(self, cell: Cell, curve: list[CurveRow]) -> bool:
        """Whether training ended before its last iteration, which `say_end` has told."""
        model, _ = split_arm(cell.arm, self.samplers)
        return model not in LINEAR and curve[-1].iteration < self.settings.ssgp.iterations

    def sparse(self, problem: Problem, sampler: str, cell: Cell, *, train_frequencies: bool = False) -> list[CurveRow]:
        own = self.settings.ssgp
        return ssgp_curve(
            problem, self.kernel, self.samplers[sampler], count=cell.p, seed=cell.seed, iterations=own.iterations,
            learning_rate=own.learning_rate, every=own.every, train_frequencies=train_frequencies,
        )  # fmt: skip

    def peer(self, model: str, cell: Cell) -> list[CurveRow]:
        """GPyTorch's; imported here, as it is an extra."""
        from pipeline.systems.ssgp import gpytorch_peers

        own, peers = self.settings.ssgp, self.settings.gpytorch
        training = gpytorch_peers.PeerTraining(
            own.iterations, own.learning_rate, own.every, first_scale(self.problem, cell.seed), cell.seed
        )
        if model == "full_gp":
            return gpytorch_peers.full_gp_curve(self.problem, training, points=peers.points)
        if model == "rff":
            return gpytorch_peers.rff_curve(self.problem, training, count=cell.p)
        return gpytorch_peers.svgp_curve(self.problem, training, inducing=2 * cell.p, batch_size=peers.batch_size)


def check_peers(settings: SsgpConfig) -> None:
    """Raises PipelineError where an arm needs GPyTorch and it is not installed, or another kernel than it has here."""
    asked = [arm for arm in settings.ssgp.arms if arm.partition("/")[0] in PEERS]
    if not asked:
        return
    if find_spec("gpytorch") is None:
        raise PipelineError(
            f"ssgp.arms: {', '.join(asked)} need GPyTorch; install it (pip install -c constraints.txt -e '.[gp]'), or "
            "leave them out"
        )
    if not str(settings.kernel.get("_target_")).endswith(".Gaussian"):
        raise PipelineError(
            f"ssgp.arms: {', '.join(asked)} have the Gaussian kernel; use kernel=gaussian or leave them out"
        )


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
    changed, rows = bench.reconfigured(settings.seed), len(bench.problem.test.targets)
    if rows < LEAST_PICTURE:
        tqdm.write(f"the test part has {rows} rows, too few for a t-SNE; figures/clusters is left out")
        return
    tables = [
        pictured(
            problem.test.inputs[: settings.ssgp.picture], kind=kind, clusters=settings.autoencoder.components,
            seed=settings.seed,
        )
        for kind, problem in (("inputs", bench.problem), ("reconfigured", changed))
    ]  # fmt: skip
    table = pd.concat(tables, ignore_index=True)
    opened.run.table(table, "evaluate/clusters.csv")
    opened.run.figure(cluster_figure(table, title=f"{opened.title}: clusters of the test inputs"), "figures/clusters")


def log_stream(settings: SsgpConfig, bench: Bench, opened: Study) -> None:
    """Cost of a fit against the number of generated rows."""
    own = settings.stream
    costs = streamed_costs(
        own.rows, bench.kernel, Iid(), count=own.count, dimension=own.dimension, seed=settings.seed,
        dtype=DTYPES[settings.dtype],
    )  # fmt: skip
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
        wanted = list(cells(settings, len(bench.problem.train.targets)))
        found = fit_cells(bench, wanted, opened.folder / "cells.json", opened.run)
    stopped = ["{arm} p={p} seed={seed}".format(**row["cell"]) for row in found if row["stopped"]]
    if stopped:
        opened.run.tags({"ssgp.stopped": ", ".join(stopped)})
    with opened.clock.stage("report"):
        table = table_of(found)
        log_means(opened.run, report(opened.run, table, points, title=opened.title))
        log_autoencoders(opened.run, found)
    if any(arm.startswith("revisited/") for arm in settings.ssgp.arms):
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
    for arm in own.arms:
        split_arm(arm, settings.samplers)
    for key, values in {"ssgp.arms": own.arms, "ssgp.counts": own.counts}.items():
        refuse_repeated(key, values)
    models = {arm.partition("/")[0] for arm in own.arms}
    if "revisited" in models and own.picture < LEAST_PICTURE:
        raise PipelineError(f"ssgp.picture={own.picture}: a t-SNE takes at least {LEAST_PICTURE} points")
    if models & {"revisited", "vae_ridge"} and settings.autoencoder.batch_size < 2:
        raise PipelineError("autoencoder.batch_size=1: its layers normalise over a batch; give at least 2")
    check_peers(settings)


def compare(settings: SsgpConfig, job: Job) -> float:
    """The whole recipe; returns the least validation RMSE of all fits."""
    refuse_several("recipe=ssgp")
    device, clock = prepare(settings, job), Clock()
    with clock.stage("load"):
        points = load_points(settings)
        problem = make_problem(points, rows=settings.size.steps, dtype=DTYPES[settings.dtype], device=device)
        bench = Bench(settings, problem)
    tqdm.write(f"{points.name}: {len(problem.train.targets)} training rows")
    with study(settings, job, points, device, clock) as opened:
        return stages(settings, bench, points, opened)
