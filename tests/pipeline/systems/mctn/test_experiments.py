"""The experiments of `recipe=mctn`: they hold every row of the thesis, and each runs tiny."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from models.mctn.arms import ARMS
from models.mctn.baselines import NAMES
from pipeline.host.paths import conf_folder


def rows_of(experiment: str) -> list[str]:
    text = (conf_folder() / "experiment" / f"{experiment}.yaml").read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if "mctn.arm:" in line]
    return line.split(": ")[1].split(",")


def test_the_experiments_hold_every_row_of_the_thesis() -> None:
    swept = {row for path in (conf_folder() / "experiment").glob("mctn*.yaml") for row in rows_of(path.stem)}
    assert swept <= set(ARMS) | set(NAMES)
    assert set(ARMS) <= swept


@pytest.mark.parametrize("experiment", ["mctn_synthetic", "mctn_missing"])
def test_a_median_stands_beside_generated_utterances(experiment: str) -> None:
    assert rows_of(experiment)[-1] == "median"


@pytest.mark.parametrize(
    ("experiment", "arms"),
    [
        ("+experiment=mctn", "cyclic-t-a,median"),
        ("+experiment=mctn_bimodal", "double-t-v"),
        ("+experiment=mctn_trimodal", "paired-t-av"),
        ("+experiment=mctn_mmmo", "cyclic-v-a,audio"),
        ("+experiment=mctn_mmmo_text", "none-t"),
        ("+experiment=mctn_synthetic", "simple-t-v"),
        ("+experiment=mctn_missing", "none-tva,none-t"),
        ("+experiment=mctn_missing_mosi", "none-tva,median"),
    ],
)
def test_every_experiment_runs_tiny_without_files(experiment: str, arms: str, run_pipeline: Callable, client) -> None:
    files = [] if experiment in ("+experiment=mctn_synthetic", "+experiment=mctn_missing") else ["data.source=stand_in"]
    files += ["data.seed=0"] if experiment == "+experiment=mctn_mmmo_text" else []
    result = run_pipeline(experiment, "size=tiny", "seed=0", f"mctn.arm={arms}", "mctn.units=4", *files)
    assert result.status == 0, result.err
    runs = client.search_runs([e.experiment_id for e in client.search_experiments()])
    parents = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    jobs = [run for run in runs if "mlflow.parentRunId" in run.data.tags]
    assert [run.info.status for run in runs] == ["FINISHED"] * len(runs)
    assert {run.data.tags["arm"] for run in jobs} == set(arms.split(","))
    swept = {"mctn_mmmo_text": 2, "mctn_synthetic": 2, "mctn_missing": 3, "mctn_missing_mosi": 3}
    assert len(jobs) == swept.get(experiment.partition("=")[2], len(arms.split(",")))
    assert "means.csv" in {item.path for item in client.list_artifacts(parents[0].info.run_id)}
