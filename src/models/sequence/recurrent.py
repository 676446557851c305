"""Recurrent networks over sequences of unequal length: a bidirectional encoder, and a decoder with attention."""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn

from models.sequence.fused_decoder import Attended, attended_states
from models.sequence.packing import Padded

Feedback = Literal["none", "prediction", "teacher"]
Score = Literal["additive", "dot"]


class ReversedByLength(NamedTuple):
    """Reverses each sequence within its own length; what lies past the end stays where it is. Twice is nothing.

    places: int64 (sequence, step, 1), the step that each step is taken from.
    """

    places: Tensor

    @classmethod
    def of(cls, lengths: Tensor, steps: int) -> ReversedByLength:
        """Returns the reversal of sequences of these lengths (sequence,), padded to so many steps."""
        step = torch.arange(steps, device=lengths.device)
        last = lengths.unsqueeze(1) - 1
        return cls(torch.where(step <= last, last - step, step).unsqueeze(-1))

    def apply(self, values: Tensor) -> Tensor:
        """Returns values (sequence, step, width) in the other direction."""
        return values.gather(1, self.places.expand_as(values))


class BidirectionalLSTM(nn.Module):
    """Is a bidirectional LSTM (Schuster and Paliwal 1997) that reads padded sequences as if they were packed.

    The backward direction reads each sequence reversed within its own length. So no present step sees padding, and two
    padded LSTMs do in a third of the time what `torch.nn.utils.rnn.pack_padded_sequence` is otherwise needed for.

    inputs: numbers of a step. units: of each direction. layers: one on top of the other, with that dropout between
    them. directions: "added" gives h→ + h← (units numbers), "joined" [h→; h←] (2·units numbers). residual: the states
    of a layer are added to what it reads, as in residual networks (He et al. 2016); `inputs` must be as wide. The
    weights are drawn from torch's global generator. Raises ValueError for others.
    """

    cell: ClassVar[type[nn.LSTM] | type[nn.GRU]] = nn.LSTM

    def __init__(
        self,
        inputs: int,
        units: int,
        *,
        layers: int = 1,
        directions: Literal["added", "joined"] = "added",
        dropout: float = 0.0,
        residual: bool = False,
    ) -> None:
        super().__init__()
        if directions not in ("added", "joined"):
            raise ValueError(f"directions must be added or joined, got {directions!r}")
        self.joined, self.residual = directions == "joined", residual
        self.width = 2 * units if self.joined else units
        if residual and inputs != self.width:
            raise ValueError(f"residual states need as many inputs, {self.width}; got {inputs}")
        widths = [inputs, *[self.width] * (layers - 1)]
        self.forwards = nn.ModuleList(self.cell(width, units, batch_first=True) for width in widths)
        self.backwards = nn.ModuleList(self.cell(width, units, batch_first=True) for width in widths)
        self.dropout = nn.Dropout(dropout)

    def forward(self, sequences: Padded) -> Tensor:
        """Returns the states of the last layer, (sequence, step, width of the directions), 0 past the end."""
        values, lengths = sequences
        reversal = ReversedByLength.of(lengths, values.shape[1])
        absent = ~sequences.present.unsqueeze(-1)
        for place, (forwards, backwards) in enumerate(zip(self.forwards, self.backwards, strict=True)):
            if place:
                values = self.dropout(values)
            ahead, _ = forwards(values)
            back = reversal.apply(backwards(reversal.apply(values))[0])
            states = torch.cat([ahead, back], -1) if self.joined else ahead + back
            values = (values + states if self.residual else states).masked_fill(absent, 0)
        return values


class BidirectionalGRU(BidirectionalLSTM):
    """Is a bidirectional network of gated recurrent units (Cho et al. 2014), padded and joined as that of LSTMs."""

    cell = nn.GRU


class TeacherForcing(NamedTuple):
    """Holds what a decoder is told of the truth: values (sequence, step, width), and before which steps it is told the
    true step before, bool (sequence, step)."""

    values: Tensor
    steps: Tensor


class Affine(NamedTuple):
    """Holds the map x → W x + b: weight (output, input), bias (output,). An `nn.Linear` may stand in its place."""

    weight: Tensor
    bias: Tensor


class Decoded(NamedTuple):
    """Holds decoded vectors (sequence, step, width), and the weights of attention (sequence, step, step of memory)."""

    values: Tensor
    attention: Tensor


