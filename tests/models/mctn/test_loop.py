"""The objective in the pipeline's gradient loop: a run that was stopped goes on to the same numbers, dropout on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from mctn_problems import network, samples
from models.mctn.objective import Learning, SentimentObjective, Weights, measure
from pipeline.job.curve import Decision, EpochRow, Measures
from pipeline.job.fit import Fit
from pipeline.job.fit_settings import FitSettings


def rows_of(path: Path | None, epochs: int, *, arm: str = "cyclic-t-v-a", **own: Any) -> list[EpochRow]:
    """The learning curve, with validation losses of every term."""
    model, rows = network(arm, dropout=0.3, feedback="teacher"), list[EpochRow]()
    objective = SentimentObjective(model, samples(), weights=Weights(1, 1, 1), learning=Learning(5, 0.5, **own))
    measures = Measures(
        lambda: measure(model, samples(), terms=Weights().terms).losses, rows.append, Decision("prediction")
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


def test_a_run_that_was_stopped_drops_the_same_modalities(tmp_path: Path) -> None:
    whole = rows_of(None, 3, arm="none-tva", modality_dropout=0.5)
    rows_of(tmp_path / "state.npz", 1, arm="none-tva", modality_dropout=0.5)
    assert rows_of(tmp_path / "state.npz", 3, arm="none-tva", modality_dropout=0.5) == whole
    assert rows_of(None, 3, arm="none-tva")[1:] != whole[1:]
