"""The experiments of `recipe=experts`, tiny: each leaves tables and words of its jobs at its parent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mlflow
import pytest

from logged import table
from pipeline.compare.markdown import escaped
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
        ("+experiment=experts_fewshot", ("experts.variant=shared-tasks", "data.source=stand_in", "fewshot.pairs=4")),
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
    arms = "experts.arm=dense,token+shared"
    result = run_pipeline("+experiment=experts_ciphers", "size=tiny", arms, "data.languages=4", *SMALL, "run_name=mine")
    assert result.status == 0, result.err
    (parent,), jobs = runs_of(client)
    assert len(jobs) == 2 * 2
    means = table(parent, "means.csv").set_index("arm")
    assert means.index.tolist() == ["dense", "token+shared"]
    assert set(table(parent, "jobs.csv")["data_source"]) == {"simulated"}
    own = [run.data.metrics for run in jobs if run.data.tags["arm"] == "token+shared"]
    assert means.loc["token+shared", "test_error"] == pytest.approx(sum(one["evaluate/test_error"] for one in own) / 2)
    assert means.loc["token+shared", "parameters"] == own[0]["model/parameters"]
    paired = table(parent, "paired.csv")
    pairs = set(zip(paired["challenger"], paired["against"], strict=True))
    assert pairs == {("token+shared", "dense")}
    assert set(paired["verdict"]) == {"undecided"}  # of two seeds
    assert table(parent, "bleu.csv")["sentences"].tolist() == [2 * 4 * 6]
    shares = table(parent, "shares.csv")
    assert shares.loc[shares["layer"] == "encoder.0", "arm"].unique().tolist() == ["token+shared"]
    drawn = {item.path for item in client.list_artifacts(parent.info.run_id, "figures")}
    assert {f"figures/{name}.svg" for name in ("experts_token_shared", "embeddings", "curves")} <= drawn
    check_embeddings_and_curves(parent, jobs)
    check_translations(parent, jobs)
    examples = table(parent, "examples.csv").groupby("task", sort=False)
    assert examples["source"].nunique().to_dict() == {"c1-en": 1, "c2-en": 1, "c3-en": 1}  # of four tasks
    before = export("mine", tmp_path).read_text(encoding="utf-8")
    assert "![arms](mine/arms.svg)" in before
    files = {path.name for path in (tmp_path / "mine").iterdir()}
    assert {"embeddings.csv", "embeddings.svg", "curves.csv", "curves.svg", "examples.csv"} <= files
    assert "translations.md" not in files
    kept = {name: (tmp_path / "mine" / name).read_bytes() for name in ("embeddings.csv", "curves.csv", "examples.csv")}
    for name in ("embeddings.svg", "curves.svg"):
        (tmp_path / "mine" / name).unlink()
    again = export_again(tmp_path / "mine").read_text(encoding="utf-8")
    assert kept == {name: (tmp_path / "mine" / name).read_bytes() for name in kept}
    again = again.replace(" Made again from the files below.", "")
    assert again.partition("## Files")[0] == before.partition("## Files")[0]
    assert {path.name for path in (tmp_path / "mine").iterdir()} == files
    for name in (*kept, "embeddings.svg", "curves.svg"):
        (tmp_path / "mine" / name).unlink()
    older = export_again(tmp_path / "mine").read_text(encoding="utf-8")
    assert "embeddings" not in older
    assert "Translations of generated sentences" not in older


def test_sentences_of_a_table_named_ciphers_are_not_on_the_page(run_pipeline: Callable, client, tmp_path) -> None:
    """The generated data are called so too, and their sentences are shown."""
    lines = [f"das {noun} {k},the {noun} {k},de,en" for noun in ("haus", "buch", "rad") for k in range(10)]
    pairs = tmp_path / "ciphers.csv"
    pairs.write_text("\n".join(["text,translation,from,to", *lines]), encoding="utf-8")
    result = run_pipeline("-m", "recipe=experts", "data=text_pairs", f"data.path={pairs}", "experts.arm=dense",
                          "seed=0", "vocabulary.pieces=280", "fit.epochs=1", *SMALL, "run_name=mine")  # fmt: skip
    assert result.status == 0, result.err
    (parent,), _ = runs_of(client)
    jobs = table(parent, "jobs.csv")
    assert jobs[["data", "data_source"]].to_numpy().tolist() == [["ciphers", "table:ciphers.csv"]]
    assert "| *source* | das " in mlflow.artifacts.load_text(f"{parent.info.artifact_uri}/translations.md")
    page = export("mine", tmp_path).read_text(encoding="utf-8")
    files = {path.name for path in (tmp_path / "mine").iterdir()}
    assert ("das haus" in page, "examples.csv" in files, "jobs.csv" in files) == (False, False, True)


def check_embeddings_and_curves(parent, jobs: list) -> None:
    """Means over the jobs of an arm: of cosines, and of validation nats by epoch as the jobs logged them."""
    shared = [run for run in jobs if run.data.tags["arm"] == "token+shared"]
    own = [table(run, "embeddings.csv").set_index("task") for run in shared]  # with tracking.detail=summary
    cosines = table(parent, "embeddings.csv")
    assert set(cosines["arm"]) == {"token+shared"}
    mean = cosines.set_index(["task", "other"])["cosine"].loc[("c1-en", "c3-en")]
    assert mean == pytest.approx(sum(one.loc["c1-en", "c3-en"] for one in own) / 2)
    curves = table(parent, "curves.csv")
    assert curves["task"].unique().tolist() == ["mean over tasks", *shared[0].data.tags["tasks"].split()]
    last = curves.groupby(["arm", "task"])["nll"].last()
    logged = sum(run.data.metrics["fit/nll_c2-en"] for run in shared) / 2
    assert last.loc[("token+shared", "c2-en")] == pytest.approx(logged)


def check_translations(parent, jobs: list) -> None:
    """Each arm of the first seed has the same sentences."""
    text = mlflow.artifacts.load_text(f"{parent.info.artifact_uri}/translations.md")
    assert text.count("| *reference* | ") == 4 * 6  # all test sentences of four tasks
    assert "Jobs of seed 0.\n" in text
    (job,) = (run for run in jobs if (run.data.tags["arm"], run.data.params["seed"]) == ("token+shared", "0"))
    for row in table(job, "translations.csv").fillna("").to_dict("records"):
        assert f"| *source* | {row['source']} |\n| *reference* | {row['reference']} |\n| dense | " in text
        assert f"| token+shared | {escaped(row['translation'])} |" in text


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
    curves = table(parent, "curves.csv")
    assert curves["task"].unique().tolist() == ["mean over tasks", "c4-en", "c5-en"]
    assert set(curves["asked"]) == {2}
    start = curves[(curves["task"] == "mean over tasks") & (curves["epoch"] == 0)].set_index("arm")["nll"]
    assert start.nunique() == 1  # that of the old translator, with all numbers as with adapters
    goals = table(parent, "goals.csv").set_index("goal")["verdict"]
    assert goals["old tasks stay the same to the bit: token+static static-adapters"] == "holds"
