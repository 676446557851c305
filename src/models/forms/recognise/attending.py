"""Recognisers that write a text symbol by symbol while they attend to the frames of an image."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from models.forms.images import Crops
from models.forms.recognise.recogniser import CutReading, Reading, Recogniser
from models.sequence.decoding import Rules, Written, beam
from models.sequence.masks import masked_mean, masked_softmax, present_steps

END = 0  # of a text; also CTC's blank


class Memory(NamedTuple):
    """Holds encoder states h̄ (text, frame, width), which are present, bool (text, frame), W_a h̄, and the state that the
    decoder begins with, (layer, text, units)."""

    states: Tensor
    present: Tensor
    keys: Tensor
    begin: Tensor

    def pick(self, rows: Tensor) -> Memory:
        """Returns that of these texts, int64 (row,)."""
        return Memory(self.states[rows], self.present[rows], self.keys[rows], self.begin[:, rows])


class State(NamedTuple):
    """Holds the decoder's LSTM, hidden and cell, (layer, row, units), the text that a row writes, int64 (row,), and the
    memory of each row."""

    hidden: Tensor
    cell: Tensor
    owner: Tensor
    memory: Memory


class AttentionRecogniser(Recogniser):
    """Writes a text with an LSTM and Luong's general score (Luong, Pham and Manning 2015):

    a_t(s) = softmax_s(d_tᵀ W_a h̄_s), c_t = Σ_s a_t(s) h̄_s, d̃_t = tanh(W_c [c_t; d_t]), p(y_t) = softmax(W_o d̃_t).
    The decoder begins with a map of the mean of h̄; it is not fed d̃. A subclass calls `add_decoder` once. settings:
    `beam` among them, the hypotheses of a text. attends: false gives every frame the same weight, c_t the mean of h̄.
    """

    attends: bool = True

    embedding: nn.Embedding
    begin: nn.Linear
    decoder: nn.LSTM
    keys: nn.Linear
    join: nn.Linear
    say: nn.Linear

    def add_decoder(self, units: int, *, layers: int = 1, dropout: float = 0.0) -> None:
        """Makes the decoder, of so many units as h̄ is wide, with weights from torch's own generator."""
        outputs = len(self.alphabet) + 1
        self.embedding = nn.Embedding(outputs + 1, units)  # the last one begins a text
        self.begin = nn.Linear(units, layers * units)
        self.decoder = nn.LSTM(units, units, layers, batch_first=True, dropout=dropout if layers > 1 else 0.0)
        if self.attends:
            self.keys = nn.Linear(units, units, bias=False)  # W_a
        self.join = nn.Linear(2 * units, units)  # W_c
        self.say = nn.Linear(units, outputs)  # W_o

    @abstractmethod
    def remember(self, crops: Crops) -> Memory:
        """Returns what the decoder attends to."""

    def memory_of(self, states: Tensor, present: Tensor) -> Memory:
        """Returns the memory of h̄ (text, frame, width) and of which are present, bool (text, frame)."""
        begin = self.begin(masked_mean(states, present)).tanh().unflatten(1, (self.decoder.num_layers, -1))
        keys = self.keys(states) if self.attends else states
        return Memory(states, present, keys, begin.transpose(0, 1).contiguous())

    def longest(self, memory: Memory) -> Tensor:
        """Returns how many symbols are written at most before the end, int64 (text,): one a frame."""
        return memory.present.sum(1)

    def spoken(self, decoded: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Returns ln p (text, step, symbol) and attention (text, step, frame) of states d (text, step, units)."""
        scores = decoded @ memory.keys.transpose(1, 2)
        shares = masked_softmax(scores if self.attends else torch.zeros_like(scores), memory.present.unsqueeze(1))
        joined = self.join(torch.cat([shares @ memory.states, decoded], 2)).tanh()
        return self.say(joined).log_softmax(2), shares

    def told(self, memory: Memory, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Returns ln p of each next symbol and attention, where the decoder is told the symbols so far, int64 (text,
        step), of which the first begins the text."""
        decoded, _ = self.decoder(self.embedding(tokens), (memory.begin, torch.zeros_like(memory.begin)))
        return self.spoken(decoded, memory)

    def nats(self, memory: Memory, symbols: Sequence[Sequence[int]]) -> Tensor:
        """Returns −ln p of each text with its end, (text,), where the decoder is told the true symbols so far."""
        whole, log_p, _ = self.taught(memory, symbols)
        written = torch.tensor([len(own) + 1 for own in symbols], device=whole.device)
        return -(log_p.gather(2, whole.unsqueeze(2)).squeeze(2) * present_steps(written, whole.shape[1])).sum(1)

    def taught(self, memory: Memory, symbols: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor, Tensor]:
        """Returns each text with its end, int64 (text, step), then ln p and attention as `told`, where the decoder is
        told the true symbols so far."""
        whole = pad_sequence([torch.tensor([*own, END]) for own in symbols], batch_first=True).to(memory.states.device)
        first = torch.full_like(whole[:, :1], self.embedding.num_embeddings - 1)
        return whole, *self.told(memory, torch.cat([first, whole[:, :-1]], 1))

    def losses(self, crops: Crops, texts: Sequence[str]) -> dict[str, Tensor]:
        """Returns decoder_loss, −ln p of each text over the number of its characters; the mean over the texts. Raises
        ValueError for a text of more symbols than are written at most."""
        symbols, memory = self.alphabet.encode(texts), self.remember(crops)
        refuse_longer(symbols, self.longest(memory).tolist())
        nats = self.nats(memory, symbols)
        return {"decoder_loss": (nats / torch.tensor([len(own) for own in symbols], device=nats.device)).mean()}

    def read(self, crops: Crops) -> list[Reading]:
        """Returns the text of the hypothesis of the beam with the best score, log p over its length as `beam` has it,
        and its probability; with `beam=1` each symbol is the most probable one. A text that is as long as may be and
        does not end there is a `CutReading`, whose probability is that of a text with this beginning."""
        memory = self.remember(crops)
        rules = Rules(self.embedding.num_embeddings - 1, END, self.longest(memory))
        said = self.ended(memory, beam(self, memory, rules, size=self.settings.beam))
        return [
            (Reading if own.finished else CutReading)(self.alphabet.decode(own.tokens.tolist()), math.exp(own.log_p))
            for own in said
        ]

    @torch.no_grad()
    def ended(self, memory: Memory, said: Sequence[Written]) -> list[Written]:
        """Returns what was written, where a text that is as long as may be ends, with its end in log p, if the end is
        the most probable next symbol."""
        ended = list(said)
        full = [row for row, own in enumerate(said) if not own.finished]
        if full:
            rows, symbols = torch.tensor(full, device=memory.states.device), [said[row].tokens.tolist() for row in full]
            _, log_p, _ = self.taught(memory.pick(rows), symbols)
            for row, own, ln in zip(full, symbols, log_p, strict=True):
                if int(ln[len(own)].argmax()) == END:
                    total = said[row].log_p + float(ln[len(own), END])
                    ended[row] = said[row]._replace(log_p=total, finished=True)
        return ended

    def start(self, memory: Memory) -> State:
        """Returns the state before the first symbol."""
        owner = torch.arange(len(memory.states), device=memory.states.device)
        return State(memory.begin, torch.zeros_like(memory.begin), owner, memory)

    def step(self, state: State, last: Tensor) -> tuple[Tensor, State]:
        """Returns ln p of the next symbol, (row, symbol), and the state after the last one."""
        decoded, (hidden, cell) = self.decoder(self.embedding(last.unsqueeze(1)), (state.hidden, state.cell))
        return self.spoken(decoded, state.memory)[0][:, 0], state._replace(hidden=hidden, cell=cell)

    def pick(self, state: State, rows: Tensor) -> State:
        """Returns the state of these rows; the memory is copied only where the texts change."""
        hidden, cell = (part[:, rows].contiguous() for part in (state.hidden, state.cell))
        owner = state.owner[rows]
        memory = state.memory if torch.equal(owner, state.owner) else state.memory.pick(rows)
        return State(hidden, cell, owner, memory)


def refuse_longer(texts: Sequence[Sequence[int]], longest: Sequence[int]) -> None:
    """Raises ValueError, naming the first, for a text of more symbols than are written at most: it could not be
    read."""
    for number, (symbols, most) in enumerate(zip(texts, longest, strict=True)):
        if len(symbols) > most:
            raise ValueError(
                f"text {number} has {len(symbols)} symbols, and of its image at most {most} are read; take wider "
                f"images, or a larger number of characters where one is set"
            )
