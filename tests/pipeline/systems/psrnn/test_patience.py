"""`refine.patience`: networks are trained until the validation error stops falling."""

from __future__ import annotations

import json

QUICK = (
    "data=mocap", "data.source=stand_in", "size=tiny", "size.epochs=40", "model=gru", "model.units=3",
    "refine.epochs=40", "tracking.log_model=false", "tracking.detail=summary", "threads=1",
)  # fmt: skip


def curve(client) -> list[float]:
    """The validation error before training and after each epoch of the one run."""
    (run,) = client.search_runs([e.experiment_id for e in client.search_experiments()])
    history = client.get_metric_history(run.info.run_id, "bptt/validation_mse")
    assert json.loads(run.data.params["refine.patience"].replace("None", "null")) in (2, None)
    return [point.value for point in sorted(history, key=lambda point: point.step)]


def test_training_ends_after_so_many_epochs_without_a_smaller_validation_error(run_pipeline, client) -> None:
    result = run_pipeline(*QUICK, "refine.patience=2", "refine.learning_rate=0.3")
    assert result.status == 0, result.err
    errors = curve(client)
    best = errors.index(min(errors))
    assert len(errors) == best + 3 < 41
    assert f"BPTT ended at epoch {best + 2}: no better validation_mse for 2 rows" in result.out + result.err
    (run,) = client.search_runs([e.experiment_id for e in client.search_experiments()])
    assert f" parameters, {best + 2} of at most 40 epochs of adam\n" in run.data.tags["mlflow.note.content"]


def test_patience_below_one_is_refused(run_pipeline) -> None:
    assert run_pipeline(*QUICK, "refine.patience=0").error == "error: refine.patience=0 must be 1 or greater"
