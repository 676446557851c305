"""The objective in the pipeline's gradient loop: a run that was stopped goes on to the same numbers, dropout on."""

from __future__ import annotations

from pathlib import Path

import torch

from mctn_problems import network, samples
from models.mctn.objective import TERMS, SentimentObjective, Weights, measure
from pipeline.job.curve import Decision, EpochRow, Measures
from pipeline.job.fit import Fit
from pipeline.job.fit_settings import FitSettings


def rows_of(path: Path | None, epochs: int) -> list[EpochRow]:
    """The learning curve, with validation losses of every term."""
    model, rows = network("cyclic-t-v-a", dropout=0.3, feedback="teacher"), list[EpochRow]()
    objective = SentimentObjective(model, samples(), weights=Weights(1, 1, 1), batch_size=5, teacher=0.5)
    measures = Measures(
        lambda: measure(model, samples(), terms=frozenset(TERMS)).losses, rows.append, Decision("prediction")
    )
    settings = FitSettings(epochs, "adam", 0.01, clip=1.0, accept="always", seed=0)
    Fit(objective, settings, generator=torch.Generator().manual_seed(0), measures=measures, path=path).run()
    return rows


def test_a_run_that_was_stopped_goes_on_to_the_same_numbers(tmp_path: Path) -> None:
    whole = rows_of(None, 4)
    rows_of(tmp_path / "state.npz", 2)
    assert rows_of(tmp_path / "state.npz", 4) == whole
    assert set(whole[-1].values) == {"train_loss", "prediction", "translation", "cycle", "second"}
    assert whole[-1].values["train_loss"] < whole[1].values["train_loss"]
