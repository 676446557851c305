"""The states of a decoder with attention, with the gradient written by hand.

With E the memory, s_0 = c_0 = 0 and keys K_l that hold all constants, a step takes

    q_j = Q s_{j−1},   e_jl = Σ_k v_k σ(K_lk + q_jk)  or  K_lᵀ q_j,   α_j = softmax_l(e_j),   c_j = Σ_l α_jl E_l,
    y_j = [s_{j−1}; c_j; w_j s_{j−1}; w_j c_{j−1}],   (i, f, o, g) = σ(x_j + W y_j),   n = 2g − 1,
    m_j = f m_{j−1} + i n,   s_j = o tanh(m_j).

A tanh is written 2σ(2a) − 1: in single precision torch takes three times as long for a tanh. The caller doubles v, Q,
K and the rows of W and x for g accordingly. The last two parts of y_j are what is fed back. Without feedback both are
left out; with w_j = 1 throughout the third is, as W can have it in its first columns. Backwards the loop carries ∂s, ∂m
and ∂c alone; the gradients of W, Q and v are one product each over all steps. Tensors are time first here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.runtime.by_hand import differentiable_once


class Attended(NamedTuple):
    """Holds the weights of the recursion, as the module's text names them.

    query: Q (unit, unit); energy: v (unit,), None for scores by product; gates: W (4·units, numbers of y); given: x
    (sequence, step, 4·units). weight: w (sequence, step), without a gradient; None where nothing is fed back, or w = 1
    throughout. W has as many columns as the parts of y that there are.
    """

    query: Tensor
    energy: Tensor | None
    gates: Tensor
    given: Tensor
    weight: Tensor | None


class States(NamedTuple):
    """Holds states (sequence, step, unit), contexts (sequence, step, memory) and weights of attention, which have no
    gradient, (sequence, step, step of memory)."""

    states: Tensor
    contexts: Tensor
    attention: Tensor


def attended_states(memory: Tensor, keys: Tensor, present: Tensor, weights: Attended) -> States:
    """Returns the states of all steps. memory (sequence, step of memory, memory); keys (sequence, step of memory,
    unit); present: bool (sequence, step of memory), where a sequence without any has contexts of 0."""
    found: Any = _Recursion.apply(memory, keys, present, *weights)
    return States(*found)


class SavedActivations(NamedTuple):
    """Holds what the steps leave for the gradient, time first: weights of attention; σ(K + q) or q; y; gates
    (i, f, o, g) with n in place of g; m and its tanh; s and c. m, s and c begin with those before the first step."""

    attention: Tensor
    scored: Tensor
    inputs: Tensor
    gates: Tensor
    cells: Tensor
    turned: Tensor
    states: Tensor
    contexts: Tensor


class Steps(NamedTuple):
    """Holds what `SavedActivations` does, step by step."""

    attention: Sequence[Tensor]
    scored: Sequence[Tensor]
    inputs: Sequence[Tensor]
    gates: Sequence[Tensor]
    cells: Sequence[Tensor]
    turned: Sequence[Tensor]
    states: Sequence[Tensor]
    contexts: Sequence[Tensor]


def room(memory: Tensor, keys: Tensor, weights: Attended) -> SavedActivations:
    """Returns memory for what all steps leave; what is before the first is 0."""
    (batch, length, units), steps = keys.shape, weights.given.shape[1]
    scored = (batch, units) if weights.energy is None else (batch, length, units)
    wide = weights.gates.shape[1]
    sizes = (batch, length), scored, (batch, wide), (batch, 4 * units), (batch, units), (batch, units)
    kept = [memory.new_empty(steps + (place == 4), *size) for place, size in enumerate(sizes)]
    kept += [memory.new_empty(steps + 1, batch, size) for size in (units, memory.shape[2])]
    for place in (4, 6, 7):
        kept[place][0].zero_()
    return SavedActivations(*kept)


def take_steps(memory: Tensor, keys: Tensor, present: Tensor, weights: Attended) -> SavedActivations:
    """Returns what all steps of the recursion leave."""
    kept, share = room(memory, keys, weights), present.to(memory.dtype)
    lowest = (1 - share) * (torch.finfo(memory.dtype).min / 4)
    whole, query, gates = bool(present.any(1).all()), weights.query.T, weights.gates.T
    met = keys if weights.energy is not None else keys.transpose(1, 2).contiguous()
    steps, weight = Steps(*(part.unbind(0) for part in kept)), weight_by_step(weights)
    for step, given in enumerate(weights.given.unbind(1)):
        attention, state, before, context = (
            steps.attention[step], steps.states[step], steps.contexts[step], steps.contexts[step + 1],
        )  # fmt: skip
        scores = scores_of(met, state @ query, weights.energy, lowest, steps.scored[step])
        torch.softmax(scores, 1, out=attention)
        if not whole:
            attention *= share
        torch.bmm(attention.unsqueeze(1), memory, out=context.unsqueeze(1))
        torch.cat(parts_of(state, before, context, weights, weight[step]), 1, out=steps.inputs[step])
        move_cell(torch.addmm(given, steps.inputs[step], gates), steps, step)
    return kept


def weight_by_step(weights: Attended) -> Sequence[Tensor | None]:
    """Returns w of each step, (sequence, 1), or None for each."""
    if weights.weight is None:
        return [None] * weights.given.shape[1]
    return weights.weight.unsqueeze(2).unbind(1)


def scores_of(keys: Tensor, query: Tensor, energy: Tensor | None, lowest: Tensor, scored: Tensor) -> Tensor:
    """Returns the scores (sequence, step of memory) of a query (sequence, unit), with `lowest` added, and notes in
    `scored` what their gradient is made of. keys: (sequence, unit, step of memory) for scores by product."""
    if energy is None:
        scored.copy_(query)
        return torch.baddbmm(lowest.unsqueeze(1), query.unsqueeze(1), keys).squeeze(1)
    torch.add(keys, query.unsqueeze(1), out=scored).sigmoid_()
    return torch.addmv(lowest.flatten(), scored.flatten(0, 1), energy).view_as(lowest)


def parts_of(state: Tensor, before: Tensor, context: Tensor, weights: Attended, weight: Tensor | None) -> list[Tensor]:
    """Returns the parts of y at a step. before: the context of the step before; weight: w of the step."""
    if weight is not None:
        return [state, context, state * weight, before * weight]
    fed_back = weights.gates.shape[1] > state.shape[1] + context.shape[1]
    return [state, context, before] if fed_back else [state, context]


def move_cell(entering: Tensor, steps: Steps, step: int) -> None:
    """Notes gates, m and s of a step with what enters its gates (sequence, gate)."""
    cell, turned = steps.cells[step + 1], steps.turned[step]
    torch.sigmoid(entering, out=steps.gates[step])
    i, f, o, n = steps.gates[step].chunk(4, 1)
    n.mul_(2).sub_(1)
    torch.mul(f, steps.cells[step], out=cell).addcmul_(i, n)
    torch.tanh(cell, out=turned)
    torch.mul(o, turned, out=steps.states[step + 1])


class Trail(NamedTuple):
    """Holds gradients at all steps, time first: of what enters the gates, of contexts and scores; that of queries
    before the factor v of additive scores; and of the keys, without that factor too, summed over the steps."""

    gates: Tensor
    contexts: Tensor
    scores: Tensor
    queries: Tensor
    keys: Tensor


def gate_factors(kept: SavedActivations) -> tuple[Tensor, Tensor]:
    """Returns what ∂m, for o ∂s, is multiplied by to give the gradient of what enters the gates (i, f, o, g),
    (step, sequence, 4, unit), and what ∂s is multiplied by to add to ∂m, (step, sequence, unit)."""
    steps, batch, units = kept.turned.shape
    i, f, o, n = kept.gates.view(steps, batch, 4, units).unbind(2)
    factors = [n * i * (1 - i), kept.cells[:-1] * f * (1 - f), kept.turned * o * (1 - o), i * (1 - n * n) / 2]
    return torch.stack(factors, 2), o * (1 - kept.turned * kept.turned)


def step_back(
    memory: Tensor, keys: Tensor, weights: Attended, kept: SavedActivations, states: Tensor, contexts: Tensor
) -> Trail:
    """Returns the gradients along the recursion. states, contexts: the gradients that reach them, sequence first."""
    units, size = kept.states.shape[2], memory.shape[2]
    trail = Trail(*map(torch.empty_like, (kept.gates, kept.contexts[1:], kept.attention, kept.states[1:], keys)))
    trail.keys.zero_()
    factors, to_cell = gate_factors(kept)
    query = weights.query if weights.energy is None else weights.energy.unsqueeze(1) * weights.query
    scored = ScoreSteps(kept, trail, keys, memory, additive=weights.energy is not None)
    above = zip(states.unbind(1), contexts.unbind(1), to_cell.unbind(0), factors.unbind(0), strict=True)
    trails = zip(trail.gates.unbind(0), trail.contexts.unbind(0), kept.gates.unbind(0), strict=True)
    state, cell, context = (torch.zeros_like(part[0]) for part in (kept.states, kept.states, kept.contexts))
    backwards = zip(*(list(each)[::-1] for each in (enumerate(weight_by_step(weights)), above, trails)), strict=True)
    for (step, weight), (to_state, to_context, into_cell, factor), (entering, reached, gates) in backwards:
        state = state + to_state
        cell = torch.addcmul(cell, state, into_cell)
        by_gate = entering.view_as(factor)
        torch.mul(factor, cell.unsqueeze(1), out=by_gate)
        torch.mul(factor[:, 2], state, out=by_gate[:, 2])
        below = entering @ weights.gates
        torch.add(context.add_(to_context), below[:, units : units + size], out=reached)
        state = torch.addmm(below[:, :units], scored.query_gradient(step, reached), query)
        cell = cell * gates[:, units : 2 * units]
        context = fed_back_gradient(below, units, weight, state, size)
    return trail


def fed_back_gradient(below: Tensor, units: int, weight: Tensor | None, state: Tensor, size: int) -> Tensor:
    """Returns the gradient that reaches the context of the step before through what is fed back, and adds what reaches
    the state so, in place. below: the gradient of y."""
    if weight is not None:
        state.addcmul_(weight, below[:, units + size : 2 * units + size])
        return weight * below[:, 2 * units + size :]
    fed_back = below.shape[1] > units + size
    return below[:, units + size :] if fed_back else torch.zeros_like(below[:, units:])


class ScoreSteps:
    """Takes gradients back through the attention of each step, and notes those of scores, queries and keys."""

    def __init__(self, kept: SavedActivations, trail: Trail, keys: Tensor, memory: Tensor, *, additive: bool) -> None:
        self.attention, self.scored = kept.attention.unbind(0), kept.scored.unbind(0)
        self.scores, self.queries, self.sums = trail.scores.unbind(0), trail.queries.unbind(0), trail.keys
        self.keys, self.turned, self.additive = keys, memory.transpose(1, 2).contiguous(), additive

    def query_gradient(self, step: int, reached: Tensor) -> Tensor:
        """Returns the gradient of a step's query, before the factor v, for that of its context (sequence, memory)."""
        attention, scores, scored = self.attention[step], self.scores[step], self.scored[step]
        pull = attention * torch.bmm(reached.unsqueeze(1), self.turned).squeeze(1)
        torch.addcmul(pull, attention, pull.sum(1, keepdim=True), value=-1, out=scores)
        slopes = torch.addcmul(scored, scored, scored, value=-1) if self.additive else self.keys
        torch.bmm(scores.unsqueeze(1), slopes, out=self.queries[step].unsqueeze(1))
        self.sums.addcmul_(scores.unsqueeze(2), slopes if self.additive else scored.unsqueeze(1))
        return self.queries[step]


