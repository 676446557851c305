"""Which experts each token meets, and with which weights."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from models.sequence.packing import Places

MASK, FACTORS = 0x7FFFFFFF, (0x45D9F3B, 0x2C1B3C6D, 0x297A2D39)


class About(NamedTuple):
    """Holds what layers know about tokens.

    ids, steps, sentence: of each token, its number in the vocabulary, its place and its sentence, int64 (token,). task:
    int64 (sentence,). places: of the tokens; None for one token of each sentence while decoding. summary: what a
    sentence router reads, (sentence, width), None in the encoder, where it is the mean of the layer's own tokens.
    table: the embeddings of the tasks, (task, embedding), None where nothing reads them. tasks: how many there are.
    """

    ids: Tensor
    steps: Tensor
    sentence: Tensor
    task: Tensor
    places: Places | None
    summary: Tensor | None
    table: Tensor | None
    tasks: int

    @property
    def token_task(self) -> Tensor:
        """Returns the task of each token, int64 (token,)."""
        return self.task.index_select(0, self.sentence)


class Routed(NamedTuple):
    """Holds choices, int64 (token, K), the best first; their weights (token, K); and the gates that they were made
    from, the probability of each expert, (token, N), None for a router that does not learn."""

    choice: Tensor
    weight: Tensor
    gates: Tensor | None

    @property
    def balance(self) -> Tensor | None:
        """Returns N Σ_i f_i P_i, with f_i the share of tokens whose first choice is i, which has no gradient, and P_i
        the mean of gate i over all tokens (Lepikhin et al. 2021); 1 where both are even, N where all is one expert.

        None without gates or without tokens.
        """
        if self.gates is None or not len(self.gates):
            return None
        count = self.gates.shape[1]
        shares = torch.bincount(self.choice[:, 0], minlength=count).to(self.gates.dtype) / len(self.gates)
        return count * (shares * self.gates.mean(0)).sum()


class Gate(nn.Module):
    """Is a router that learns: g = softmax(W [x; e_τ]), thesis 3.60 and 3.61, the `top` largest are met.

    Their weights are g_i where one is met, so that the gate has a gradient, else g_i / Σ_j g_j over those met. whole:
    x is not the token but what its sentence has in common: all its tokens meet the same experts. table: numbers of
    e_τ, 0 to leave it out. The weights begin small, so that gates begin even.
    """

    def __init__(self, width: int, count: int, top: int, *, table: int = 0, whole: bool = False) -> None:
        super().__init__()
        self.top, self.whole = top, whole
        self.weight = nn.Parameter(torch.randn(count, width) * (0.1 / width**0.5))
        self.by_task = nn.Parameter(torch.randn(count, table) * (0.1 / table**0.5)) if table else None

    def forward(self, tokens: Tensor, about: About) -> Routed:
        """Returns the choices for tokens (token, width)."""
        gates = self._scores(tokens, about).softmax(1)
        weight, choice = gates.topk(self.top, 1)
        if self.top > 1:
            weight = weight / weight.sum(1, keepdim=True)
        routed = Routed(choice, weight, gates)
        return (
            Routed(*(part.index_select(0, about.sentence) for part in (choice, weight, gates)))
            if self.whole
            else routed
        )

    def _scores(self, tokens: Tensor, about: About) -> Tensor:
        read = summary_of(tokens, about) if self.whole else tokens
        scores = read @ self.weight.T
        if self.by_task is None:
            return scores
        if about.table is None:
            raise ValueError("a gate that reads the task needs the embeddings of tasks")
        task = about.task if self.whole else about.token_task
        return scores + (about.table @ self.by_task.T).index_select(0, task)


def summary_of(tokens: Tensor, about: About) -> Tensor:
    """Returns what the tokens of each sentence have in common, (sentence, width)."""
    if about.summary is not None:
        return about.summary
    if about.places is None:
        raise ValueError("a sentence router needs a source: the tokens of whole sentences, or their summary")
    return about.places.means(tokens)


class Hash(nn.Module):
    """Is a router that gives each number of the vocabulary experts once and for all (Roller et al. 2021), with weights
    of 1/K. salt: another one for each layer."""

    def __init__(self, count: int, top: int, *, salt: int) -> None:
        super().__init__()
        self.count, self.top, self.salt = count, top, salt

    def forward(self, tokens: Tensor, about: About) -> Routed:
        """Returns the choices for tokens (token, width)."""
        return evenly(hashed_choice(about.ids, self.salt, self.count, self.top), tokens)


class Random(nn.Module):
    """Is a router without any sense, with weights of 1/K: experts are drawn for each token, anew at every pass while
    training, from torch's global generator as dropout is. `draws` says so: who trains it sets that generator at each
    step, so that a training that goes on draws the same.

    Outside training the draw hangs on the token's number and place alone, so that a sentence is translated in the same
    way whatever else is in the batch, and token by token as at once. salt: another one for each layer.
    """

    draws = True

    def __init__(self, count: int, top: int, *, salt: int) -> None:
        super().__init__()
        self.count, self.top, self.salt = count, top, salt

    def forward(self, tokens: Tensor, about: About) -> Routed:
        """Returns the choices for tokens (token, width)."""
        if self.training:
            keys = torch.randint(MASK, about.ids.shape).to(tokens.device)
        else:
            keys = scrambled(about.ids + scrambled(about.steps, 1), 2)
        return evenly(hashed_choice(keys, self.salt, self.count, self.top), tokens)


class ByTask(nn.Module):
    """Is a router that gives the tokens of task τ the one expert τ mod N, with the weight 1."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def forward(self, tokens: Tensor, about: About) -> Routed:
        """Returns the choices for tokens (token, width)."""
        return evenly((about.token_task % self.count).unsqueeze(1), tokens)


def evenly(choice: Tensor, tokens: Tensor) -> Routed:
    """Returns choices (token, K) with weights of 1/K, without gates."""
    return Routed(choice, tokens.new_full(choice.shape, 1 / choice.shape[1]), None)


def scrambled(values: Tensor, salt: int) -> Tensor:
    """Returns numbers of 31 bits that look drawn, the same for the same values and salt, on every machine."""
    found = (values & MASK) ^ (salt * FACTORS[2] & MASK)
    for factor in FACTORS:
        found = ((found ^ (found >> 15)) * factor) & MASK
    return found ^ (found >> 13)


def hashed_choice(keys: Tensor, salt: int, count: int, top: int) -> Tensor:
    """Returns `top` different experts for each key (token,), int64 (token, top): those of the largest hashes."""
    experts = torch.arange(count, device=keys.device)
    hashes = scrambled(scrambled(keys, salt).unsqueeze(1) + 7919 * experts, salt + 1)
    return hashes.topk(top, 1).indices
