"""`dtype=bfloat16`: the update of the model that is kept is rounded, and all errors from then on are of that."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from mlflow.artifacts import download_artifacts

from models.forecasting.forecaster import load_forecaster

TINY = (
    "+experiment=mocap", "size=tiny", "data.source=stand_in", "tracking.detail=summary", "evaluate.horizons=[1]",
    "evaluate.orders=[2]", "threads=1",
)  # fmt: skip


def kept(run):
    model = load_forecaster(Path(download_artifacts(run_id=run.info.run_id, artifact_path="parameters"))).model
    return {name: tensor.detach() for name, tensor in model.state_dict().items()}


@pytest.mark.parametrize("epochs", [0, 2])
def test_only_the_update_differs_from_single_precision(epochs: int, run_pipeline, client) -> None:
    for dtype in ("float32", "bfloat16"):
        result = run_pipeline(*TINY, f"refine.epochs={epochs}", f"dtype={dtype}")
        assert result.status == 0, result.err
    single, rounded = sorted(
        client.search_runs([e.experiment_id for e in client.search_experiments()]), key=lambda run: run.info.start_time
    )
    whole, half = kept(single), kept(rounded)
    changed = {name for name, tensor in whole.items() if not torch.equal(tensor, half[name])}
    assert changed == {"update_tensor"}
    assert torch.equal(half["update_tensor"], whole["update_tensor"].bfloat16().float())
    error = rounded.data.metrics["bptt/rounded_validation_mse"]
    assert error == pytest.approx(float(rounded.data.tags["validation_mse"]), rel=1e-12)
    assert error != float(single.data.tags["validation_mse"])
    assert error == pytest.approx(float(single.data.tags["validation_mse"]), rel=0.05)
    assert "bptt/rounded_validation_mse" not in single.data.metrics
