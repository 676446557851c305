"""Loss and gradient of chunks of a gated network: ours along all steps, step by step, and torch's own layer.

python benchmarks/gated_step.py --threads 1
"""

from __future__ import annotations

import torch
from side_by_side import Form, Machine, Row, compare, run
from torch import Tensor, nn

from models.baselines.networks import Gated, GRUNetwork, LSTMNetwork, MinGRUNetwork
from models.forecasting.recurrent import Recurrent

DIMENSION, BATCH, STEPS = 22, 8, 40
SIZES = (96, 230, 500)  # units
PEERS = {LSTMNetwork: nn.LSTM, GRUNetwork: nn.GRU, MinGRUNetwork: None}


def gradients(model: Gated, values: Tensor, along: type[Recurrent]) -> list[Tensor]:
    beliefs = along.beliefs_along(model, model.initial_belief(len(values)), values)
    weights = [weight for name, weight in model.named_parameters() if not name.startswith("readout")]
    return list(torch.autograd.grad(model.exposed(beliefs).square().mean(), weights))


def forms_of(model: Gated, peer: nn.Module | None, values: Tensor) -> dict[str, Form]:
    forms: dict[str, Form] = {
        "ours": lambda: gradients(model, values, Gated),
        "step by step": lambda: gradients(model, values, Recurrent),
    }
    if peer is not None:
        weights = list(peer.parameters())
        forms[f"torch.nn.{type(peer).__name__}"] = lambda: torch.autograd.grad(peer(values)[0].square().mean(), weights)
    return forms


def measure(machine: Machine, budget: float) -> list[Row]:
    rows = []
    values = torch.randn(BATCH, STEPS, DIMENSION, generator=torch.Generator().manual_seed(1)).double()
    for units in SIZES:
        for network, layer in PEERS.items():
            model = network(dimension=DIMENSION, units=units, lags=0)
            model.draw(torch.Generator().manual_seed(0))
            model = model.double().to(machine.device)
            peer = None if layer is None else layer(DIMENSION, units, batch_first=True).double().to(machine.device)
            forms = forms_of(model, peer, values.to(machine.device))
            for found, expected in zip(forms["ours"](), forms["step by step"](), strict=True):  # pyright: ignore
                torch.testing.assert_close(found, expected)
            size = f"{units} units, batch {BATCH}, T = {STEPS}, double precision"
            rows += compare(f"{network.__name__} step", size, forms, machine=machine, budget=budget)
    return rows


if __name__ == "__main__":
    run("forward and backward of a chunk of gated networks, beside single steps and torch's layers", measure)