class AttentionDecoder(nn.Module):
    """Is an LSTM that writes a sequence of vectors while it attends to another sequence, its memory E.

    Before step j it attends: c_j = Σ_l α_jl E_l with α_j = softmax_l(e_jl) over present steps. The score e_jl is
    vᵀ tanh(K E_l + Q s_{j−1} + b) (additive; Bahdanau, Cho and Bengio 2015), or (K E_l)ᵀ Q s_{j−1}/√units (dot;
    Luong, Pham and Manning 2015). Then s_j = LSTM(s_{j−1}, [c_j; F x̂_{j−1}]) and x̂_j = O[s_j; c_j]. s_0, c_0 and the
    fed back x̂_0 are 0.

    O and F are handed to `forward`, so that one decoder can write sequences of several kinds. memory: numbers of a step
    of E. fed: numbers of F x̂, 0 for a decoder that sees none of its outputs. The weights are drawn from torch's
    global generator.
    """

    def __init__(self, memory: int, units: int, *, fed: int = 0, score: Score = "additive") -> None:
        super().__init__()
        if score not in ("additive", "dot"):
            raise ValueError(f"score must be additive or dot, got {score!r}")
        self.units, self.fed, self.score = units, fed, score
        self.key = nn.Linear(memory, units, bias=False)
        self.query = nn.Linear(units, units, bias=score == "additive")
        self.energy = nn.Linear(units, 1, bias=False) if score == "additive" else None
        self.gates = nn.Linear(units + memory, 4 * units)
        self.feed = nn.Linear(fed, 4 * units, bias=False) if fed else None

    def forward(
        self,
        memory: Tensor,
        present: Tensor,
        *,
        steps: int,
        read: Affine | nn.Linear,
        feed: Tensor | None = None,
        told: TeacherForcing | None = None,
    ) -> Decoded:
        """Returns `steps` vectors for each sequence of memory (sequence, step of memory, memory).

        present: bool (sequence, step of memory). read: O, (units + memory → width). feed: F (fed, width),
        None for F = 1. told: where x_{j−1} itself is fed back, not x̂_{j−1}; None is nowhere. Raises
        ValueError for `told` to a decoder that is fed nothing.
        """
        if self.feed is None and told is not None:
            raise ValueError("a decoder without feedback cannot be told its sequence; make it with fed above 0")
        if steps < 1:
            raise ValueError(f"a decoder writes at least one step, got {steps}")
        given, gates = self.gates.bias.expand(len(memory), steps, -1), self.gates.weight
        if self.feed is not None:
            into = self.feed.weight if feed is None else self.feed.weight @ feed
            given = given + fed_back_bias(into @ read.bias, given, told)
            gates = self._with_feedback(into @ read.weight, told)
            if told is not None:
                given = given + teacher_gates(told, into)
        keys, query, energy = self._scoring(memory)
        double = torch.ones_like(self.gates.bias.detach())
        double[3 * self.units :] = 2  # for the tanh among the gates, as in `_scoring`
        weight = None if self.feed is None or told is None else 1 - told.steps.to(memory.dtype)
        weights = Attended(query, energy, double.unsqueeze(1) * gates, double * given, weight)
        found = attended_states(memory, keys, present, weights)
        joined = torch.cat([found.states, found.contexts], -1)
        return Decoded(nn.functional.linear(joined, read.weight, read.bias), found.attention)

    def _with_feedback(self, fed_back: Tensor, told: TeacherForcing | None) -> Tensor:
        """Returns the map to the gates from the parts of y. What follows x̂_{j−1} = O[s; c] is made from s and c at
        once, by `fed_back`."""
        if told is not None:
            return torch.cat([self.gates.weight, fed_back], 1)
        state, context = fed_back.split([self.units, fed_back.shape[1] - self.units], 1)
        return torch.cat([self.gates.weight + nn.functional.pad(state, (0, context.shape[1])), context], 1)

    def _scoring(self, memory: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Returns keys, Q and v of the recursion. As tanh a = 2σ(2a) − 1, arguments and v are doubled; what Σ v takes
        from every score does not change the softmax."""
        if self.energy is None:
            return self.units**-0.5 * self.key(memory), self.query.weight, None
        return 2 * (self.key(memory) + self.query.bias), 2 * self.query.weight, 2 * self.energy.weight[0]


def fed_back_bias(bias: Tensor, given: Tensor, told: TeacherForcing | None) -> Tensor:
    """Returns what the bias (gate,) of a fed back prediction adds to the gates: nothing before the first step, and
    nothing where the truth is told."""
    weight = given.new_ones(len(given), given.shape[1])
    weight[:, 0] = 0
    return (weight if told is None else weight * ~told.steps).unsqueeze(-1) * bias


def teacher_gates(told: TeacherForcing, into: Tensor) -> Tensor:
    """Returns what the true steps before add to the gates, (sequence, step, gate). into (gate, width)."""
    before = torch.cat([torch.zeros_like(told.values[:, :1]), told.values[:, :-1]], 1)
    return (before * told.steps.unsqueeze(-1)) @ into.T
