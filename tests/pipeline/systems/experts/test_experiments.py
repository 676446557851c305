"""The experiments of `recipe=experts`, tiny: each leaves tables and words of its jobs at its parent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from logged import table
from pipeline.export import export, export_again

SMALL = ("translator.width=8", "translator.heads=2", "translator.hidden=8", "translator.layers=1", "adapter.hidden=4",
         "sampling.tokens=120", "fit.updates=2", "fit.bleu=0", "decode.beam=1")  # fmt: skip


def runs_of(client) -> tuple[list, list]:
    runs = client.search_runs([e.experiment_id for e in client.search_experiments()])
    assert [run.info.status for run in runs] == ["FINISHED"] * len(runs)
    parents = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    return parents, [run for run in runs if run not in parents]


@pytest.mark.parametrize(
    ("experiment", "swept"),
    [
        ("+experiment=experts", ("experts.arm=token+shared", "data.source=stand_in")),
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
    scored = table(parent, "tasks.csv").groupby("arm", sort=False)["task"].agg(list)
    assert scored.index.tolist()[1:] == ["copy", "nearest", "words"]
    assert scored.tolist() == [job.data.tags["tasks"].split()] * 4
    assert {"pairs.csv", "jobs.csv", "figures"} <= {item.path for item in client.list_artifacts(parent.info.run_id)}


def test_the_parent_has_tables_claims_and_a_page_that_is_made_again(run_pipeline: Callable, client, tmp_path) -> None:
    arms = "experts.arm=dense,token"
    result = run_pipeline("+experiment=experts_ciphers", "size=tiny", arms, "data.languages=4", *SMALL, "run_name=mine")
    assert result.status == 0, result.err
    (parent,), jobs = runs_of(client)
    assert len(jobs) == 2 * 2
    means = table(parent, "means.csv").set_index("arm")
    assert means.index.tolist() == ["dense", "token"]
    own = [run.data.metrics for run in jobs if run.data.tags["arm"] == "token"]
    assert means.loc["token", "test_error"] == pytest.approx(sum(one["evaluate/test_error"] for one in own) / 2)
    assert means.loc["token", "parameters"] == own[0]["model/parameters"]
    paired = table(parent, "paired.csv")
    pairs = set(zip(paired["challenger"], paired["against"], strict=True))
    assert pairs == {("dense", "token")}
    assert set(paired["verdict"]) == {"undecided"}  # of two seeds
    assert table(parent, "bleu.csv")["sentences"].tolist() == [2 * 4 * 6]
    shares = table(parent, "shares.csv")
    assert shares.loc[shares["layer"] == "encoder.0", "arm"].unique().tolist() == ["token"]
    drawn = {item.path for item in client.list_artifacts(parent.info.run_id, "figures")}
    assert "figures/experts_token.svg" in drawn
    before = export("mine", tmp_path).read_text(encoding="utf-8")
    assert "![arms](mine/arms.svg)" in before
    again = export_again(tmp_path / "mine").read_text(encoding="utf-8")
    again = again.replace(" Made again from the files below.", "")
    assert again.partition("## Files")[0] == before.partition("## Files")[0]


def test_few_pairs_teach_new_tasks_and_adapters_leave_the_old_ones_alone(
    run_pipeline: Callable, client, store: Path
) -> None:
    """Both jobs take the translator of the old tasks that the first of them has trained."""
    ciphers = ("data=ciphers", "~data.languages", "+data.languages=5", "fewshot.languages=[c4,c5]")
    result = run_pipeline("+experiment=experts_fewshot", "size=tiny", "seed=0", *ciphers, "fewshot.pairs=2", *SMALL,
                          "experts.variant=static-adapters,static-all", "fewshot.learning_rate=0.1")  # fmt: skip
    assert result.status == 0, result.err
    assert "translator of 3 tasks: found, trained before" in result.out + result.err
    (kept,) = (store / "shared").glob("translator-*")
    assert {path.name for path in kept.iterdir()} == {"learned.npz", "lock"}
    (parent,), jobs = runs_of(client)
    found = {run.data.tags["adapt"]: run.data.metrics for run in jobs}
    for metrics in found.values():
        new = [metrics[f"evaluate/nll_{task}"] for task in ("c4-en", "c5-en")]
        assert metrics["evaluate/test_error"] == pytest.approx(sum(new) / 2)
        assert metrics["data/pairs_c4-en"] == 2
    assert found["adapters"]["evaluate/zero_shot_error"] == found["all"]["evaluate/zero_shot_error"]
    assert found["adapters"]["evaluate/test_error"] < found["adapters"]["evaluate/zero_shot_error"]
    assert (found["adapters"]["evaluate/old_equal"], found["adapters"]["evaluate/forgotten"]) == (1, 0)
    assert found["all"]["evaluate/old_equal"] == 0
    shots = table(parent, "fewshot.csv")
    assert list(zip(shots["adapt"], shots["pairs"], shots["old_equal"], strict=True)) == [
        ("adapters", 2, True), ("all", 2, False)
    ]  # fmt: skip
    goals = table(parent, "goals.csv").set_index("goal")["verdict"]
    assert goals["old tasks stay the same to the bit: token+static static-adapters"] == "holds"
