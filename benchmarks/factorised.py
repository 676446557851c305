"""One epoch of refinement: the full cell, and cells of the same size whose update is a sum of outer products.

python benchmarks/factorised.py --threads 1
"""

from __future__ import annotations

import torch
from bptt_step import random_psrnn
from epoch import epoch_of, waves
from side_by_side import Form, Machine, Row, compare, run

from models.psrnn.cell import PSRNN
from models.psrnn.factorised import FactorisedPSRNN, empty_factorised

SIZES = ((40, (20, 40, 80, 160)), (100, (80, 160, 320)))  # features, and ranks


def random_factorised(full: PSRNN, rank: int) -> FactorisedPSRNN:
    model, generator = empty_factorised(full, rank), torch.Generator().manual_seed(0)
    with torch.no_grad():
        for factor in (model.left, model.of_state, model.of_features):
            factor.copy_(torch.randn(factor.shape, generator=generator) / rank**0.5)
        model.initial.copy_(full.initial)
        model.reference.copy_(full.reference)
    return model


def measure(machine: Machine, budget: float) -> list[Row]:
    train, rows = waves(machine.device), []
    for features, ranks in SIZES:
        full = random_psrnn(features, machine.device)
        forms: dict[str, Form] = {"ours, the full cell": epoch_of(full, train)}
        forms |= {f"rank {rank}": epoch_of(random_factorised(full, rank), train) for rank in ranks}
        size = f"m = {features}, {train.values.shape[0]} × {train.values.shape[1]} steps"
        rows += compare("factorised epoch", size, forms, machine=machine, budget=budget)
    return rows


if __name__ == "__main__":
    run("one epoch of refinement of full and factorised cells", measure)
