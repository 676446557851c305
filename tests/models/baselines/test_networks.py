"""LSTM, GRU and minGRU against their equations written out gate by gate, and their training."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from models.baselines.networks import GRU, LSTM, GRUNetwork, LSTMNetwork, MinGRU, MinGRULayer, MinGRUNetwork
from models.forecasting.bptt import TruncatedBPTT
from models.forecasting.filtering import State
from models.forecasting.recurrent import Recurrent
from small_problems import small_problem

Network = LSTMNetwork | GRUNetwork | MinGRUNetwork
NETWORKS = [LSTMNetwork, GRUNetwork, MinGRUNetwork]
METHODS = [LSTM, GRU, MinGRU]
DTYPES = [(torch.float64, 1e-12), (torch.float32, 1e-5)]
UNITS, DIMENSION = 5, 3


def drawn(network: type[Network], *, seed: int = 0, lags: int = 0) -> Network:
    model = network(dimension=DIMENSION, units=UNITS, lags=lags)
    model.draw(torch.Generator().manual_seed(seed))
    return model.double()


def normal(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def weights(model: Network) -> dict[str, Tensor]:
    """Every parameter but the readout, by name."""
    return {n: p.detach().clone() for n, p in model.named_parameters() if not n.startswith("readout")}


def sigmoid(x: Tensor) -> Tensor:
    return 1 / (1 + (-x).exp())


def gate_inputs(cell: torch.nn.RNNCellBase, index: int, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
    """W x + b and U h + b' of gate `index`, for one observation x (d,) and hidden state h (units,)."""
    rows = slice(index * UNITS, (index + 1) * UNITS)
    return cell.weight_ih[rows] @ x + cell.bias_ih[rows], cell.weight_hh[rows] @ h + cell.bias_hh[rows]


def lstm_by_hand(model: LSTMNetwork, belief: State, x: Tensor) -> State:
    """c ← f c + i g and h ← o tanh c, gates in the order i, f, g, o."""
    hidden, memory = belief
    i, f, g, o = (a + b for a, b in (gate_inputs(model.cell, k, x, hidden) for k in range(4)))
    memory = sigmoid(f) * memory + sigmoid(i) * g.tanh()
    return sigmoid(o) * memory.tanh(), memory


def gru_by_hand(model: GRUNetwork, belief: State, x: Tensor) -> State:
    """h ← (1 − z) n + z h with n = tanh(W x + b + r ⊙ (U h + b')), gates in the order r, z, n."""
    (hidden,) = belief
    r, z = (sigmoid(a + b) for a, b in (gate_inputs(model.cell, k, x, hidden) for k in range(2)))
    from_input, from_state = gate_inputs(model.cell, 2, x, hidden)
    candidate = (from_input + r * from_state).tanh()
    return ((1 - z) * candidate + z * hidden,)


def min_gru_by_hand(model: MinGRUNetwork, belief: State, x: Tensor) -> State:
    def layer(part: MinGRULayer, inputs: Tensor, hidden: Tensor) -> Tensor:
        z = sigmoid(part.gate.weight @ inputs + part.gate.bias)
        return (1 - z) * hidden + z * (part.candidate.weight @ inputs + part.candidate.bias)

    first = layer(model.first, x, belief[0])
    return first, layer(model.second, first.tanh(), belief[1])


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@pytest.mark.parametrize(
    ("network", "by_hand"), [(LSTMNetwork, lstm_by_hand), (GRUNetwork, gru_by_hand), (MinGRUNetwork, min_gru_by_hand)]
)
@torch.no_grad()
def test_step_equals_the_equations_gate_by_gate(network, by_hand, dtype: torch.dtype, tolerance: float) -> None:
    model = drawn(network).to(dtype)
    belief = tuple(normal(4, UNITS, seed=7 + i).to(dtype) for i in range(len(model.initial_belief(1))))
    observation = normal(4, DIMENSION, seed=5).to(dtype)
    found = model.advance(belief, observation)
    for row in range(4):
        expected = by_hand(model, tuple(part[row] for part in belief), observation[row])
        for part, value in zip(found, expected, strict=True):
            torch.testing.assert_close(part[row], value, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("network", "exposed"), [(LSTMNetwork, 1), (GRUNetwork, 1), (MinGRUNetwork, 2)])
