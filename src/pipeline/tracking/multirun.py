"""The parent of a multirun: made before the first job, handed to the jobs, closed with what they found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from hydra.experimental.callback import Callback
from mlflow.entities import Run as MlflowRun
from mlflow.tracking import MlflowClient
from omegaconf import DictConfig, open_dict

from pipeline import figures
from pipeline.tracking.model import EXAMPLE, PARAMETERS, log_model, scratch_folder
from pipeline.tracking.run import Run, create_run
from pipeline.tracking.session import origin_tags
from pipeline.tracking.store import experiment_id, open_store

ERROR = "evaluate/test_mse"
GROUPS = ["sampler", "kernel", "count"]


OPEN_PARENTS: list[ParentRun] = []


def close_open_parents() -> None:
    """Close what is still open when the process ends: Hydra skips `on_multirun_end` when a job failed."""
    while OPEN_PARENTS:
        OPEN_PARENTS.pop().close("FAILED")


class ParentRun(Callback):
    """Hydra callback. The parent's id travels as an override, which every launcher passes on."""

    def __init__(self) -> None:
        self.run: Run | None = None

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:  # noqa: ARG002
        tracking = config.get("tracking")
        if tracking is None or not tracking.enabled or config.recipe == "predict":
            return
        client = open_store(tracking.uri)
        choices = config.hydra.runtime.choices
        experiment = choices.get("experiment") or choices.get("data") or config.recipe
        name = f"multirun-{experiment}" if config.run_name is None else str(config.run_name)
        typed = " ".join(config.hydra.overrides.task)
        where = experiment_id(client, tracking.experiment or str(experiment))
        self.run = create_run(client, where, name, {**origin_tags(), "multirun": "parent", "hydra.overrides": typed})
        with open_dict(config):
            config.hydra.overrides.task.append(f"tracking.parent={self.run.id}")
            config.hydra.overrides.task.append(f"tracking.experiment={tracking.experiment or experiment}")
        OPEN_PARENTS.append(self)

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:  # noqa: ARG002
        self.close("FINISHED")

    def close(self, status: str) -> None:
        """Once: with the tables and figures of the jobs that finished."""
        if self.run is None:
            return
        run, self.run = self.run, None
        children = children_of(run.client, run)
        finished = [child for child in children if child.info.status == "FINISHED"]
        run.tags({"jobs": str(len(children)), "jobs.failed": str(len(children) - len(finished))})
        if finished:
            summarise(run, finished)
        run.finish(status)


def children_of(client: MlflowClient, run: Run) -> list[MlflowRun]:
    found: list[MlflowRun] = []
    token: str | None = None
    while True:
        page = client.search_runs(
            [run.experiment_id], filter_string=f"tags.`mlflow.parentRunId` = '{run.id}'", page_token=token
        )
        found += page
        token = page.token
        if not token:
            return found


def job_table(children: list[MlflowRun]) -> pd.DataFrame:
    """One row per finished job."""
    rows = [
        {
            "run": child.info.run_name,
            "run_id": child.info.run_id,
            "sampler": child.data.tags.get("sampler", ""),
            "kernel": child.data.tags.get("kernel", ""),
            "count": int(child.data.params["features.count"]),
            "seed": int(child.data.params["seed"]),
            "test_mse": child.data.metrics[ERROR],
            "stable": child.data.tags.get("stability") == "stable",
        }
        for child in children
    ]
    return pd.DataFrame(rows).sort_values([*GROUPS, "seed"], ignore_index=True)


def seed_table(jobs: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation of the test error per sampler, kernel and count, over seeds and what else varied."""
    grouped = jobs.groupby(GROUPS, as_index=False)
    return grouped.agg(
        jobs=("test_mse", "size"),
        unstable=("stable", lambda stable: int((~stable).sum())),
        mean=("test_mse", "mean"),
        sd=("test_mse", "std"),
    )


def markdown(table: pd.DataFrame, best: str) -> str:
    lines = [
        "| sampler | kernel | frequencies | jobs | test error, mean ± sd | unstable |",
        "|---|---|---|---|---|---|",
    ]
    for row in table.to_dict("records"):
        spread = "" if pd.isna(row["sd"]) else f" ± {row['sd']:.2g}"
        cells = (
            row["sampler"],
            row["kernel"],
            row["count"],
            row["jobs"],
            f"{row['mean']:.3g}{spread}",
            row["unstable"],
        )
        lines.append(f"| {' | '.join(str(cell) for cell in cells)} |")
    return "\n".join(lines) + f"\n\nBest by validation error: {best}\n"


def best_child(children: list[MlflowRun]) -> tuple[MlflowRun, float]:
    """The job whose kept model has the smallest validation error; the test error decides nothing."""
    errors = {child.info.run_id: float(child.data.tags["validation_mse"]) for child in children}
    best = min(children, key=lambda child: errors[child.info.run_id])
    return best, errors[best.info.run_id]


def summarise(run: Run, children: list[MlflowRun]) -> None:
    jobs = job_table(children)
    table = seed_table(jobs)
    best, error = best_child(children)
    run.table(jobs, "jobs.csv")
    run.table(table, "by_sampler_and_count.csv")
    name = str(run.client.get_run(run.id).info.run_name)
    if any(child.data.tags["data.source"] == "stand-in" for child in children):
        name = f"STAND-IN-{name} (data not real)"
        run.client.update_run(run.id, name=name)
    title = f"{name}: test error, mean ± sd over jobs"
    run.figure(figures.error_by_count(table, title=title), "figures/error_by_count")
    run.describe(f"{name}\n\n" + markdown(table, f"{best.info.run_name} ({best.info.run_id})"))
    run.tags({"best.run": best.info.run_id, "best.name": str(best.info.run_name)})
    settings = {f"best.{k}": v for k, v in best.data.params.items() if not k.startswith("tracking.")}
    run.parameters(settings)
    run.metric("best/validation_mse", error)
    run.metric("best/test_mse", best.data.metrics[ERROR])
    log_best_model(run.client, best)


def log_best_model(client: MlflowClient, best: MlflowRun) -> None:
    """The model of the best job, from its parameters, unless it was told to keep none or has logged it itself."""
    if "best_so_far" not in best.data.tags:
        return
    with scratch_folder() as folder:
        parameters = Path(client.download_artifacts(best.info.run_id, PARAMETERS, str(folder)))
        example = pd.read_csv(parameters / EXAMPLE, dtype={"sequence": str})
        log_model(Run(client, best.info.run_id), parameters, example)
