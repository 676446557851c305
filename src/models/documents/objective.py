"""What a network that reads documents minimises: classes or tags, and tokens that are hidden from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from models.documents.network import DocumentNetwork
from models.documents.tokens import PageTokens, joined_tokens
from models.runtime.collectives import rank, world
from models.runtime.objective import Loss, no_loss
from models.sequence.masking import Hidden, Masking, hide
from models.sequence.paired import PairedPlan
from models.sequence.plans import PackedPlan, Plan

Plans = tuple[Plan | PackedPlan | PairedPlan, ...]


class Prepared(NamedTuple):
    """Holds a document that is ready to be read.

    tokens: of this document alone. plans: one for all layers, or one each. targets: int64, the class, (1,), or the tag
    of each word, (word,); empty where there is none. weight: how much the class counts, for a chunk 1 / the number of
    chunks of its document.
    """

    tokens: PageTokens
    plans: Plans
    targets: Tensor
    weight: float = 1.0


class Batch(NamedTuple):
    """Holds documents end to end, and the plans and targets of all of them."""

    tokens: PageTokens
    plans: list[Any]
    targets: Tensor


def batch_of(documents: Sequence[Prepared], device: torch.device) -> Batch:
    """Returns these documents as a batch."""
    by_layer: Any = zip(*(document.plans for document in documents), strict=True)
    plans = [type(layer[0]).joined(layer).to(device) for layer in by_layer]
    targets = torch.cat([document.targets for document in documents])
    return Batch(joined_tokens([document.tokens for document in documents]).to(device), plans, targets.to(device))


def refuse_longer(lengths: Sequence[int], most: int) -> None:
    """Raises ValueError for a document of more tokens than a batch may have."""
    row = max(range(len(lengths)), key=lambda place: lengths[place])
    if lengths[row] > most:
        raise ValueError(
            f"document {row} has {lengths[row]} tokens, and a batch may have {most}; allow more, or cut it"
        )


def drawn_batches(lengths: Sequence[int], most: int, generator: torch.Generator) -> list[list[int]]:
    """Returns the documents of each batch of an epoch, in a random order: as many as have `most` tokens together.

    Raises ValueError for a document that is longer alone.
    """
    refuse_longer(lengths, most)
    batches, there = [[]], 0
    for row in torch.randperm(len(lengths), generator=generator).tolist():
        if there + lengths[row] > most:
            batches.append([])
            there = 0
        batches[-1].append(row)
        there += lengths[row]
    return batches


def class_weights(targets: Tensor, outputs: int, power: float, counted: Tensor | None = None) -> Tensor:
    """Returns w_c ∝ (N / (C n_c))^power for the n_c of N targets that are c, float64 (class,); their mean over the
    targets is 1. A class that never occurs has a weight of 0. counted: as how many each target counts in n_c and N,
    float64 (target,), as one if None."""
    counts = torch.bincount(targets, counted, minlength=outputs).double()
    weights = torch.where(counts > 0, (counts.sum() / (outputs * counts.clamp(min=1))) ** power, 0.0)
    return weights * counts.sum() / (weights * counts).sum()


class DocumentObjective:
    """Is a mean loss over documents end to end, an `Objective` of the gradient loop.

    tokens: of a batch at most. Of several processes each takes every so many-th document of a batch. Raises ValueError
    without a document, and for one that is longer than a batch may be.
    """

    def __init__(self, model: DocumentNetwork, documents: Sequence[Prepared], *, tokens: int) -> None:
        if not documents:
            raise ValueError("there is no document to learn from")
        self.model, self.documents, self.tokens = model, documents, tokens
        self._lengths = [len(document.tokens.ids) for document in documents]
        refuse_longer(self._lengths, tokens)

    def parameters(self) -> list[nn.Parameter]:
        """Returns those that the gradient trains."""
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]

    @property
    def device(self) -> torch.device:
        """Returns where the network is."""
        return next(self.model.parameters()).device

    def tokens_in(self, rows: Sequence[int]) -> int:
        """Returns how many tokens these documents have."""
        return sum(self._lengths[row] for row in rows)


class ReadingObjective(DocumentObjective):
    """Is the weighted cross-entropy of classes, or of tags, with the weights taken out of what the network says.

    Weights w_c multiply the odds of the classes: the minimum of Σ w_c (−log q_c) is at q_c ∝ w_c p(c) (Elkan 2001, The
    foundations of cost-sensitive learning, section 2). So q is the softmax of logits + log w here. Rare classes count
    more while they are learned, and the softmax of the logits alone has the odds of the documents. The chunks of a
    document count as one class together, in w and in the loss, however few chunks a batch holds. head: "classes" or
    "tags". power: α of `class_weights`, 0 for equal weights. Raises ValueError for another head.
    """

    def __init__(
        self, model: DocumentNetwork, documents: Sequence[Prepared], *, tokens: int, head: str, power: float = 0.0
    ) -> None:
        super().__init__(model, documents, tokens=tokens)
        if head not in ("classes", "tags"):
            raise ValueError(f"head must be classes or tags, got {head!r}")
        self.head, every = head, torch.cat([document.targets for document in documents])
        self.counted = torch.tensor([own.weight for own in documents], dtype=torch.float64)
        counted = self.counted if head == "classes" else None
        self.weights = class_weights(every, model.architecture.outputs, power, counted)

    def on(self, documents: Sequence[Prepared]) -> ReadingObjective:
        """Returns the same loss, with the same weights of classes or tags, over other documents."""
        longest = max((len(document.tokens.ids) for document in documents), default=0)
        other = ReadingObjective(self.model, documents, tokens=max(self.tokens, longest), head=self.head)
        other.weights = self.weights
        return other

    def batches(self, generator: torch.Generator) -> Iterator[list[int]]:
        """Yields the documents of each batch of an epoch."""
        yield from drawn_batches(self._lengths, self.tokens, generator)

    def loss(self, batch: list[int]) -> Loss:
        """Returns Σ w_c (−log q_c) over the targets of a batch, and what this is divided by: the number of tags; or of
        classes, where each chunk counts by its weight, the number of chunks by their mean weight in all documents. So
        steps of few chunks keep the weights of these, and over all batches it is the sum of the weights."""
        rows = batch[rank() :: world()]
        if not rows:
            return no_loss(self.parameters())
        tokens, plans, targets = batch_of([self.documents[row] for row in rows], self.device)
        logits = getattr(self.model, self.head)(tokens, plans)
        weights = self.weights.to(logits)
        logits = logits + weights.masked_fill(weights == 0, 1).log()  # a class that never occurs is learned to be rare
        if self.head == "tags":
            return Loss(nn.functional.cross_entropy(logits, targets, weights, reduction="sum"), float(len(targets)))
        losses = nn.functional.cross_entropy(logits, targets, weights, reduction="none")
        counted = self.counted[rows].to(logits)
        return Loss((losses * counted).sum(), len(rows) * float(self.counted.mean()))


class GuessingBatch(NamedTuple):
    """Holds some documents, and the tokens of each as the network sees them."""

    rows: list[int]
    hidden: list[Hidden]


class Guesses(NamedTuple):
    """Holds logits of hidden tokens, (hidden, vocabulary), and the tokens that are hidden, int64 (hidden,)."""

    logits: Tensor
    hidden: Tensor

    @property
    def loss(self) -> Loss:
        """Returns Σ (−log p) of the hidden tokens, in nats, with their number."""
        return Loss(nn.functional.cross_entropy(self.logits, self.hidden, reduction="sum"), float(len(self.hidden)))

    @property
    def right(self) -> Tensor:
        """Returns how many hidden tokens have the largest logit, a whole number."""
        return (self.logits.argmax(1) == self.hidden).sum()


class GuessingObjective(DocumentObjective):
    """Is the cross-entropy of tokens that are hidden, anew in each epoch (masked language model, Devlin et al. 2019).

    masking: how they are hidden. once: they are drawn once, under a seed that is always the same, and stay.
    """

    def __init__(
        self, model: DocumentNetwork, documents: Sequence[Prepared], *, tokens: int, masking: Masking,
        once: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(model, documents, tokens=tokens)
        self.masking = masking
        chance = torch.Generator().manual_seed(0)
        self.drawn = [self.hidden(row, chance) for row in range(len(documents))] if once else None

    def hidden(self, row: int, chance: torch.Generator) -> Hidden:
        """Returns what is hidden of a document, as the generator draws it."""
        tokens = self.documents[row].tokens
        return hide(tokens.ids, tokens.words, self.masking, chance)

    def batches(self, generator: torch.Generator) -> Iterator[GuessingBatch]:
        """Yields the documents of each batch of an epoch with what is hidden of them."""
        for rows in drawn_batches(self._lengths, self.tokens, generator):
            yield GuessingBatch(rows, [self.drawn[row] if self.drawn else self.hidden(row, generator) for row in rows])

    def guesses(self, batch: GuessingBatch) -> Guesses | None:
        """Returns what the network says of the hidden tokens of a batch; None where this process has none of them."""
        mine = slice(rank(), None, world())
        rows, hidden = batch.rows[mine], batch.hidden[mine]
        guessed = torch.cat([each.guessed for each in hidden]).to(self.device) if hidden else torch.zeros(0)
        if not guessed.any():
            return None
        tokens, plans, _ = batch_of([self.documents[row] for row in rows], self.device)
        seen = torch.cat([each.tokens for each in hidden]).to(self.device)
        return Guesses(self.model.guesses(tokens._replace(ids=seen), plans, guessed), tokens.ids[guessed])

    def loss(self, batch: GuessingBatch) -> Loss:
        """Returns Σ (−log p) over the hidden tokens of a batch, with their number."""
        said = self.guesses(batch)
        return no_loss(self.parameters()) if said is None else said.loss