def product(gradients: Tensor, inputs: Tensor) -> Tensor:
    """Returns Σ over steps and sequences of gradient ⊗ input: (numbers of a gradient, numbers of an input)."""
    return gradients.flatten(0, 1).T @ inputs.flatten(0, 1)


def gradients_of(trail: Trail, weights: Attended, kept: SavedActivations) -> tuple[Tensor | None, ...]:
    """Returns the gradients of memory, keys, mask and the fields of `Attended`, in this order."""
    memory = torch.bmm(kept.attention.permute(1, 2, 0), trail.contexts.transpose(0, 1))
    keys, query, energy = trail.keys, product(trail.queries, kept.states[:-1]), None
    if weights.energy is not None:
        energy = trail.scores.flatten() @ kept.scored.flatten(0, 2)
        keys, query = keys * weights.energy, weights.energy.unsqueeze(1) * query
    return memory, keys, None, query, energy, product(trail.gates, kept.inputs), trail.gates.transpose(0, 1), None


class _Recursion(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, memory: Tensor, keys: Tensor, present: Tensor, *parts: Any) -> tuple[Tensor, ...]:
        kept = take_steps(memory, keys, present, Attended(*parts))
        ctx.save_for_backward(memory, keys, *parts, *kept)
        attention = kept.attention.transpose(0, 1)
        ctx.mark_non_differentiable(attention)
        return kept.states[1:].transpose(0, 1), kept.contexts[1:].transpose(0, 1), attention

    @staticmethod
    @differentiable_once("take the steps by operations of torch, as the text of models.sequence.fused_decoder has them")
    def backward(ctx: Any, *above: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        memory, keys, *rest = ctx.saved_tensors
        parts = len(Attended._fields)
        weights, kept = Attended(*rest[:parts]), SavedActivations(*rest[parts:])
        trail = step_back(memory, keys, weights, kept, above[0], above[1])
        return gradients_of(trail, weights, kept)
