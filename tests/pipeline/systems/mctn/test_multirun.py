"""A tiny multirun of `recipe=mctn`: its parent holds what its jobs measured, and its page is made again."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
import pytest

from data.files.exact_numbers import EXACT
from pipeline.export import export, export_again
from pipeline.systems.mctn.claims import NO_TRANSLATION

ARMS = ("mctn.arm=cyclic-t-v,none-t,audio", "mctn.bar=word_vectors", "fit.epochs=1", "mctn.units=4")


def test_the_parent_has_tables_and_a_page(run_pipeline: Any, client: Any, tmp_path: Path) -> None:
    result = run_pipeline("-m", "recipe=mctn", "data=cycles", "size=tiny", *ARMS, "run_name=mine")
    assert result.status == 0, result.err
    runs = client.search_runs([e.experiment_id for e in client.search_experiments()])
    (parent,) = [run for run in runs if run.data.tags.get("multirun") == "parent"]
    jobs = {run.data.tags["arm"]: run.data.metrics for run in runs if run is not parent}

    def table(path: str) -> pd.DataFrame:
        return pd.read_csv(io.StringIO(mlflow.artifacts.load_text(f"{parent.info.artifact_uri}/{path}")), **EXACT)

    means = table("means.csv").set_index("arm")
    assert means.index.tolist() == ["cyclic-t-v", "none-t", "audio", "word_vectors"]
    for arm, metrics in jobs.items():
        assert means.loc[arm, "mae"] == metrics["evaluate/test_mae"]
        assert means.loc[arm, "parameters_at_test"] == metrics["model/parameters_at_test"]
    assert means.loc["word_vectors", "mae"] == jobs["none-t"]["evaluate/bar_mae"]
    assert means.loc["cyclic-t-v", "translation_r2_v"] == jobs["cyclic-t-v"]["evaluate/translation_r2_v"]
    assert means["bar"].tolist() == [False, False, False, True]
    accuracy = table("accuracy.csv").set_index("arm")
    assert accuracy.loc["none-t", "accuracy"] == pytest.approx(jobs["none-t"]["evaluate/test_accuracy"], abs=1e-12)
    (paired,) = table("paired.csv").query("control == 'none'").to_dict("records")
    ratio = jobs["cyclic-t-v"]["evaluate/test_error"] / jobs["none-t"]["evaluate/test_error"]
    assert math.isclose(paired["ratio"], ratio, rel_tol=1e-12)
    assert paired["verdict"] == NO_TRANSLATION
    page = export("mine", tmp_path)
    before = page.read_text(encoding="utf-8")
    assert "![arms](mine/arms.svg)" in before
    again = export_again(tmp_path / "mine").read_text(encoding="utf-8")
    again = again.replace(" Made again from the files below.", "")
    assert again.partition("## Files")[0] == before.partition("## Files")[0]
