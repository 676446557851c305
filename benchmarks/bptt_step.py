"""Loss and gradient of one chunk of truncated BPTT: ours, einsum with autograd, torch.nn.LSTM with equal parameters.

python benchmarks/bptt_step.py --threads 1
"""

from __future__ import annotations

import torch
from side_by_side import Form, Machine, Row, Work, compare, equal_lstm_units, run
from torch import Tensor

from models.psrnn.cell import PSRNN
from models.runtime import cuda_graphs as recorded

STEPS, DIMENSION = 20, 44
SIZES = ((50, 20), (100, 20), (200, 20), (200, 64))  # features and sequences in the batch


def random_psrnn(features: int, device: torch.device) -> PSRNN:
    generator = torch.Generator().manual_seed(0)
    model = PSRNN(frequencies=features // 2, dimension=DIMENSION, state=features)
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.normal_(std=features**-0.5, generator=generator)
    return model.to(device)


def trained(model: torch.nn.Module) -> list[Tensor]:
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def ours(model: PSRNN, values: Tensor) -> Tensor:
    return (model.filter_observed(model.initial_state(len(values)), values).predictions - values).square().mean()


def by_einsum(model: PSRNN, values: Tensor) -> Tensor:
    """The equations as they are written, step by step."""
    belief, losses = model.initial_belief(len(values))[0], []
    for value in values.unbind(1):
        losses.append((belief @ model.readout_weight.T + model.readout_bias - value).square().mean())
        z = torch.einsum("abc,nb,nc->na", model.update_tensor, belief, model.features(value)) + model.bias
        z = z / z.norm(dim=1, keepdim=True)
        belief = torch.where((z @ model.reference < 0).unsqueeze(1), -z, z)
    return torch.stack(losses).mean()


class ReadLSTM(torch.nn.Module):
    """torch.nn.LSTM over the whole chunk and a linear readout."""

    def __init__(self, units: int) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(DIMENSION, units, batch_first=True)
        self.readout = torch.nn.Linear(units, DIMENSION)

    def loss(self, values: Tensor) -> Tensor:
        states, _ = self.lstm(values[:, :-1])
        return (self.readout(states) - values[:, 1:]).square().mean()


def without_recordings(form: Form) -> Form:
    """The form kernel by kernel, where it would replay CUDA graphs."""

    def run() -> object:
        kept = recorded.RECORDERS
        recorded.RECORDERS = {}
        try:
            return form()
        finally:
            recorded.RECORDERS = kept

    return run


def check(model: PSRNN, values: Tensor) -> None:
    model, values = model.double(), values.double()
    pairs = (torch.autograd.grad(loss(model, values), trained(model)) for loss in (ours, by_einsum))
    for found, expected in zip(*pairs, strict=True):
        torch.testing.assert_close(found, expected)


def forms_of(features: int, values: Tensor) -> dict[str, Form]:
    model = random_psrnn(features, values.device)
    units = equal_lstm_units(features**3 + 2 * features, DIMENSION)
    lstm = ReadLSTM(units).to(values.device)
    fused: Form = lambda: torch.autograd.grad(ours(model, values), trained(model))  # noqa: E731
    return {
        "ours": fused,
        **({"ours, kernel by kernel": without_recordings(fused)} if values.is_cuda else {}),
        "einsum, autograd": lambda: torch.autograd.grad(by_einsum(model, values), trained(model)),
        f"torch.nn.LSTM, {units} units": lambda: torch.autograd.grad(lstm.loss(values), trained(lstm)),
    }


def measure(machine: Machine, budget: float) -> list[Row]:
    rows = []
    for features, batch in SIZES:
        values = torch.randn(batch, STEPS, DIMENSION, generator=torch.Generator().manual_seed(1)).to(machine.device)
        if features == SIZES[0][0]:
            check(random_psrnn(features, machine.device), values)
        size, work = f"m = {features}, batch {batch}, T = {STEPS}", Work(flops=4 * STEPS * batch * features**3)
        forms = forms_of(features, values)
        rows += compare("BPTT step", size, forms, machine=machine, budget=budget, work=work)
    return rows


if __name__ == "__main__":
    run("forward and backward of a chunk beside einsum and torch.nn.LSTM", measure)
