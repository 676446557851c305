"""Models whose forecasts diverge on the validation part: found, said in one line, and tagged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import torch

from models.forecasting.horizons import horizon_targets
from pipeline.systems.psrnn.divergence import diverged_horizons, diverged_line, diverged_tags
from pipeline.systems.psrnn.evaluation import Evaluation
from pipeline.systems.psrnn.remarks import remarks
from small_problems import oscillation


def squared(factors: dict[int, float]) -> dict[int, torch.Tensor]:
    """Errors by horizon of forecasts that are the truth times a factor; with factor 2 they are those of the mean."""
    part = oscillation(3)
    errors = {}
    for horizon, factor in factors.items():
        targets, keep = horizon_targets(part.values, part.scored, horizon)
        errors[horizon] = ((factor - 1) * targets).square().masked_fill(~keep, torch.nan)
    return errors


def test_a_horizon_diverges_beyond_twice_the_error_of_the_mean() -> None:
    just, beyond = 1 + 1.999**0.5, 1 + 2.001**0.5
    errors = squared({1: 1.0, 2: 2.0, 5: just, 10: beyond, 20: torch.inf})
    errors[20] = errors[20].nan_to_num(nan=torch.nan, posinf=torch.inf)
    assert diverged_horizons(errors, oscillation(3)) == [10, 20]
    nothing = {7: torch.full_like(errors[1], torch.nan)}
    assert diverged_horizons(nothing, oscillation(3)) == []


def test_what_diverges_is_one_line_and_a_tag_for_each_model() -> None:
    diverged = {"psrnn": [10, 20], "ar2": [20]}
    (line,) = diverged_line(diverged)
    assert line.endswith("validation part: PSRNN at horizons 10, 20; AR(2) at horizon 20")
    assert "\n" not in line
    assert diverged_tags(diverged, main="psrnn") == {"diverged.horizons": "10,20", "diverged.horizons_ar2": "20"}
    assert (diverged_line({}), diverged_tags({}, main="psrnn")) == ([], {})
    assert remarks(Evaluation({"psrnn": squared({1: 1.0})}, torch.zeros(1)), before=None, season=None) == []


def test_a_run_says_which_models_diverge(run_pipeline, client, tmp_path: Path) -> None:
    """Every other row has the other sign, and rows grow by 2 % while the model is fitted: (1.02⁵⁰ − 1)² = 2.9."""
    steps = np.arange(400)
    rows = np.where(steps < 160, 1.02**steps, 10.0) * (-1.0) ** steps
    noise = 0.001 * np.random.default_rng(0).normal(size=400)
    pd.DataFrame({"x": rows + noise}).to_csv(tmp_path / "growing.csv", index=False)
    result = run_pipeline(
        "data=table", f"data.path={tmp_path / 'growing.csv'}", "data.validation=0.3", "data.test=0.3", "model=var",
        "model.orders=[1]", "model.ridges=[1e-6]", "evaluate.horizons=[1,30,50]", "evaluate.orders=[]",
        "evaluate.season=0", "tracking.log_model=false",
    )  # fmt: skip
    assert result.status == 0, result.err
    (run,) = client.search_runs(["1"])
    assert run.data.tags["diverged.horizons"] == "50", result.out
    line = "diverging, with more than 2 times the training mean's error on the validation part: ridge VAR at horizon 50"
    assert result.out.count(line) == 1
    assert line in run.data.tags["mlflow.note.content"]
