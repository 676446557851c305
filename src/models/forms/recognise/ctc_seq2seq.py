"""CTC-Seq2Seq: patches, a bidirectional LSTM with CTC, and an LSTM that attends to it and writes the text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from models.forms.images import Crops
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.patches import GROUP, PatchFeatures
from models.forms.recognise.recogniser import Reading, Recogniser
from models.ranges import Count, Share
from models.runtime.parameters import one_of, whole_number
from models.runtime.seeding import drawn
from models.sequence.ctc import ctc_losses
from models.sequence.decoding import Rules, beam
from models.sequence.masks import masked_mean, masked_softmax, present_steps
from models.sequence.recurrent import BidirectionalLSTM

END = 0  # of a text; also CTC's blank
NORMALISE = ("characters", "patches")


@dataclass(frozen=True, kw_only=True)
class CTCSeq2Seq:
    """`recogniser=ctc_seq2seq`.

    height: that images are brought to, in pixels. patch, step: width of a patch and from one to the next, in pixels.
    channels: of the first layer, which looks at patches; the others have 2 and 4 times as many. units: of the LSTMs.
    encoder_layers, decoder_layers: how many of them. ctc_share: λ of L = λ L_CTC + (1 − λ) L_decoder. normalise: by
    what the loss of a text is divided, the number of its "characters" or of its "patches". beam: hypotheses. dropout:
    between layers.
    Raises TypeError and ValueError for others.
    """

    height: Count = 32
    patch: Count = 8
    step: Count = 4
    channels: Count = 32
    units: Count = 96
    encoder_layers: Count = 4
    decoder_layers: Count = 4
    ctc_share: Share = 0.2
    normalise: str = "characters"
    beam: Count = 1
    dropout: Share = 0.0

    def __post_init__(self) -> None:
        for name in ("height", "patch", "step", "channels", "units", "encoder_layers", "decoder_layers", "beam"):
            whole_number(name, getattr(self, name))
        if self.height % 8 or self.patch % 8 or self.channels % GROUP or self.step > self.patch:
            raise ValueError(
                f"height={self.height} and patch={self.patch} must be multiples of 8, channels={self.channels} one of "
                f"{GROUP}, and step={self.step} at most patch"
            )
        if not 0 <= self.ctc_share <= 1:
            raise ValueError(f"ctc_share must lie from 0 to 1, got {self.ctc_share}")
        one_of("normalise", self.normalise, NORMALISE)

    def network(self, alphabet: Alphabet, *, seed: int = 0) -> CTCSeq2SeqNetwork:
        """Returns the network, with first weights drawn by that seed."""
        with drawn(seed, "forms/ctc_seq2seq"):
            return CTCSeq2SeqNetwork(self, alphabet)


class Memory(NamedTuple):
    """Holds encoder states h̄ (text, patch, width), which are present, bool (text, patch), W_a h̄, and the state that the
    decoder begins with, (layer, text, units)."""

    states: Tensor
    present: Tensor
    keys: Tensor
    begin: Tensor


class State(NamedTuple):
    """Holds the decoder's LSTM, hidden and cell, (layer, text, units), and the rows of the memory, int64 (text,)."""

    hidden: Tensor
    cell: Tensor
    rows: Tensor
    memory: Memory


