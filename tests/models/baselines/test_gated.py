"""The states of gated networks along sequences against the same network moved step by step: numbers, gradients, blocks
and recordings."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fixed_memory import FixedMemory
from models.baselines import gated, networks
from models.baselines.networks import Gated, GRUNetwork, LSTMNetwork, MinGRUNetwork
from models.forecasting.filtering import State
from models.forecasting.recurrent import Recurrent
from models.runtime import cuda_graphs
from models.runtime.cuda_graphs import Recorded

NETWORKS = [LSTMNetwork, GRUNetwork, MinGRUNetwork]
UNITS, DIMENSION, BATCH, STEPS = 5, 3, 4, 7


def drawn(network: type[LSTMNetwork | GRUNetwork | MinGRUNetwork]) -> Gated:
    model = network(dimension=DIMENSION, units=UNITS, lags=0)
    model.draw(torch.Generator().manual_seed(0))
    return model.double()


def normal(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def begun(model: Gated) -> State:
    """A belief in the middle of a sequence, which a gradient reaches."""
    return tuple(normal(BATCH, UNITS, seed=7 + i).requires_grad_() for i in range(len(model.initial_belief(1))))


def with_gradients(along: type[Recurrent], model: Gated, values: Tensor) -> list[Tensor]:
    """The beliefs before each observation, and the gradients of a loss that weighs every number of theirs."""
    start = begun(model)
    values = values.clone().requires_grad_()
    beliefs = along.beliefs_along(model, start, values)
    loss = sum((normal(*part.shape, seed=20 + i) * part).sum() for i, part in enumerate(beliefs))
    parameters = [p for name, p in model.named_parameters() if not name.startswith("readout")]
    return [*beliefs, *torch.autograd.grad(loss, [values, *start, *parameters], materialize_grads=True)]


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("steps", [1, 2, STEPS])
def test_beliefs_and_gradients_are_those_of_single_steps(network, steps: int) -> None:
    model, values = drawn(network), normal(BATCH, steps, DIMENSION, seed=5)
    found, expected = (with_gradients(along, model, values) for along in (Gated, Recurrent))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("network", NETWORKS)
def test_gradients_are_those_of_differences(network) -> None:
    model = drawn(network)
    start = begun(model)
    assert torch.autograd.gradcheck(
        lambda values, *belief: model.beliefs_along(belief, values),
        (normal(BATCH, 4, DIMENSION, seed=5).requires_grad_(), *start),
    )


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("block", [1, 3, STEPS, 100])
@torch.no_grad()
def test_without_a_gradient_the_same_comes_out_block_by_block_or_step_by_step(
    network, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(networks, "BLOCK", block)
    model, values = drawn(network), normal(BATCH, STEPS, DIMENSION, seed=5)
    found = model.beliefs_along(begun(model), values)
    for one, other in zip(found, Recurrent.beliefs_along(model, begun(model), values), strict=True):
        assert one.shape == (BATCH, STEPS, UNITS)
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("network", NETWORKS)
def test_recordings_give_the_same_and_keep_nothing(network, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU: arguments and results of a recording stay in one place, and other values come by turns."""
    model, memory = drawn(network), FixedMemory()
    expected = [with_gradients(Recurrent, model, normal(BATCH, STEPS, DIMENSION, seed=seed)) for seed in range(4)]
    monkeypatch.setitem(cuda_graphs.RECORDERS, "cpu", memory)
    for name in ("lstm", "gru", "leaky"):
        for way in ("forwards", "backwards"):
            monkeypatch.setattr(gated, f"{name}_{way}".upper(), Recorded(getattr(gated, f"{name}_{way}")))
    found = [with_gradients(Gated, model, normal(BATCH, STEPS, DIMENSION, seed=seed)) for seed in range(4)]
    assert sorted(name.split("_")[1] for name in memory.recorded) == ["backwards", "forwards"]
    for one, other in zip(found, expected, strict=True):
        for a, b in zip(one, other, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("steps", [1, 2, STEPS])
def test_in_single_precision_what_the_readout_sees_is_that_of_single_steps(network, steps: int) -> None:
    """The LSTM is torch's own layer there."""
    model, values = drawn(network).float(), normal(BATCH, steps, DIMENSION, seed=5).float()
    weights = [p for name, p in model.named_parameters() if not name.startswith("readout")]
    forms = (model.exposed_along, lambda start, values: model.exposed(Recurrent.beliefs_along(model, start, values)))
    found = []
    for form in forms:
        start = tuple(part.detach().float().requires_grad_() for part in begun(model))
        exposed = form(start, values)
        loss = (normal(*exposed.shape, seed=20).float() * exposed).sum()
        found.append([exposed, *torch.autograd.grad(loss, [*start, *weights], materialize_grads=True)])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("network", NETWORKS)
def test_nothing_in_nothing_out(network) -> None:
    model = drawn(network)
    for belief in model.beliefs_along(begun(model), normal(BATCH, 0, DIMENSION, seed=5)):
        assert belief.shape == (BATCH, 0, UNITS)


@pytest.mark.parametrize("network", NETWORKS)
def test_a_second_derivative_is_refused(network) -> None:
    model = drawn(network)
    beliefs = model.beliefs_along(begun(model), normal(BATCH, STEPS, DIMENSION, seed=5))
    with pytest.raises(RuntimeError, match="cannot be differentiated once more; move the model step by step"):
        torch.autograd.grad(beliefs[0].square().sum(), list(model.parameters())[2:4], create_graph=True)
