"""One epoch of refinement from end to end: ours, the cell step by step with einsum, an LSTM with equal parameters.

An epoch filters the training part for the chunks' first states, and takes a gradient step for each batch of chunks.

    python benchmarks/epoch.py --threads 1
"""

from __future__ import annotations

import torch
from bptt_step import DIMENSION, random_psrnn
from side_by_side import Form, Machine, Row, compare, equal_lstm_units, run
from torch import Tensor

from models.baselines.networks import LSTMNetwork
from models.bptt import TruncatedBPTT
from models.filtering import MaskedSequences, State
from models.psrnn.bilinear_cell import normalise
from models.psrnn.cell import PSRNN
from models.recurrent import Recurrent

SEQUENCES, STEPS = 16, 300
HORIZON, BATCH = 20, 20
FEATURES = (50, 100)


class EinsumPSRNN(PSRNN):
    """The cell without the fused recursion."""

    def beliefs_along(self, belief: State, values: Tensor) -> State:
        return Recurrent.beliefs_along(self, belief, values)

    def advance(self, belief: State, observation: Tensor) -> State:
        z = torch.einsum("abc,nb,nc->na", self.update_tensor, belief[0], self.features(observation)) + self.bias
        return (normalise(z, self.reference),)


def waves(device: torch.device) -> MaskedSequences:
    """Sines of many frequencies in noise, every entry observed."""
    generator = torch.Generator().manual_seed(0)
    time = torch.arange(STEPS).view(1, -1, 1) * torch.rand(1, 1, DIMENSION, generator=generator)
    phase = 6.3 * torch.rand(SEQUENCES, 1, DIMENSION, generator=generator)
    values = ((time + phase).sin() + 0.1 * torch.randn(SEQUENCES, STEPS, DIMENSION, generator=generator)).to(device)
    mask = torch.ones_like(values, dtype=torch.bool)
    return MaskedSequences(values, mask, mask)


def epoch_of(model: Recurrent, train: MaskedSequences) -> Form:
    objective = TruncatedBPTT(model, train, horizon=HORIZON, batch_size=BATCH)
    optimizer = torch.optim.Adam(objective.parameters(), lr=1e-4)
    generator = torch.Generator().manual_seed(0)

    def epoch() -> None:
        objective.refresh()
        for batch in objective.batches(generator):
            optimizer.zero_grad()
            objective.loss(batch).backward()
            torch.nn.utils.clip_grad_norm_(objective.parameters(), 1.0)
            optimizer.step()

    return epoch


def measure(machine: Machine, budget: float) -> list[Row]:
    train, rows = waves(machine.device), []
    for features in FEATURES:
        model = random_psrnn(features, machine.device)
        naive = EinsumPSRNN(**model.architecture).to(machine.device)
        naive.load_state_dict(model.state_dict())
        units = equal_lstm_units(features**3 + 2 * features, DIMENSION)
        lstm = LSTMNetwork(dimension=DIMENSION, units=units, lags=0)
        lstm.draw(torch.Generator().manual_seed(0))
        forms: dict[str, Form] = {
            "ours": epoch_of(model, train),
            "einsum, autograd": epoch_of(naive, train),
            f"torch.nn.LSTMCell, {units} units": epoch_of(lstm.to(machine.device), train),
        }
        size = f"m = {features}, {SEQUENCES} × {STEPS} steps"
        rows += compare("epoch", size, forms, machine=machine, budget=budget)
    return rows


if __name__ == "__main__":
    run("one epoch of refinement beside einsum and an LSTM", measure)
