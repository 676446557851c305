"""One observation into the filter: ours, einsum, and torch.nn.LSTMCell with equal parameters, at batch 1.

python benchmarks/online_step.py --threads 1
"""

from __future__ import annotations

import torch
from bptt_step import DIMENSION, random_psrnn
from side_by_side import Form, Machine, Row, Work, compare, equal_lstm_units, run
from torch import Tensor

from models.psrnn.cell import PSRNN
from models.psrnn.online import OnlineStep

FEATURES = (50, 100, 200)


def by_einsum(model: PSRNN, belief: Tensor, observation: Tensor) -> tuple[Tensor, Tensor]:
    """The equations as they are written; returns the next belief and prediction."""
    phases = model.features.frequencies @ observation
    omega = torch.cat([phases.cos(), phases.sin()]) / len(phases) ** 0.5
    z = torch.einsum("abc,b,c->a", model.update_tensor, belief, omega) + model.bias
    z = z / z.norm()
    belief = torch.where(z @ model.reference < 0, -z, z)
    return belief, model.readout_weight @ belief + model.readout_bias


def random_vector(matrix: Tensor) -> Tensor:
    """One that the matrix can be multiplied by."""
    return torch.randn(matrix.shape[1], generator=torch.Generator().manual_seed(2)).to(matrix)


class ReadLSTM(torch.nn.Module):
    """torch.nn.LSTMCell and a linear readout."""

    def __init__(self, units: int) -> None:
        super().__init__()
        self.cell = torch.nn.LSTMCell(DIMENSION, units)
        self.readout = torch.nn.Linear(units, DIMENSION)

    def forward(self, observation: Tensor, state: tuple[Tensor, Tensor]) -> tuple[tuple[Tensor, Tensor], Tensor]:
        state = self.cell(observation, state)
        return state, self.readout(state[0])


@torch.inference_mode()
def measure(machine: Machine, budget: float) -> list[Row]:
    rows = []
    for features in FEATURES:
        model = random_psrnn(features, machine.device)
        step = OnlineStep(model)
        belief, recent, _ = step.initial()
        observation = torch.randn(DIMENSION, generator=torch.Generator().manual_seed(1)).to(machine.device)
        for ours, theirs in zip(
            step(belief, recent, observation)[::2], by_einsum(model, belief, observation), strict=True
        ):
            torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)
        vector = random_vector(step.update)
        units = equal_lstm_units(features**3 + 2 * features, DIMENSION)
        lstm = ReadLSTM(units).to(machine.device)
        zeros = torch.zeros(1, units, device=machine.device)
        forms: dict[str, Form] = {
            "ours": lambda s=step, q=belief, r=recent, o=observation: s(q, r, o),
            "einsum": lambda m=model, q=belief, o=observation: by_einsum(m, q, o),
            "its product with W alone": lambda w=step.update, v=vector: torch.mv(w, v),
            f"torch.nn.LSTMCell, {units} units": lambda m=lstm, o=observation[None], z=zeros: m(o, (z, z)),
        }
        work = Work(flops=2 * features**3, read=model.update_tensor)
        rows += compare("online step", f"m = {features}", forms, machine=machine, budget=budget, work=work)
    return rows


if __name__ == "__main__":
    run("a filter step at batch 1 beside einsum and torch.nn.LSTMCell", measure)
