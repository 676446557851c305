"""The states of gated networks along observed sequences, with the gradient written by hand.

What a gate has from the observations, W x_t + b, is one product for all steps and comes in as `driven`. The loop over
steps then has the product with the state alone. Backwards, the products that make ∂U and ∂b' are single ones over all
steps again. Differentiating step by step makes a matrix as large as U at every step.

Tensors are time first: `driven` (T, B, gates·units) gives states before, between and after T observations,
(T + 1, B, units). On a GPU the loops are recorded as CUDA graphs (`models.runtime.cuda_graphs`).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from models.runtime.by_hand import STEP_BY_STEP, differentiable_once
from models.runtime.cuda_graphs import Recorded

Gradients = tuple[Tensor | None, ...]


def from_sigmoid(value: Tensor) -> Tensor:
    """Returns σ'(a) from σ(a), of any shape."""
    return value * (1 - value)


def from_tanh(value: Tensor) -> Tensor:
    """Returns tanh'(a) from tanh(a), of any shape."""
    return 1 - value.square()


@torch.no_grad()
def lstm_forwards(driven: Tensor, weight: Tensor, hidden: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns h_0 … h_T and c_0 … c_T (T + 1, B, units), and the gates i, f, g, o of each step (T, B, 4·units).

    c ← f c + i g and h ← o tanh c. driven (T, B, 4·units), weight U (4·units, units), h_0 and c_0 (B, units).
    """
    units, gates = hidden.shape[1], torch.empty_like(driven)
    hiddens, memories = (x.new_empty(len(driven) + 1, *x.shape) for x in (hidden, memory))
    hiddens[0], memories[0] = hidden, memory
    for t in range(len(driven)):
        own = torch.addmm(driven[t], hiddens[t], weight.T, out=gates[t])
        own[:, : 2 * units].sigmoid_()
        own[:, 2 * units : 3 * units].tanh_()
        own[:, 3 * units :].sigmoid_()
        i, f, g, o = own.split(units, 1)
        torch.mul(f, memories[t], out=memories[t + 1]).addcmul_(i, g)
        torch.mul(o, memories[t + 1].tanh(), out=hiddens[t + 1])
    return hiddens, memories, gates


@torch.no_grad()
def lstm_backwards(
    gates: Tensor, weight: Tensor, memories: Tensor, at_hiddens: Tensor, at_memories: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns ∂driven (T, B, 4·units), ∂h_0 and ∂c_0 (B, units), from what reaches each h and c by itself,
    (T + 1, B, units); the others are as in `lstm_forwards`."""
    units, at_driven = memories.shape[2], torch.empty_like(gates)
    i, f, g, o = gates.split(units, 2)
    seen = memories[1:].tanh()
    to_memory, to_output = o * from_tanh(seen), seen * from_sigmoid(o)
    to_inner = torch.cat([g * from_sigmoid(i), memories[:-1] * from_sigmoid(f), i * from_tanh(g)], 2)
    at_hidden, at_memory = at_hiddens[-1].clone(), at_memories[-1].clone()
    for t in range(len(gates) - 1, -1, -1):
        at_memory = at_memory.addcmul(at_hidden, to_memory[t])
        inner = at_driven[t][:, : 3 * units].view(-1, 3, units)
        torch.mul(to_inner[t].view(-1, 3, units), at_memory.unsqueeze(1), out=inner)
        torch.mul(to_output[t], at_hidden, out=at_driven[t][:, 3 * units :])
        at_hidden = torch.addmm(at_hiddens[t], at_driven[t], weight)
        at_memory = torch.addcmul(at_memories[t], at_memory, f[t])
    return at_driven, at_hidden, at_memory


@torch.no_grad()
def gru_forwards(driven: Tensor, weight: Tensor, bias: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns h_0 … h_T (T + 1, B, units), the gates r, z, n of each step (T, B, 3·units), and what n has from the
    state, U_n h + b'_n (T, B, units).

    h ← (1 − z) n + z h, n = tanh(driven_n + r ⊙ (U_n h + b'_n)). driven (T, B, 3·units), U (3·units, units),
    b' (3·units,), h_0 (B, units).
    """
    units, gates = hidden.shape[1], torch.empty_like(driven)
    hiddens = hidden.new_empty(len(driven) + 1, *hidden.shape)
    inner = hidden.new_empty(len(driven), *hidden.shape)
    hiddens[0] = hidden
    for t in range(len(driven)):
        moved = torch.addmm(bias, hiddens[t], weight.T)
        inner[t] = moved[:, 2 * units :]
        torch.add(driven[t, :, : 2 * units], moved[:, : 2 * units], out=gates[t, :, : 2 * units]).sigmoid_()
        r, z, n = gates[t].split(units, 1)
        torch.addcmul(driven[t, :, 2 * units :], r, inner[t], out=n).tanh_()
        torch.lerp(n, hiddens[t], z, out=hiddens[t + 1])
    return hiddens, gates, inner


@torch.no_grad()
def gru_backwards(
    gates: Tensor, weight: Tensor, hiddens: Tensor, inner: Tensor, at_hiddens: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns ∂driven and ∂(U h + b') (T, B, 3·units) and ∂h_0 (B, units), from what reaches each h by itself,
    (T + 1, B, units); the others are as in `gru_forwards`."""
    units, at_driven, at_moved = hiddens.shape[2], torch.empty_like(gates), torch.empty_like(gates)
    r, z, n = gates.split(units, 2)
    to_n = (1 - z) * from_tanh(n)
    to_moved = torch.cat([to_n * inner * from_sigmoid(r), (hiddens[:-1] - n) * from_sigmoid(z), to_n * r], 2)
    at_hidden = at_hiddens[-1]
    for t in range(len(gates) - 1, -1, -1):
        torch.mul(to_moved[t].view(-1, 3, units), at_hidden.unsqueeze(1), out=at_moved[t].view(-1, 3, units))
        torch.mul(to_n[t], at_hidden, out=at_driven[t, :, 2 * units :])
        at_hidden = torch.addmm(at_hiddens[t], at_moved[t], weight).addcmul_(at_hidden, z[t])
    at_driven[..., : 2 * units] = at_moved[..., : 2 * units]
    return at_driven, at_moved, at_hidden


@torch.no_grad()
def leaky_forwards(gate: Tensor, candidate: Tensor, hidden: Tensor) -> tuple[Tensor]:
    """Returns h_0 … h_T (T + 1, B, units) of h ← (1 − z) h + z h̃: gate z and candidate h̃ (T, B, units), h_0 (B,
    units)."""
    hiddens = hidden.new_empty(len(gate) + 1, *hidden.shape)
    hiddens[0] = hidden
    for z, new, before, after in zip(gate, candidate, hiddens[:-1], hiddens[1:], strict=True):
        torch.lerp(before, new, z, out=after)
    return (hiddens,)


@torch.no_grad()
def leaky_backwards(gate: Tensor, at_hiddens: Tensor) -> tuple[Tensor]:
    """Returns all that reaches h_0 … h_T (T + 1, B, units), from what reaches each by itself, of the same shape."""
    reaching, kept = at_hiddens.clone(), 1 - gate
    for t in range(len(gate) - 1, -1, -1):
        reaching[t].addcmul_(reaching[t + 1], kept[t])
    return (reaching,)


LSTM_FORWARDS, LSTM_BACKWARDS = Recorded(lstm_forwards), Recorded(lstm_backwards)
GRU_FORWARDS, GRU_BACKWARDS = Recorded(gru_forwards), Recorded(gru_backwards)
LEAKY_FORWARDS, LEAKY_BACKWARDS = Recorded(leaky_forwards), Recorded(leaky_backwards)


class _LSTM(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, driven: Tensor, weight: Tensor, hidden: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        hiddens, memories, gates = LSTM_FORWARDS(driven, weight, hidden, memory)
        if any(ctx.needs_input_grad):
            LSTM_BACKWARDS.prepare(gates, weight, memories, hiddens, memories)
        ctx.save_for_backward(weight, hiddens, memories, gates)
        return hiddens, memories

    @staticmethod
    @differentiable_once(STEP_BY_STEP)
    def backward(ctx: Any, *gradients: Tensor) -> Gradients:  # pyright: ignore[reportIncompatibleMethodOverride]
        weight, hiddens, memories, gates = ctx.saved_tensors
        at_driven, at_hidden, at_memory = LSTM_BACKWARDS(gates, weight, memories, *gradients)
        at_weight = at_driven.flatten(0, 1).T @ hiddens[:-1].flatten(0, 1)
        return at_driven, at_weight, at_hidden, at_memory


class _GRU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, driven: Tensor, weight: Tensor, bias: Tensor, hidden: Tensor) -> Tensor:
        hiddens, gates, inner = GRU_FORWARDS(driven, weight, bias, hidden)
        if any(ctx.needs_input_grad):
            GRU_BACKWARDS.prepare(gates, weight, hiddens, inner, hiddens)
        ctx.save_for_backward(weight, hiddens, gates, inner)
        return hiddens

    @staticmethod
    @differentiable_once(STEP_BY_STEP)
    def backward(ctx: Any, *gradients: Tensor) -> Gradients:  # pyright: ignore[reportIncompatibleMethodOverride]
        weight, hiddens, gates, inner = ctx.saved_tensors
        at_driven, at_moved, at_hidden = GRU_BACKWARDS(gates, weight, hiddens, inner, gradients[0])
        at_weight = at_moved.flatten(0, 1).T @ hiddens[:-1].flatten(0, 1)
        return at_driven, at_weight, at_moved.sum((0, 1)), at_hidden


class _Leaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gate: Tensor, candidate: Tensor, hidden: Tensor) -> Tensor:
        (hiddens,) = LEAKY_FORWARDS(gate, candidate, hidden)
        if any(ctx.needs_input_grad):
            LEAKY_BACKWARDS.prepare(gate, hiddens)
        ctx.save_for_backward(gate, candidate, hiddens)
        return hiddens

    @staticmethod
    @differentiable_once(STEP_BY_STEP)
    def backward(ctx: Any, *gradients: Tensor) -> Gradients:  # pyright: ignore[reportIncompatibleMethodOverride]
        gate, candidate, hiddens = ctx.saved_tensors
        (reaching,) = LEAKY_BACKWARDS(gate, gradients[0])
        return reaching[1:] * (candidate - hiddens[:-1]), reaching[1:] * gate, reaching[0]


def lstm_states(driven: Tensor, weight: Tensor, hidden: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    """Returns h_0 … h_T and c_0 … c_T (T + 1, B, units), differentiable once; arguments as in `lstm_forwards`."""
    states: Any = _LSTM.apply(driven, weight, hidden, memory)
    return states


def gru_states(driven: Tensor, weight: Tensor, bias: Tensor, hidden: Tensor) -> Tensor:
    """Returns h_0 … h_T (T + 1, B, units), differentiable once; arguments as in `gru_forwards`."""
    states: Any = _GRU.apply(driven, weight, bias, hidden)
    return states


def leaky_states(gate: Tensor, candidate: Tensor, hidden: Tensor) -> Tensor:
    """Returns h_0 … h_T (T + 1, B, units), differentiable once; arguments as in `leaky_forwards`."""
    if not torch.is_grad_enabled():
        return leaky_forwards(gate, candidate, hidden)[0]
    states: Any = _Leaky.apply(gate, candidate, hidden)
    return states
