"""A parent of a thousand jobs: closed in seconds, with a table that is still read by arm and count."""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import mlflow
import pytest
from mlflow.tracking import MlflowClient

from logged import table
from pipeline.multirun.parent import children_of, summarised
from pipeline.tracking.run import create_run
from pipeline.tracking.store import experiment_id

JOBS, SEEDS = 1000, 25
ARMS, COUNTS = ("iid", "orthogonal", "hadamard", "sobol"), tuple(range(10, 110, 10))
LIMIT_SECONDS = 60  # on two busy cores; measured times stand in docs/tracking-server.md


def jobs(parent: str) -> Iterator[tuple[dict[str, str], dict[str, str], dict[str, float]]]:
    """Tags, parameters and metrics of every job; the error falls with the count, and orthogonal is the best arm."""
    for arm in ARMS:
        for count in COUNTS:
            for seed in range(SEEDS):
                error = 1 / count + 0.001 * seed + (0 if arm == "orthogonal" else 0.01)
                tags = {
                    "recipe": "psrnn",
                    "mlflow.parentRunId": parent, "data": "walk", "data.stand_in": "false", "data.checksum": "c" * 64,
                    "arm": arm, "model": "psrnn", "sampler": arm, "kernel": "gaussian", "stability": "stable",
                    "validation_mse": repr(error), "hydra.overrides": f"seed={seed}",
                    "mlflow.runName": f"walk-{arm}-gaussian-m{count}-seed{seed}",
                }  # fmt: skip
                metrics = {"evaluate/test_mse": 2 * error, "model/parameters": 10.0 * count}
                yield tags, {"features.count": str(count), "seed": str(seed)}, metrics


def write_jobs(database: Path, experiment: str, parent: str) -> None:
    """Finished runs straight into the tables of the store; through the client they would take a minute."""
    now = int(time.time() * 1000)
    runs, tag_rows, parameter_rows, metric_rows = [], [], [], []
    for tags, parameters, metrics in jobs(parent):
        run = uuid.uuid4().hex
        name = tags["mlflow.runName"]
        runs.append(
            (run, name, "LOCAL", "", "", "someone", "FINISHED", now, now, "", "active", "file:///x", experiment)
        )
        tag_rows += [(key, value, run) for key, value in tags.items()]
        parameter_rows += [(key, value, run) for key, value in parameters.items()]
        metric_rows += [(key, value, now, run, 0, 0) for key, value in metrics.items()]
    with closing(sqlite3.connect(database)) as connection:
        connection.executemany(
            "INSERT INTO runs (run_uuid, name, source_type, source_name, entry_point_name, user_id, status, start_time,"
            " end_time, source_version, lifecycle_stage, artifact_uri, experiment_id)"
            " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
            runs,
        )
        connection.executemany("INSERT INTO tags (key, value, run_uuid) VALUES (?,?,?)", tag_rows)
        connection.executemany("INSERT INTO params (key, value, run_uuid) VALUES (?,?,?)", parameter_rows)
        columns = "(key, value, timestamp, run_uuid, step, is_nan) VALUES (?,?,?,?,?,?)"
        connection.executemany(f"INSERT INTO metrics {columns}", metric_rows)
        connection.executemany(f"INSERT INTO latest_metrics {columns}", metric_rows)
        connection.commit()


@pytest.mark.parametrize("length", [8000, 8001])
def test_a_long_description_is_cut_at_a_line(client: MlflowClient, length: int) -> None:
    run = create_run(client, experiment_id(client, "large"), "long", {})
    text = ("word word word\n" * length)[:length]
    run.describe(text)
    found = client.get_run(run.id)
    note = found.data.tags["mlflow.note.content"]
    assert len(note) <= 8000
    if length == 8000:
        assert note == text
    else:
        assert note.endswith("word\n\n… cut here; the whole text is the artifact description.md")
        assert mlflow.artifacts.load_text(f"{found.info.artifact_uri}/description.md") == text


@pytest.mark.slow
def test_parent_of_a_thousand_jobs(client: MlflowClient, store: Path) -> None:
    experiment = experiment_id(client, "large")
    parent = create_run(client, experiment, "multirun-large", {"multirun": "parent"})
    write_jobs(store / "mlflow.db", experiment, parent.id)
    start = time.monotonic()
    children = children_of(client, parent)
    compare = SimpleNamespace(figure="count", arm=None, baseline="iid", challenger="orthogonal")
    assert summarised(parent, children, compare, None, "FINISHED")
    parent.finish("FINISHED")
    seconds = time.monotonic() - start
    print(f"{len(children)} jobs read and summarised in {seconds:.1f} s")
    assert len(children) == JOBS
    assert seconds < LIMIT_SECONDS
    run = client.get_run(parent.id)
    assert run.data.tags["best.name"] == "walk-orthogonal-gaussian-m100-seed0"
    assert len(table(run, "jobs.csv")) == JOBS
    by_arm = table(run, "by_arm_and_count.csv")
    assert len(by_arm) == len(ARMS) * len(COUNTS)
    assert by_arm["jobs"].tolist() == [SEEDS] * len(by_arm)
    assert len(run.data.tags["mlflow.note.content"]) < 8000
    found = client.search_runs([experiment], filter_string="tags.arm = 'sobol' and params.`features.count` = '30'")
    assert len(found) == SEEDS
