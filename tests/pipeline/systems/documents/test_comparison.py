"""Multiruns of `recipe=documents`: which arms their documents belong to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pipeline.compare.arms import varied
from pipeline.systems.documents.comparison import DOCUMENTS
from pipeline.systems.documents.labels import labelled
from pipeline.systems.documents.multirun import summary_of, sums_in, with_arms

RATES = [f"finetune.learning_rate={rate}" for rate in ("0.001", "0.003")]


def jobs_of(*rows: tuple[str, str]) -> pd.DataFrame:
    """Jobs of two seeds for each arm and what was varied."""
    named = [(f"run{place}", arm, varied, place % 2)
             for place, (arm, varied) in enumerate(row for row in rows for _ in range(2))]  # fmt: skip
    jobs = pd.DataFrame(named, columns=["run_id", "arm", "varied", "seed"])
    return jobs.assign(data="letters", task="classes", cue="", stand_in=False, test_error=0.0)


def sums_of(runs: list[str], wrong: int = 2, *, names: str = "abcdefgh", baseline: str = "") -> pd.DataFrame:
    """Sums of classes of eight documents, of which each run has the first ones wrong."""
    rows = [(run, name, 600, 1, int(place >= wrong)) for run in runs for place, name in enumerate(names)]
    sums = pd.DataFrame(rows, columns=["run_id", "document", "words", "documents", "right"])
    return sums.assign(baseline=baseline)


def test_settings_that_jobs_of_an_arm_differ_in_are_part_of_its_name() -> None:
    """What the arm says already, as its reader, is not said again, and jobs of two rates are no seeds of one arm."""
    jobs = jobs_of(*[(arm, f"{rate}, reader=near_{arm}") for arm in ("full", "distance") for rate in RATES])
    names = [f"{arm}, {rate}" for arm in ("full", "distance") for rate in RATES]
    assert labelled(jobs)["arm"].unique().tolist() == names
    means = summary_of(jobs, sums_of(list(jobs["run_id"])), "t").tables["means.csv"]
    assert means[["arm", "jobs"]].to_numpy().tolist() == [[name, 2] for name in names]


def test_settings_of_the_data_are_part_of_its_name_but_for_the_cue() -> None:
    jobs = jobs_of(*[("full", f"data.cue=none, data.seed={seed}") for seed in (0, 1)])
    found = labelled(jobs)
    assert found["data"].unique().tolist() == ["letters, data.seed=0", "letters, data.seed=1"]
    assert set(found["arm"]) == {"full"}
    tables = summary_of(jobs, sums_of(list(jobs["run_id"])), "t").tables
    assert tables["means.csv"]["panel"].tolist() == ["letters, data.seed=0: classes", "letters, data.seed=1: classes"]


def test_nats_of_other_vocabularies_are_compared_in_sets_of_their_own() -> None:
    """Tokens of unlike vocabularies are no more alike than documents of unlike data; F1 of entities does not hang on
    them."""
    jobs = jobs_of(*[("full", f"documents.vocabulary={pieces}, pretrain.share=0.3") for pieces in (300, 400)])
    names = [f"documents.vocabulary={pieces}" for pieces in (300, 400)]
    guessing = labelled(jobs.assign(task="mlm"))
    assert guessing["data"].unique().tolist() == [f"letters, {name}" for name in names]
    assert set(guessing["arm"]) == {"full"}
    assert labelled(jobs)["arm"].unique().tolist() == [f"full, {name}" for name in names]


def test_an_encoder_that_the_name_of_a_variant_leaves_out_counts_as_varied() -> None:
    jobs = [{"reader": "near_full", "encoder": size, "attention": "full"} for size in ("small", "base")]
    assert varied(jobs, ["letters"] * 2, None, "count", DOCUMENTS) == ["encoder=small", "encoder=base"]


@pytest.mark.parametrize("written", ["majority", "majority jitter 2.0 shuffled"])
def test_simple_models_of_older_jobs_are_called_by_how_they_read(written: str) -> None:
    """A multirun that goes on has both: older jobs wrote the name alone."""
    jobs = pd.DataFrame({"run_id": ["a", "b"], "arm": ["distance no pretraining", "distance jitter 2.0 shuffled @48"]})
    documents = pd.DataFrame({"run_id": ["a", "a", "b", "b"], "baseline": ["", "majority", "", written]})
    found = with_arms(jobs, documents)
    assert found["arm"].tolist() == [*jobs["arm"], "majority", "majority jitter 2.0 shuffled"]


def test_a_simple_model_is_read_on_the_documents_of_the_first_job() -> None:
    """Jobs on other documents of it were left with those that only they had, and nothing was compared."""
    jobs = jobs_of(("full", ""))
    first, second = jobs["run_id"]
    tables = [sums_of([run], names=names, baseline=name)
              for run, names in ((first, "abcdef"), (second, "cdefgh")) for name in ("", "majority")]  # fmt: skip
    summary = summary_of(jobs, pd.concat(tables, ignore_index=True), "t")
    assert summary.tables["means.csv"][["arm", "jobs", "documents"]].to_numpy().tolist() == [
        ["full", 2, 4], ["majority", 1, 4]]  # fmt: skip
    line = "letters: classes: jobs have unlike test documents. Of 8 all jobs have 4; these alone are compared."
    assert line in summary.text
    alike = summary_of(jobs, sums_of([first, second]), "t")
    assert "unlike" not in alike.text


@pytest.mark.parametrize(("accuracy", "short"), [(0.5, 0.3), (np.nan, 0.425)])
def test_of_entities_the_accuracy_of_tagged_words_is_beside_the_ceiling(accuracy: float, short: float) -> None:
    """The ceiling bounds an accuracy, and F1 counts what was named beside the tagged words too."""
    jobs = jobs_of(("full", "")).assign(task="entities", ceiling=0.8, test_token_accuracy=accuracy)
    sums = sums_of(list(jobs["run_id"])).drop(columns="documents").assign(true=1, named=3)
    (row,) = summary_of(jobs, sums, "t").tables["means.csv"].to_dict("records")
    assert row["error"] == pytest.approx(1 - 2 * 6 / (8 + 24))
    assert row["short_of_ceiling"] == pytest.approx(short)


def test_jobs_without_a_common_document_are_told_of() -> None:
    jobs = jobs_of(("full", ""))
    tables = [sums_of([run], names=names) for run, names in zip(jobs["run_id"], ("abcd", "efgh"), strict=True)]
    said = summary_of(jobs, pd.concat(tables, ignore_index=True), "t").text
    assert said == (
        "letters: classes: jobs have unlike test documents. Of 8 all jobs have 0; nothing is compared; give jobs the "
        "same data."
    )


def test_documents_are_called_as_their_names_are_written(tmp_path: Path) -> None:
    table = sums_of(["run0"]).drop(columns=["baseline", "run_id"]).head(4).assign(document=["NA", "01", "1", "b"])
    table.assign(true_a=[None, 1, 2, 3]).to_csv(tmp_path / "sums.csv", index=False)
    found = sums_in(tmp_path / "sums.csv")
    assert found["document"].tolist() == ["NA", "01", "1", "b"]
    assert found["true_a"].tolist() == [0, 1, 2, 3]
