"""`model=psrnn_cp` from the command line to the store."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from mlflow.artifacts import download_artifacts

from models.forecasting.forecaster import load_forecaster
from models.numerics.canonical import canonical_decomposition
from models.psrnn.factorised import FactorisedPSRNN

TINY = (
    "+experiment=mocap", "model=psrnn_cp", "model.rank=6", "size=tiny", "data.source=stand_in", "features.count=5",
    "refine.learning_rate=0.01", "tracking.detail=summary", "evaluate.horizons=[1]", "evaluate.orders=[2]",
)  # fmt: skip


def the_run(client):
    (run,) = client.search_runs([e.experiment_id for e in client.search_experiments()])
    return run


def test_a_run_leaves_a_factorised_model_and_its_error(run_pipeline, client) -> None:
    result = run_pipeline(*TINY)
    assert result.status == 0, result.err
    run = the_run(client)
    metrics, tags = run.data.metrics, run.data.tags
    assert 0 < metrics["two_stage/decomposition_error"] < 1
    assert float(tags["decomposition.error"]) == pytest.approx(metrics["two_stage/decomposition_error"], rel=1e-4)
    assert (tags["model"], tags["arm"]) == ("psrnn_cp", "psrnn_cp")
    assert "6 outer products, relative error" in result.out
    curve = {m.step: m.value for m in client.get_metric_history(run.info.run_id, "bptt/train_mse")}
    assert curve[2] < curve[0]
    folder = download_artifacts(run_id=run.info.run_id, artifact_path="parameters")
    model = load_forecaster(Path(folder)).model
    assert isinstance(model, FactorisedPSRNN)
    assert model.left.shape == (10, 6)
    trained = 6 * 30 + 10 + 10 + model.readout_weight.numel() + model.readout_bias.numel()
    assert metrics["model/parameters"] == trained


def test_it_goes_on_from_its_checkpoints_to_the_same_numbers(run_pipeline, client) -> None:
    def fail(*_: object) -> None:
        raise ValueError("stopped on purpose")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.systems.psrnn.evaluate.evaluate", fail)
        assert "stopped on purpose" in run_pipeline(*TINY).error
    stopped = the_run(client)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("models.psrnn.fit.decompose_update", fail)  # nothing is decomposed a second time
        assert run_pipeline(*TINY, "resume=true").status == 0
    resumed = the_run(client)
    assert resumed.info.run_id == stopped.info.run_id
    for name in ("bptt/validation_mse", "two_stage/decomposition_error", "two_stage/test_mse"):
        assert resumed.data.metrics[name] == stopped.data.metrics[name]
    assert resumed.data.metrics["evaluate/test_mse"] > 0


def test_a_decomposition_that_was_stopped_early_is_warned_of(run_pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    hurried = partial(canonical_decomposition, sweeps=1)
    monkeypatch.setattr("models.psrnn.factorised.canonical_decomposition", hurried)
    with pytest.warns(UserWarning, match=r"model\.rank=6: the decomposition was stopped before it came to rest"):
        assert run_pipeline(*TINY, "refine=none", "tracking=off").status == 0


def test_a_wrong_rank_is_refused(run_pipeline) -> None:
    assert "model.rank=0 must be 1 or greater" in run_pipeline(*TINY, "tracking=off", "model.rank=0").error