class CTCSeq2SeqNetwork(Recogniser):
    """Reads a text symbol by symbol, with Luong's general score (Luong, Pham and Manning 2015):

    a_t(s) = softmax_s(d_tᵀ W_a h̄_s), c_t = Σ_s a_t(s) h̄_s, d̃_t = tanh(W_c [c_t; d_t]), p(y_t) = softmax(W_o d̃_t).
    The decoder begins with a map of the mean of h̄; it is not fed d̃.
    """

    def __init__(self, settings: CTCSeq2Seq, alphabet: Alphabet) -> None:
        super().__init__()
        self.settings, self.alphabet = settings, alphabet
        own, outputs = settings, len(alphabet) + 1
        widths = [own.channels, 2 * own.channels, 4 * own.channels]
        self.features = PatchFeatures(widths, height=own.height, width=own.units, patch=own.patch, step=own.step)
        self.encoder = BidirectionalLSTM(own.units, own.units, layers=own.encoder_layers, dropout=own.dropout)
        self.say_frames = nn.Linear(own.units, outputs)
        self.embedding = nn.Embedding(outputs + 1, own.units)  # the last one begins a text
        self.begin = nn.Linear(own.units, own.decoder_layers * own.units)
        dropout = own.dropout if own.decoder_layers > 1 else 0.0
        self.decoder = nn.LSTM(own.units, own.units, own.decoder_layers, batch_first=True, dropout=dropout)
        self.keys = nn.Linear(own.units, own.units, bias=False)  # W_a
        self.join = nn.Linear(2 * own.units, own.units)  # W_c
        self.say = nn.Linear(own.units, outputs)  # W_o

    def remember(self, crops: Crops) -> Memory:
        """Returns what the decoder attends to."""
        seen = self.features(crops)
        states, present = self.encoder(seen), seen.present
        mean = masked_mean(states, present)
        begin = self.begin(mean).tanh().unflatten(1, (self.settings.decoder_layers, -1)).transpose(0, 1)
        return Memory(states, present, self.keys(states), begin.contiguous())

    def spoken(self, decoded: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Returns ln p (text, step, symbol) and attention (text, step, patch) of states d (text, step, units)."""
        shares = masked_softmax(decoded @ memory.keys.transpose(1, 2), memory.present.unsqueeze(1))
        joined = self.join(torch.cat([shares @ memory.states, decoded], 2)).tanh()
        return self.say(joined).log_softmax(2), shares

    def told(self, memory: Memory, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Returns ln p of each next symbol and attention, where the decoder is told the symbols so far, int64 (text,
        step), of which the first begins the text."""
        decoded, _ = self.decoder(self.embedding(tokens), (memory.begin, torch.zeros_like(memory.begin)))
        return self.spoken(decoded, memory)

    def losses(self, crops: Crops, texts: Sequence[str]) -> dict[str, Tensor]:
        """Returns λ times ctc_loss and 1 − λ times decoder_loss, −ln p of each text over its characters, or patches;
        the mean over the texts."""
        symbols, memory = self.alphabet.encode(texts), self.remember(crops)
        share, device, patches = self.settings.ctc_share, memory.states.device, memory.present.sum(1)
        whole = pad_sequence([torch.tensor([*own, END]) for own in symbols], batch_first=True).to(device)
        lengths = torch.tensor([len(own) for own in symbols], device=device)
        by = lengths if self.settings.normalise == "characters" else patches
        first = torch.full_like(whole[:, :1], len(self.alphabet) + 1)
        log_p, _ = self.told(memory, torch.cat([first, whole[:, :-1]], 1))
        each = log_p.gather(2, whole.unsqueeze(2)).squeeze(2) * present_steps(lengths + 1, whole.shape[1])
        found = {"decoder_loss": (1 - share) * (-each.sum(1) / by).mean()}
        if share:
            frames = self.say_frames(memory.states).log_softmax(2)
            found["ctc_loss"] = share * (ctc_losses(frames, patches, symbols) / by).mean()
        return found

    def read(self, crops: Crops) -> list[Reading]:
        """Returns the text of the most probable hypothesis of the beam, and its probability."""
        memory = self.remember(crops)
        rules = Rules(len(self.alphabet) + 1, END, memory.present.sum(1) + 1)
        said = beam(self, memory, rules, size=self.settings.beam)
        return [Reading(self.alphabet.decode(own.tokens.tolist()), math.exp(own.log_p)) for own in said]

    def start(self, memory: Memory) -> State:
        """Returns the state before the first symbol."""
        rows = torch.arange(len(memory.states), device=memory.states.device)
        return State(memory.begin, torch.zeros_like(memory.begin), rows, memory)

    def step(self, state: State, last: Tensor) -> tuple[Tensor, State]:
        """Returns ln p of the next symbol, (row, symbol), and the state after the last one."""
        decoded, (hidden, cell) = self.decoder(self.embedding(last.unsqueeze(1)), (state.hidden, state.cell))
        states, present, keys = (part[state.rows] for part in state.memory[:3])
        own = state.memory._replace(states=states, present=present, keys=keys)
        return self.spoken(decoded, own)[0][:, 0], State(hidden, cell, state.rows, state.memory)

    def pick(self, state: State, rows: Tensor) -> State:
        """Returns the state of these rows."""
        hidden, cell = (part[:, rows].contiguous() for part in (state.hidden, state.cell))
        return State(hidden, cell, state.rows[rows], state.memory)
