"""The recordings themselves: what is read, and the errors that the method leaves on them."""

from __future__ import annotations

import os
import statistics
from pathlib import Path

import pytest

from pipeline.host.paths import PACKAGE

BESIDE = PACKAGE.parent.parent.parent / "shared" / "data"
ROOT = Path(os.environ.get("PIPELINE_DATA_ROOT_FOR_TESTS", BESIDE))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (ROOT / "cmu_mocap_walk").is_dir(), reason=f"no recordings: {ROOT}/cmu_mocap_walk is not there"
    ),
]


@pytest.fixture
def errors(run_pipeline, client):
    """(sampler, lags, seed) → metrics of a run without refinement; the jobs of one call share the recordings."""

    def run(*settings: str) -> dict[tuple[str, int, int], dict[str, float]]:
        before = {run.info.run_id for run in all_runs()}
        base = (
            "-m",
            "+experiment=mocap",
            "refine=none",
            "data.source=cmu",
            f"data.root={ROOT}",
            "evaluate.horizons=[1]",
            "evaluate.season=0",
            "tracking.detail=summary",
        )
        result = run_pipeline(*base, "tracking.log_model=false", *settings)
        assert result.status == 0, result.err
        new = [r for r in all_runs() if r.info.run_id not in before and "seed" in r.data.params]
        keys = [(r.data.tags["sampler"], int(r.data.params["readout.lags"]), int(r.data.params["seed"])) for r in new]
        return {key: run.data.metrics for key, run in zip(keys, new, strict=True)}

    def all_runs():
        return client.search_runs([e.experiment_id for e in client.search_experiments()])

    return run


def mean(found: dict, sampler: str) -> float:
    return statistics.mean(m["evaluate/test_mse"] for (name, *_), m in found.items() if name == sampler)


def test_paper_update_orthogonal_below_iid(errors) -> None:
    found = errors("update=paper", "initialise.ridge=0.01", "sampler=iid,orthogonal", "seed=0,1,2")
    assert len(found) == 6
    assert mean(found, "orthogonal") < mean(found, "iid")
    metrics = next(iter(found.values()))
    assert metrics["evaluate/test_mse_persistence"] == pytest.approx(2.35e-3, rel=0.02)
    assert metrics["evaluate/test_mse_ar2"] == pytest.approx(0.99e-3, rel=0.02)


def test_bayes_update_and_skip_readout(errors) -> None:
    assert mean(errors("initialise.ridge=0.01", "seed=0,1"), "orthogonal") < 0.025
    found = errors("readout=skip", "readout.lags=2,4", "seed=0,1")
    assert len(found) == 4
    assert all(m["evaluate/test_mse"] < m[f"evaluate/test_mse_ar{lags}"] for (_, lags, _), m in found.items())
