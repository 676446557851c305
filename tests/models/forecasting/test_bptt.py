"""Chunks, losses and gradients of truncated BPTT, and its preconditioner."""

from __future__ import annotations

import pytest
import torch

from models.forecasting.bptt import TruncatedBPTT, cut_chunks
from models.forecasting.filtering import MaskedSequences, State, filter_sequences, scored_steps
from models.forecasting.recurrent import Recurrent
from models.psrnn.cell import PSRNN
from models.psrnn.kronecker import KroneckerPreconditioner


def problem(*, horizon: int = 3, batch_size: int = 2, solve=None) -> TruncatedBPTT:
    generator = torch.Generator().manual_seed(0)
    model = PSRNN(frequencies=3, dimension=2, state=4, lags=1)
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.copy_(torch.randn(tensor.shape, generator=generator) * 0.5)
    model.double()
    values = torch.randn(3, 11, 2, generator=generator, dtype=torch.float64)
    mask = (torch.arange(11) < torch.tensor([11, 7, 2])[:, None])[:, :, None].repeat(1, 1, 2)
    mask[0, 5, 1] = False
    values = torch.where(mask, values, 0.0)
    train = MaskedSequences(values, mask, scored_steps(mask, first_step=1))
    return TruncatedBPTT(model, train, horizon=horizon, batch_size=batch_size, solve_readout=solve)


def gradients(model: PSRNN) -> dict[str, torch.Tensor]:
    """By parameter; no gradient counts as zero."""
    return {n: torch.zeros_like(p) if p.grad is None else p.grad.clone() for n, p in model.named_parameters()}


def test_each_chunk_with_a_scored_step_comes_once_in_an_order_that_changes() -> None:
    objective = problem()
    objective.refresh()
    generator = torch.Generator().manual_seed(0)
    orders = [torch.cat(list(objective.batches(generator))).tolist() for _ in range(5)]
    assert all(sorted(order) == list(range(len(objective.chunks.sequence))) for order in orders)
    assert len({tuple(order) for order in orders}) > 1
    pairs = set(zip(objective.chunks.sequence.tolist(), objective.chunks.start.tolist(), strict=True))
    assert pairs == {(0, 0), (0, 3), (0, 6), (0, 9), (1, 0), (1, 3), (1, 6), (2, 0)}


@pytest.mark.parametrize("horizon", [1, 3, 4, 20])
def test_every_scored_entry_counts_once(horizon: int) -> None:
    objective = problem(horizon=horizon)
    train_mse = objective.refresh()
    total, count = 0.0, 0
    for batch in objective.batches(torch.Generator().manual_seed(1)):
        rows = objective.chunks.sequence[batch].unsqueeze(1)
        steps = objective.chunks.start[batch].unsqueeze(1) + torch.arange(horizon)
        entries = int(objective.padded.scored[rows, steps].sum())
        total, count = total + float(objective.loss(batch).mean.detach()) * entries, count + entries
    assert count == int(objective.train.scored.sum())
    assert total / count == pytest.approx(train_mse, rel=1e-10)


def test_gradients_equal_those_of_an_explicit_loop() -> None:
    objective = problem(horizon=4, batch_size=1)
    objective.refresh()
    model, train = objective.model, objective.train
    index = objective.chunks.start.tolist().index(4)
    sequence = int(objective.chunks.sequence[index])
    objective.loss(torch.tensor([index])).mean.backward()
    found = gradients(model)
    model.zero_grad()
    state = tuple(part[sequence, 4:5] for part in objective.states)
    window = (slice(sequence, sequence + 1), slice(4, 8))
    predictions = filter_sequences(model, train.values[window], train.mask[window], state).predictions
    scored = train.scored[window]
    (predictions - train.values[window])[scored].square().mean().backward()
    for name, expected in gradients(model).items():
        torch.testing.assert_close(found[name], expected)
    assert float(found["update_tensor"].abs().max()) > 0


def test_only_the_first_chunk_of_a_sequence_moves_the_initial_state() -> None:
    objective = problem()
    objective.refresh()
    starts = objective.chunks.start.tolist()
    for start, moves in ((0, True), (3, False)):
        objective.model.zero_grad()
        objective.loss(torch.tensor([starts.index(start)])).mean.backward()
        gradient = objective.model.initial.grad
        assert (gradient is not None and float(gradient.abs().max()) > 0) == moves


