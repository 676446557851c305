"""How well a network guesses hidden tokens of whole documents, whatever the chunks in which it reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from models.documents.chunks import Chunk, owners_of, rows_of, word_counts
from models.documents.network import DocumentNetwork
from models.documents.objective import GuessingBatch, GuessingObjective
from models.documents.tokens import PageTokens
from models.runtime.objective import no_loss
from models.sequence.masking import Hidden, Masking, hide

NO_LIMIT = 2**62  # tokens of a batch


def hidden_in(
    chunks: Sequence[Chunk], tokens: PageTokens, masking: Masking, generator: torch.Generator
) -> list[Hidden]:
    """Returns what is hidden in each chunk of one document.

    It is drawn once, over the tokens of the document. Each hidden token is guessed once, in the chunk that says what
    its word is, see `models.documents.chunks.owners_of`; where chunks overlap, it is hidden in the other one too.
    """
    drawn, found = hide(tokens.ids, tokens.words, masking, generator), list[Hidden]()
    owners = torch.from_numpy(owners_of([chunk.stretch for chunk in chunks], word_counts(tokens)))
    for number, (stretch, _) in enumerate(chunks):
        rows = rows_of(tokens, stretch)
        here = owners[tokens.words[rows]] == number  # of the first token, which is never hidden, it does not matter
        found.append(Hidden(drawn.tokens[rows], drawn.guessed[rows] & here))
    return found


class GuessScores(NamedTuple):
    """Holds Σ (−log p) over hidden tokens, in nats, how many these are, and how many of them are guessed right: the
    piece that is hidden has the largest probability."""

    total: Tensor
    weight: float
    right: int


@torch.no_grad()
def guess_scores(
    network: DocumentNetwork, chunks: Sequence[Chunk], hidden: Sequence[Hidden], masking: Masking
) -> GuessScores:
    """Returns how well a network guesses the hidden tokens of one document.

    chunks: of the document, as its reading gives them. hidden: in each, as `hidden_in` gives it.
    """
    objective = GuessingObjective(network, [own.document for own in chunks], tokens=NO_LIMIT, masking=masking)
    found = [scores_in(objective, GuessingBatch([row], [own])) for row, own in enumerate(hidden)]
    total = torch.stack([own.total for own in found]).sum()
    return GuessScores(total, sum(own.weight for own in found), sum(own.right for own in found))


def scores_in(objective: GuessingObjective, batch: GuessingBatch) -> GuessScores:
    """Returns how well the network of an objective guesses the hidden tokens of a batch, which may have none."""
    said = objective.guesses(batch)
    if said is None:
        return GuessScores(no_loss(objective.parameters()).total, 0.0, 0)
    return GuessScores(said.loss.total, float(len(said.hidden)), int(said.right))
