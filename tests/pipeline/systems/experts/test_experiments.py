"""The experiments of `recipe=experts`, tiny: each leaves tables and words of its jobs at its parent."""

from __future__ import annotations

import io
from collections.abc import Callable

import mlflow
import pandas as pd
import pytest

from data.files.exact_numbers import EXACT
from pipeline.export import export, export_again

SMALL = ("translator.width=8", "translator.heads=2", "translator.hidden=8", "translator.layers=1", "adapter.hidden=4",
         "sampling.tokens=120", "fit.updates=2", "fit.bleu=0", "decode.beam=1")  # fmt: skip


def runs_of(client) -> tuple[list, list]:
    runs = client.search_runs([e.experiment_id for e in client.search_experiments()])
    assert [run.info.status for run in runs] == ["FINISHED"] * len(runs)
    parents = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    return parents, [run for run in runs if run not in parents]


def table(run, path: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(mlflow.artifacts.load_text(f"{run.info.artifact_uri}/{path}")), **EXACT)


@pytest.mark.parametrize(
    ("experiment", "swept"),
    [
        ("+experiment=experts_all", ("experts.arm=dense", "data.source=stand_in", "data.languages=[de,fr]")),
        ("+experiment=experts_routing", ("experts.variant=capacity-1.25", "data.languages=3", "adapter.hidden=4")),
    ],
)
def test_every_experiment_runs_tiny_without_files(
    experiment: str, swept: tuple[str, ...], run_pipeline: Callable, client
) -> None:
    result = run_pipeline(experiment, "size=tiny", "seed=0", *swept, *SMALL)
    assert result.status == 0, result.err
    (parent,), (job,) = runs_of(client)
    assert len(table(parent, "means.csv")) == 1
    assert table(parent, "tasks.csv")["task"].tolist() == job.data.tags["tasks"].split()
    assert {"pairs.csv", "jobs.csv"} <= {item.path for item in client.list_artifacts(parent.info.run_id)}


def test_the_parent_has_tables_claims_and_a_page_that_is_made_again(run_pipeline: Callable, client, tmp_path) -> None:
    arms = "experts.arm=dense,token,token+static"
    result = run_pipeline("+experiment=experts_ciphers", "size=tiny", arms, "data.languages=4", *SMALL, "run_name=mine")
    assert result.status == 0, result.err
    (parent,), jobs = runs_of(client)
    assert len(jobs) == 3 * 2
    means = table(parent, "means.csv").set_index("arm")
    assert means.index.tolist() == ["dense", "token", "token+static"]
    own = [run.data.metrics for run in jobs if run.data.tags["arm"] == "token"]
    assert means.loc["token", "test_error"] == pytest.approx(sum(one["evaluate/test_error"] for one in own) / 2)
    assert means.loc["token", "parameters"] == own[0]["model/parameters"]
    paired = table(parent, "paired.csv")
    pairs = set(zip(paired["challenger"], paired["against"], strict=True))
    assert pairs == {("token+static", "token"), ("token+static", "dense"), ("dense", "token")}
    assert set(paired["verdict"]) == {"undecided"}  # of two seeds
    assert table(parent, "bleu.csv")["sentences"].tolist() == [2 * 4 * 6] * 3
    before = export("mine", tmp_path).read_text(encoding="utf-8")
    assert "![arms](mine/arms.svg)" in before
    again = export_again(tmp_path / "mine").read_text(encoding="utf-8")
    again = again.replace(" Made again from the files below.", "")
    assert again.partition("## Files")[0] == before.partition("## Files")[0]
