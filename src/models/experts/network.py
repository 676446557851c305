"""The translator's network: encoder, decoder, and how it writes token by token."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from models.experts.adapters import Adapters
from models.experts.arms import EMBEDDING, LEARNED, Adapting, Mixing
from models.experts.mixture import Mixture, StackedExperts
from models.experts.routers import About, ByTask, Gate, Hash, Random
from models.runtime.seeding import derived, drawn
from models.sequence.attention import KeyValues
from models.sequence.layers import DecoderLayer, EncoderLayer, FeedForward, Memory, Setting
from models.sequence.ledger import Ledger
from models.sequence.packing import Places
from models.sequence.positions import sinusoids


@dataclass(frozen=True)
class Architecture:
    """Says what a network is made of.

    vocabulary: how many numbers tokens may have. tasks: how many pairs of languages. width: of a token. heads: of
    attention. hidden: of one feed-forward network or expert. layers: of the encoder, and of the decoder. dropout: of
    embeddings and of what each part of a layer adds. mixing, adapting: the arm. Raises ValueError for what cannot be.
    """

    vocabulary: int
    tasks: int
    width: int = 96
    heads: int = 4
    hidden: int = 192
    layers: int = 2
    dropout: float = 0.1
    mixing: Mixing = field(default_factory=Mixing)
    adapting: Adapting = field(default_factory=Adapting)

    def __post_init__(self) -> None:
        for name in ("vocabulary", "tasks", "width", "hidden", "layers"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.heads < 1 or self.width % self.heads or self.width % 2:
            raise ValueError(f"width must be even and a multiple of heads, got {self.width} and {self.heads}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {self.dropout}")
        if self.adapting.kind == "shared" and self.mixing.router not in LEARNED:
            raise ValueError(f"adapter shared needs router {' or '.join(LEARNED)}, got {self.mixing.router}")
        self.mixing.check_layers(self.layers)
        self.adapting.adapters(self.tasks)


class Sentences(NamedTuple):
    """Holds tokens of sentences end to end, int64 (token,), and their places."""

    ids: Tensor
    places: Places


class Encoded(NamedTuple):
    """Holds what the encoder makes of sources: states (token, width) at their places, the mean of each sentence
    (sentence, width), and its task, int64 (sentence,)."""

    states: Tensor
    places: Places
    summary: Tensor
    task: Tensor


class State(NamedTuple):
    """Holds hypotheses that are being written, a row each.

    owner: the sentence that a row translates, int64 (row,). memory, past: of each decoder layer, what it attends to,
    and its keys and values of the tokens before, None at the first. step: how many tokens there are. task, summary: of
    the sentence.
    """

    owner: Tensor
    memory: tuple[Memory, ...]
    past: tuple[KeyValues | None, ...]
    step: int
    task: Tensor
    summary: Tensor


class TranslationNetwork(nn.Module):
    """Is one transformer for all tasks, pre-norm, with the arm's experts and adapters in every layer of encoder and
    decoder, and one embedding for source, target and output.

    First weights are drawn for each part from a generator of its own, so arms that share a part begin with the same
    weights there. It is a `models.sequence.decoding.Writer`; its memory is what `encode` returns.
    """

    def __init__(self, architecture: Architecture, *, seed: int) -> None:
        super().__init__()
        own = self.architecture = architecture
        with drawn(seed, "experts/embedding"):
            self.embedding = nn.Parameter(torch.randn(own.vocabulary, own.width) * own.width**-0.5)
        with drawn(seed, "experts/tasks"):
            self.table = nn.Parameter(torch.randn(own.tasks, EMBEDDING)) if own.adapting.learned else None
        self.encoder, self.decoder = (
            nn.ModuleList(self._layer(side, place, seed) for place in range(own.layers))
            for side in (EncoderLayer, DecoderLayer)
        )
        self.encoder_adapters, self.decoder_adapters = (
            nn.ModuleList(
                self._adapters(side, place, seed) for place in range(own.layers if own.adapting.kind != "none" else 0)
            )
            for side in ("encoder", "decoder")
        )
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(own.width), nn.LayerNorm(own.width)
        self.dropout = nn.Dropout(own.dropout)

    def _layer(self, kind: type[EncoderLayer] | type[DecoderLayer], place: int, seed: int) -> nn.Module:
        own, name = self.architecture, f"{'encoder' if kind is EncoderLayer else 'decoder'}/{place}"
        with drawn(seed, f"experts/{name}/feed_forward"):
            part = feed_forward(own, place, salt=derived(0, name) % 2**31)
        with drawn(seed, f"experts/{name}/attention"):
            return kind(own.width, own.heads, part, dropout=own.dropout)

    def _adapters(self, side: str, place: int, seed: int) -> Adapters:
        own = self.architecture
        count = own.adapting.adapters(own.tasks)
        with drawn(seed, f"experts/{side}/{place}/adapter_gate"):
            router = Gate(own.width, count, 1, table=EMBEDDING) if own.adapting.learned else ByTask(count)
        with drawn(seed, f"experts/{side}/{place}/adapters"):
            return Adapters(router, StackedExperts(count, own.width, own.adapting.hidden, start="nothing"))

    def encode(self, source: Sentences, task: Tensor, ledger: Ledger) -> Encoded:
        """Returns the states of source sentences of these tasks, int64 (sentence,)."""
        places = source.places
        about = self._about(source.ids, places, task, None)
        tokens = self.dropout(self._embedded(source.ids, places.step, places.steps))
        bias = places.bias()
        for place, layer in enumerate(self.encoder):
            own = ledger.under(f"encoder.{place}")
            tokens = layer(tokens, Setting(places, about, own, bias))
            tokens = adapted(self.encoder_adapters, place, tokens, about, own)
        tokens = self.encoder_norm(tokens)
        return Encoded(tokens, places, places.means(tokens), task)

    def decode(self, memory: Encoded, target: Sentences, ledger: Ledger) -> Tensor:
        """Returns the hidden vectors (token, width) from which the token after each of `target` is written; no vector
        depends on a later token."""
        places = target.places
        about = self._about(target.ids, places, memory.task, memory.summary)
        tokens = self.dropout(self._embedded(target.ids, places.step, places.steps))
        for place, (layer, attended) in enumerate(zip(self.decoder, self._memories(memory), strict=True)):
            own = ledger.under(f"decoder.{place}")
            tokens = layer(tokens, Setting(places, about, own), attended)
            tokens = adapted(self.decoder_adapters, place, tokens, about, own)
        return self.decoder_norm(tokens)

    def start(self, memory: Encoded) -> State:
        """Returns the state before the first token, a row for each sentence."""
        owner = torch.arange(len(memory.task), device=memory.task.device)
        return State(owner, self._memories(memory), (None,) * len(self.decoder), 0, memory.task, memory.summary)

    def step(self, state: State, last: Tensor) -> tuple[Tensor, State]:
        """Returns log p of the next token, (row, vocabulary), after the last one of each row, and the state with it."""
        steps, rows = torch.full_like(last, state.step), torch.arange(len(last), device=last.device)
        about = About(last, steps, rows, state.task, None, state.summary, self.table, self.architecture.tasks)
        tokens, past, ledger = self._embedded(last, steps, state.step + 1), list[KeyValues | None](), Ledger()
        layers: list[Any] = list(self.decoder)
        for place, layer in enumerate(layers):
            own = ledger.under(f"decoder.{place}")
            tokens, known = layer.step(tokens, Setting(None, about, own), state.memory[place], state.past[place])
            tokens = adapted(self.decoder_adapters, place, tokens, about, own)
            past.append(known)
        log_p = (self.decoder_norm(tokens) @ self.embedding.T).log_softmax(1)
        return log_p, state._replace(past=tuple(past), step=state.step + 1)

    def pick(self, state: State, rows: Tensor) -> State:
        """Returns the state of these rows; what they attend to is copied only where the sentences change."""
        owner, memory = state.owner[rows], state.memory
        if not torch.equal(owner, state.owner):
            memory = tuple(each.pick(rows) for each in memory)
        past = tuple(None if each is None else each.pick(rows) for each in state.past)
        return State(owner, memory, past, state.step, state.task[rows], state.summary[rows])

    def _about(self, ids: Tensor, places: Places, task: Tensor, summary: Tensor | None) -> About:
        return About(ids, places.step, places.sequence, task, places, summary, self.table, self.architecture.tasks)

    def _embedded(self, ids: Tensor, steps: Tensor, count: int) -> Tensor:
        """Returns √d E[id] + position for each token, (token, width)."""
        width, table = self.architecture.width, self.embedding
        positions = sinusoids(torch.arange(count, device=ids.device), width, table.dtype)
        return nn.functional.embedding(ids, table) * width**0.5 + positions.index_select(0, steps)

    def _memories(self, memory: Encoded) -> tuple[Memory, ...]:
        bias = memory.places.bias()
        attentions: list[Any] = [layer.cross for layer in self.decoder]
        return tuple(Memory(own.keys_of(memory.states, memory.places), bias) for own in attentions)


def adapted(adapters: nn.ModuleList, place: int, tokens: Tensor, about: About, ledger: Ledger) -> Tensor:
    """Returns the tokens behind the adapters of a layer, as they are where there are none."""
    return adapters[place](tokens, about, ledger.under("adapter")) if len(adapters) else tokens


def feed_forward(own: Architecture, place: int, *, salt: int) -> nn.Module:
    """Returns the feed-forward part of a layer, from 0."""
    mixing = own.mixing
    if not mixing.mixture_at(place):
        return FeedForward(own.width, mixing.hidden(own.hidden))
    experts = StackedExperts(mixing.count, own.width, own.hidden, start=mixing.start)
    return Mixture(router_of(own, salt), experts, capacity=mixing.capacity)


def router_of(own: Architecture, salt: int) -> nn.Module:
    """Returns the router of a mixture."""
    mixing = own.mixing
    if mixing.router == "task":
        return ByTask(mixing.count)
    if mixing.router in ("hash", "random"):
        return (Hash if mixing.router == "hash" else Random)(mixing.count, mixing.top, salt=salt)
    table = EMBEDDING if own.adapting.kind == "shared" else 0
    return Gate(own.width, mixing.count, mixing.top, table=table, whole=mixing.router == "sentence")


class Size(NamedTuple):
    """Holds numbers of parameters: of all, and of those that one token meets."""

    total: int
    active: int


def size_of(model: TranslationNetwork) -> Size:
    """Returns how many parameters a network has."""
    total, unmet = sum(parameter.numel() for parameter in model.parameters()), 0
    for part in model.modules():
        if isinstance(part, (Mixture, Adapters)):
            met = 1 if isinstance(part, Adapters) else model.architecture.mixing.met
            unmet += part.experts.size * (part.experts.count - met)
    return Size(total, total - unmet)