class TwoLayers(Recurrent):
    """Keeps a belief (batch, 2, d): the last observation and the sum of all."""

    def __init__(self, *, dimension: int) -> None:
        super().__init__(dimension=dimension, exposed=2 * dimension, lags=0)
        self.initial = torch.nn.Parameter(torch.full((2, dimension), 7.0))

    def initial_belief(self, batch: int) -> State:
        return (self.initial.expand(batch, -1, -1),)

    def advance(self, belief: State, observation: torch.Tensor) -> State:
        return (torch.stack([observation, belief[0][:, 1] + observation], 1),)

    def exposed(self, belief: State) -> torch.Tensor:
        return belief[0].flatten(-2)


def test_a_belief_of_several_axes_begins_by_its_chunk() -> None:
    given = problem()
    objective = TruncatedBPTT(TwoLayers(dimension=2).double(), given.train, horizon=3, batch_size=2)
    objective.refresh()
    assert objective.chunks.start[:2].tolist() == [0, 3]
    belief = objective.start_state(torch.tensor([0, 1]))[0]  # as many chunks as layers
    values = objective.filled[0]
    assert bool((belief[0] == 7).all())
    torch.testing.assert_close(belief[1], torch.stack([values[2], 7 + values[:3].sum(0)]))


def test_a_solved_readout_is_not_trained() -> None:
    solved: list[PSRNN] = []
    objective = problem(solve=solved.append)
    objective.refresh()
    assert len(solved) == 1
    objective.refresh(solve=False)
    assert len(solved) == 1
    names = {id(p): n for n, p in objective.model.named_parameters()}
    assert {names[id(p)] for p in objective.parameters()} == {"update_tensor", "bias", "initial"}


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"^horizon must be at least 1, got 0"):
        problem(horizon=0)
    with pytest.raises(ValueError, match=r"^batch_size must be at least 1, got 0"):
        problem(batch_size=0)
    with pytest.raises(ValueError, match=r"no training step to refine on: .*; score earlier ones, or give more data$"):
        cut_chunks(torch.zeros(2, 5, 1, dtype=torch.bool), horizon=2)
    with pytest.raises(ValueError, match=r"^damping must be positive, got 0"):
        KroneckerPreconditioner(damping=0)


def test_preconditioner_equals_the_dense_inverse() -> None:
    objective = problem(batch_size=8)
    objective.refresh()
    preconditioner = KroneckerPreconditioner(damping=0.1)
    preconditioner.refresh(objective)
    model = objective.model
    objective.loss(torch.arange(4)).mean.backward()
    gradient, bias = model.update_tensor.grad, model.bias.grad
    assert gradient is not None
    assert bias is not None
    before, before_bias = gradient.clone(), bias.clone()
    used = objective.train.scored.any(2)
    q = objective.states[0][used]
    omega = model.features(objective.filled[used])
    readout = model.readout_weight[:, :4].detach()

    def factor(moment: torch.Tensor) -> torch.Tensor:
        scaled = moment / moment.diagonal().mean()
        return scaled + 0.1 * torch.eye(len(moment), dtype=moment.dtype)

    metric = factor(readout.T @ readout)
    dense = torch.kron(metric, torch.kron(factor(q.T @ q / len(q)), factor(omega.T @ omega / len(omega))))
    preconditioner.apply(model)
    torch.testing.assert_close(gradient.flatten(), torch.linalg.solve(dense, before.flatten()).detach())
    torch.testing.assert_close(bias, torch.linalg.solve(metric, before_bias))


def test_preconditioning_needs_a_gradient() -> None:
    objective = problem()
    objective.refresh()
    preconditioner = KroneckerPreconditioner(damping=0.1)
    preconditioner.refresh(objective)
    with pytest.raises(RuntimeError, match="there is no gradient yet"):
        preconditioner.apply(objective.model)


@pytest.mark.parametrize("horizon", [4, 20])
def test_what_the_lags_say_is_computed_once_an_epoch(horizon: int) -> None:
    objective = problem(horizon=horizon, solve=lambda _: None)
    full = torch.ones_like(objective.train.mask)
    train = MaskedSequences(objective.train.values, full, scored_steps(full, first_step=1))
    objective = TruncatedBPTT(objective.model, train, horizon=horizon, batch_size=2, solve_readout=lambda _: None)
    objective.refresh()
    assert objective.lag_share is not None
    parameters = objective.parameters()
    found = {}
    for way in ("once", "anew"):
        if way == "anew":
            objective.lag_share = None
        losses = [objective.loss(batch).mean for batch in torch.arange(len(objective.chunks.start)).split(2)]
        found[way] = [torch.stack(losses), *torch.autograd.grad(torch.stack(losses).sum(), parameters)]
    torch.testing.assert_close(found["once"], found["anew"], rtol=1e-10, atol=1e-12)
