"""One epoch of refinement from end to end: ours, the cell step by step, with einsum too, an LSTM with equal parameters.

An epoch filters the training part for the chunks' first states, and takes a gradient step for each batch of chunks. On
sequences of equal length, and on ones of unequal length, padded to the longest.

    python benchmarks/epoch.py --threads 1
"""

from __future__ import annotations

from copy import deepcopy

import torch
from bptt_step import DIMENSION, random_psrnn
from side_by_side import Form, Machine, Row, compare, equal_lstm_units, run
from torch import Tensor

from models.baselines.networks import LSTMNetwork
from models.forecasting.bptt import TruncatedBPTT
from models.forecasting.filtering import MaskedSequences, State
from models.forecasting.recurrent import Recurrent
from models.psrnn.bilinear_cell import normalise
from models.psrnn.cell import PSRNN
from models.runtime.objective import mean_gradient

SEQUENCES, STEPS, SHORTEST = 16, 300, 60
HORIZON, BATCH = 20, 20
FEATURES = (50, 100)


class StepwisePSRNN(PSRNN):
    """The cell without the fused recursion."""

    def beliefs_along(self, belief: State, values: Tensor) -> State:
        return Recurrent.beliefs_along(self, belief, values)


class EinsumPSRNN(StepwisePSRNN):
    """And with the update as it is written."""

    def advance(self, belief: State, observation: Tensor) -> State:
        z = torch.einsum("abc,nb,nc->na", self.update_tensor, belief[0], self.features(observation)) + self.bias
        return (normalise(z, self.reference),)


def waves(device: torch.device, *, shortest: int = STEPS) -> MaskedSequences:
    """Sines of many frequencies in noise, of `shortest` to `STEPS` steps in equal strides, observed to their ends."""
    generator = torch.Generator().manual_seed(0)
    time = torch.arange(STEPS).view(1, -1, 1) * torch.rand(1, 1, DIMENSION, generator=generator)
    phase = 6.3 * torch.rand(SEQUENCES, 1, DIMENSION, generator=generator)
    values = (time + phase).sin() + 0.1 * torch.randn(SEQUENCES, STEPS, DIMENSION, generator=generator)
    lengths = torch.linspace(shortest, STEPS, SEQUENCES).round()
    mask = (torch.arange(STEPS) < lengths.unsqueeze(1)).unsqueeze(2).expand_as(values).contiguous().to(device)
    return MaskedSequences(torch.where(mask, values.to(device), 0.0), mask, mask)


def epoch_of(model: Recurrent, train: MaskedSequences) -> Form:
    objective = TruncatedBPTT(model, train, horizon=HORIZON, batch_size=BATCH)
    parameters = objective.parameters()
    optimizer = torch.optim.Adam(parameters, lr=1e-4)
    generator = torch.Generator().manual_seed(0)

    def epoch() -> None:
        objective.refresh()
        for batch in objective.batches(generator):
            optimizer.zero_grad()
            mean_gradient(objective.loss, [batch], parameters)
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()

    return epoch


def like(model: PSRNN, kind: type[PSRNN]) -> PSRNN:
    other = kind(**model.architecture).to(model.bias)
    other.start_up = deepcopy(model.start_up)
    other.load_state_dict(model.state_dict())
    return other


def forms_of(features: int, train: MaskedSequences) -> dict[str, Form]:
    model = random_psrnn(features, train.values.device)
    units = equal_lstm_units(features**3 + 2 * features, DIMENSION)
    lstm = LSTMNetwork(dimension=DIMENSION, units=units, lags=0)
    lstm.draw(torch.Generator().manual_seed(0))
    models: dict[str, Recurrent] = {
        "ours": model,
        "step by step, autograd": like(model, StepwisePSRNN),
        "einsum, autograd": like(model, EinsumPSRNN),
        f"LSTM, {units} units": lstm.to(train.values.device),
    }
    return {name: epoch_of(each, train) for name, each in models.items()}


def measure(machine: Machine, budget: float) -> list[Row]:
    rows = []
    for size, shortest in ((f"{STEPS} steps", STEPS), (f"{SHORTEST} to {STEPS} steps", SHORTEST)):
        train = waves(machine.device, shortest=shortest)
        for features in FEATURES:
            forms = forms_of(features, train)
            named = f"m = {features}, {SEQUENCES} × {size}"
            rows += compare("epoch", named, forms, machine=machine, budget=budget)
    return rows


if __name__ == "__main__":
    run("one epoch of refinement beside einsum and an LSTM", measure)
