"""Epochs through the pipeline's gradient loop beside the same steps written out in torch: what the loop itself costs.

The loop also keeps a curve, the best model and the way back; written out, there is none of that. Both filter the
training part before the first step and after each epoch, and take a step of Adam for each batch of chunks.

    python benchmarks/loop.py --threads 1
"""

from __future__ import annotations

import itertools
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from bptt_step import random_psrnn
from epoch import BATCH, HORIZON, waves
from side_by_side import Form, Machine, Row, compare, run

from models.forecasting.bptt import TruncatedBPTT
from models.forecasting.filtering import MaskedSequences
from pipeline.job.curve import Decision, EpochRow, Measures
from pipeline.job.fit import Fit
from pipeline.job.fit_settings import FitSettings

FEATURES, EPOCHS = (40,), 3
RATE, CLIP = 1e-5, 1.0
SETTINGS = FitSettings(EPOCHS, "adam", RATE, clip=CLIP, accept="always")


def objective_of(features: int, train: MaskedSequences) -> TruncatedBPTT:
    return TruncatedBPTT(random_psrnn(features, train.values.device), train, horizon=HORIZON, batch_size=BATCH)


def untold(row: EpochRow) -> None:
    """A listener that does nothing."""


def fitted(objective: TruncatedBPTT, path: Path | None = None) -> None:
    """Epochs by `Fit`; every row is better than the one before, so that the best model changes each time."""
    measures = Measures(lambda: {"epoch": next(epochs)}, untold, Decision("epoch", "higher"))
    epochs = itertools.count(0.0)
    Fit(objective, SETTINGS, generator=torch.Generator().manual_seed(0), measures=measures, path=path).run()


def fitted_on_disk(objective: TruncatedBPTT) -> None:
    """The same, with a state written after each epoch."""
    with TemporaryDirectory() as folder:
        fitted(objective, Path(folder) / "state.npz")


def written_out(objective: TruncatedBPTT) -> None:
    """The same steps, and nothing else."""
    parameters, generator = objective.parameters(), torch.Generator().manual_seed(0)
    optimizer = torch.optim.Adam(parameters, lr=RATE)
    objective.refresh()
    for _ in range(EPOCHS):
        for batch in objective.batches(generator):
            optimizer.zero_grad()
            objective.loss(batch).mean.backward(inputs=parameters)
            torch.nn.utils.clip_grad_norm_(parameters, CLIP)
            optimizer.step()
        objective.refresh()


def check(features: int, train: MaskedSequences) -> None:
    """Both leave the same parameters, and have moved them."""
    ours, other, start = (objective_of(features, train) for _ in range(3))
    fitted(ours)
    written_out(other)
    for found, expected, before in zip(*(each.parameters() for each in (ours, other, start)), strict=True):
        torch.testing.assert_close(found, expected)
        if torch.equal(found, before):
            raise ValueError("the steps leave a parameter where it was; raise RATE")


def forms_of(features: int, train: MaskedSequences) -> dict[str, Form]:
    objectives = [objective_of(features, train) for _ in range(3)]
    kinds = {
        "ours": fitted,
        "with a state on disk after each epoch": fitted_on_disk,
        "written out in torch": written_out,
    }
    return {
        name: lambda work=work, objective=objective: work(objective)
        for (name, work), objective in zip(kinds.items(), objectives, strict=True)
    }


def measure(machine: Machine, budget: float) -> list[Row]:
    train, rows = waves(machine.device), []
    for features in FEATURES:
        check(features, train)
        size = f"m = {features}, {len(train.values)} × {train.values.shape[1]} steps, {EPOCHS} epochs"
        rows += compare("gradient loop", size, forms_of(features, train), machine=machine, budget=budget)
    return rows


if __name__ == "__main__":
    run("epochs through the gradient loop beside the same steps written out", measure)