@torch.no_grad()
def test_begins_at_zero_and_shows_its_hidden_states_to_the_readout(network: type[Network], exposed: int) -> None:
    model = drawn(network, lags=2)
    state = model.initial_state(4)
    assert not any(bool(part.any()) for part in state)
    assert torch.equal(model.predict(state), torch.zeros(4, DIMENSION, dtype=torch.float64))
    moved = model.update(state, normal(4, DIMENSION, seed=5))
    expected = torch.cat([*moved[:exposed], model.recent(moved)], 1)
    assert torch.equal(model.readout_inputs(moved), expected)
    assert expected.shape[1] == model.readout_weight.shape[1] == exposed * UNITS + 2 * DIMENSION


@pytest.mark.parametrize("network", NETWORKS)
def test_draw_replaces_every_weight_by_one_of_the_generator(network: type[Network]) -> None:
    model = network(dimension=DIMENSION, units=UNITS, lags=1)
    before, chance = weights(model), torch.get_rng_state()
    model.draw(torch.Generator().manual_seed(0))
    after = weights(model)
    assert torch.equal(torch.get_rng_state(), chance)
    assert all(bool((after[name] != before[name]).all()) for name in before)
    again, other = weights(drawn(network, seed=0)), weights(drawn(network, seed=1))
    assert all(torch.equal(after[name], again[name].float()) for name in after)
    assert not any(torch.equal(other[name], again[name]) for name in after)


@pytest.mark.parametrize("network", NETWORKS)
def test_weights_are_uniform_in_their_bounds(network: type[Network]) -> None:
    model = network(dimension=16, units=64, lags=0)
    model.draw(torch.Generator().manual_seed(0))
    for name, tensor in weights(model).items():
        bound = 16**-0.5 if name.startswith("first") else 64**-0.5
        forget = network is LSTMNetwork and name == "cell.bias_ih"
        part = torch.cat([tensor[:64], tensor[128:]]) if forget else tensor
        assert 0.9 * bound < float(part.abs().max()) <= bound
        assert float(part.std()) == pytest.approx(bound / 3**0.5, rel=0.2)


def test_forget_gate_of_the_lstm_starts_open() -> None:
    bias = weights(drawn(LSTMNetwork))["cell.bias_ih"]
    assert torch.equal(bias[UNITS : 2 * UNITS], torch.ones(UNITS, dtype=torch.float64))
    assert float(torch.cat([bias[:UNITS], bias[2 * UNITS :]]).abs().max()) <= UNITS**-0.5


@pytest.mark.parametrize("method", METHODS)
def test_gradient_reaches_every_weight_and_training_lowers_the_error(method: type[LSTM | GRU | MinGRU]) -> None:
    model, _ = method(units=2).fit(small_problem(lags=0))
    assert isinstance(model, Recurrent)
    objective = TruncatedBPTT(model, small_problem().train, horizon=16, batch_size=100)
    before = objective.refresh()
    assert {id(p) for p in objective.parameters()} == {id(p) for p in model.parameters()}
    optimiser = torch.optim.Adam(objective.parameters(), lr=0.01)
    for step in range(15):
        optimiser.zero_grad()
        objective.loss(torch.arange(len(objective.chunks.start))).mean.backward()
        if step == 0:
            missing = [n for n, p in model.named_parameters() if p.grad is None or not bool(p.grad.any())]
            assert missing == []
        optimiser.step()
    assert objective.refresh() < 0.95 * before


def test_units_must_be_positive() -> None:
    for method in METHODS:
        with pytest.raises(ValueError, match=r"^units must be at least 1, got 0"):
            method(units=0)
