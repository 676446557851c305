"""Runs of several members: an ensemble is one model, logged, loaded and resumed as any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import mlflow
import numpy as np
import pytest

from pipeline.systems.psrnn.config import PsrnnConfig
from pipeline.systems.psrnn.members import MemberRun, settings_of_member
from pipeline.tracking.run import Run

TINY = ("data=mocap", "data.source=stand_in", "size=tiny", "evaluate.horizons=[1,3]", "evaluate.orders=[]")
SEVERAL = (*TINY, "features.count=5", "refine.epochs=1", "tracking.detail=summary")


@dataclass
class Written:
    """Keeps what is written."""

    rows: list[tuple[str, object]]

    def metric(self, name: str, value: float, step: int = 0) -> None:
        self.rows.append((name, (value, step)))

    def tags(self, tags: dict[str, str]) -> None:
        self.rows += tags.items()


def test_members_have_seeds_of_their_own_and_the_first_that_of_the_run() -> None:
    settings = PsrnnConfig(recipe="psrnn", update="bayes", seed=3, members=4)
    members = [settings_of_member(settings, place) for place in range(4)]
    assert members[0].seed == 3
    assert len({member.seed for member in members}) == 4
    assert {member.members for member in members} == {1}
    assert members[1].seed != settings_of_member(PsrnnConfig(recipe="psrnn", update="bayes", seed=4), 1).seed


def test_what_a_member_logs_stands_under_its_name() -> None:
    written = Written([])
    run = MemberRun(cast("Run", written), "member_1")
    run.metric("bptt/test_mse", 0.5, 2)
    run.tags({"stability": "stable"})
    assert written.rows == [("member_1/bptt/test_mse", (0.5, 2)), ("member_1/stability", "stable")]


def only_run(client: Any, **tags: str) -> Any:
    runs = client.search_runs([e.experiment_id for e in client.search_experiments()])
    (run,) = [run for run in runs if tags.items() <= run.data.params.items()]
    return run


@pytest.mark.parametrize("settings", [("readout=skip",), ("readout=kernel", "readout.count=5", "readout.direct=3")])
@pytest.mark.filterwarnings("ignore:this model is no better")
def test_an_ensemble_begins_with_the_single_model_and_is_kept(settings, run_pipeline, client) -> None:
    for members in ("1", "2"):
        result = run_pipeline(*SEVERAL, *settings, f"members={members}", "tracking.log_model=true")
        assert result.status == 0, result.err
    alone, both = (only_run(client, members=members) for members in ("1", "2"))
    assert both.data.metrics["member_0/bptt/test_mse"] == alone.data.metrics["bptt/test_mse"]
    assert both.data.metrics["member_1/bptt/test_mse"] != alone.data.metrics["bptt/test_mse"]
    assert both.data.metrics["model/parameters"] > 1.5 * alone.data.metrics["model/parameters"]  # maps in use differ
    assert both.data.metrics["evaluate/test_mse"] != alone.data.metrics["evaluate/test_mse"]
    assert float(both.data.tags["validation_mse"]) == both.data.metrics["ensemble/validation_mse"]
    assert both.data.tags["readout"] == alone.data.tags["readout"] == settings[0].partition("=")[2]
    assert {"two_stage/seconds", "bptt/seconds"} <= set(both.data.metrics)
    model = mlflow.pyfunc.load_model(f"runs:/{both.info.run_id}/model")
    rows = np.random.default_rng(0).normal(size=(12, 22))
    assert np.isfinite(model.predict(rows, params={"horizon": 3}).select_dtypes("number")).all(axis=None)


@pytest.mark.filterwarnings("ignore:this model is no better")
def test_a_baseline_is_averaged_too(run_pipeline, client) -> None:
    result = run_pipeline(*SEVERAL, "model=echo_state", "model.units=5", "readout=skip", "members=3")
    assert result.status == 0, result.err
    run = only_run(client, members="3")
    assert "mean of 3 models: EchoState(" in run.data.tags["mlflow.note.content"]
    assert run.data.metrics["fit/seconds"] > 0
