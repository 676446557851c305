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
DTYPES = {torch.float64: "double precision", torch.float32: "single precision"}
PEERS = {LSTMNetwork: nn.LSTM, GRUNetwork: nn.GRU, MinGRUNetwork: None}


def gradients(model: Gated, exposed: Tensor) -> list[Tensor]:
    weights = [weight for name, weight in model.named_parameters() if not name.startswith("readout")]
    return list(torch.autograd.grad(exposed.square().mean(), weights))


def step_by_step(model: Gated, values: Tensor) -> Tensor:
    return model.exposed(Recurrent.beliefs_along(model, model.initial_belief(len(values)), values))


def forms_of(model: Gated, peer: nn.Module | None, values: Tensor) -> dict[str, Form]:
    forms: dict[str, Form] = {
        "ours": lambda: gradients(model, model.exposed_along(model.initial_belief(len(values)), values)),
        "step by step": lambda: gradients(model, step_by_step(model, values)),
    }
    if peer is not None:
        weights = list(peer.parameters())
        forms[f"torch.nn.{type(peer).__name__}"] = lambda: torch.autograd.grad(peer(values)[0].square().mean(), weights)
    return forms


def measured(
    network: type[LSTMNetwork | GRUNetwork | MinGRUNetwork], units: int, values: Tensor, machine: Machine, budget: float
) -> list[Row]:
    model = network(dimension=DIMENSION, units=units, lags=0)
    model.draw(torch.Generator().manual_seed(0))
    model, layer = model.to(values), PEERS[network]
    peer = None if layer is None else layer(DIMENSION, units, batch_first=True).to(values)
    forms = forms_of(model, peer, values)
    for found, expected in zip(forms["ours"](), forms["step by step"](), strict=True):  # pyright: ignore
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    size = f"{units} units, batch {BATCH}, T = {STEPS}, {DTYPES[values.dtype]}"
    return compare(f"{network.__name__} step", size, forms, machine=machine, budget=budget)


def measure(machine: Machine, budget: float) -> list[Row]:
    values = torch.randn(BATCH, STEPS, DIMENSION, generator=torch.Generator().manual_seed(1)).to(machine.device)
    each = [(dtype, units, network) for dtype in DTYPES for units in SIZES for network in PEERS]
    return [
        row for dtype, units, network in each for row in measured(network, units, values.to(dtype), machine, budget)
    ]


if __name__ == "__main__":
    run("forward and backward of a chunk of gated networks, beside single steps and torch's layers", measure)
