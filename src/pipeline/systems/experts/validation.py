"""What is measured on the validation part after each epoch."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from data.base import spread
from data.text_pairs import Task, TextPairs
from models.experts.network import TranslationNetwork
from models.experts.objective import EncodedPairs, Measured, measure
from models.experts.predictor import texts_of
from models.experts.scores import corpus_score
from models.experts.search import Search, translate
from models.experts.shares import Shares, shares_of
from models.sequence.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Validation:
    """Measures a network on the validation part of the data.

    pairs: the part as numbers. sentences: of a task that are translated, greedily; 0 for none.
    """

    data: TextPairs
    vocabulary: Vocabulary
    pairs: EncodedPairs
    sentences: int

    def values(self, network: TranslationNetwork) -> dict[str, float]:
        """Returns validation, the mean over tasks of −log p of a target token in nats; nll_<task>, that of a task;
        bleu_<task> and bleu, their mean; and how tokens are shared among experts."""
        found = measure(network, self.pairs)
        values = {"validation": found.mean}
        values |= {f"nll_{self.data.tasks[task].name}": nats for task, nats in found.nats.items()}
        return values | self.bleu(network) | of_shares(found)

    def bleu(self, network: TranslationNetwork) -> dict[str, float]:
        """Returns BLEU of greedy translations by task, and their mean, without tasks of which it is undefined."""
        if not self.sentences:
            return {}
        every = {task.name: self.of_task(network, place, task) for place, task in enumerate(self.data.tasks)}
        own = {f"bleu_{name}": score for name, score in every.items() if score == score}
        return own | {"bleu": sum(own.values()) / len(own)} if own else {}

    def of_task(self, network: TranslationNetwork, place: int, task: Task) -> float:
        rows = (self.pairs.task == place).nonzero().squeeze(1)
        rows = rows[torch.tensor(spread(len(rows), self.sentences))]
        few = self.pairs.take(rows)
        written = translate(network, few.source, few.task, Search(self.vocabulary.first))
        pairs = self.data.pairs("validation", task)
        first = int((self.pairs.task < place).sum())
        return corpus_score(
            "bleu", texts_of(self.vocabulary, written), [pairs[row - first][1] for row in rows.tolist()]
        )


def of_shares(found: Measured) -> dict[str, float]:
    """Returns balance_entropy_<layer> of experts, and over all layers the largest share of one and how many have less
    than a fifth of their even share; nothing of a network without."""
    shares = {name: shares_of(counts) for name, counts in found.counts.items() if not name.endswith(".adapter")}
    return summary_of(shares)


def summary_of(shares: dict[str, Shares]) -> dict[str, float]:
    if not shares:
        return {}
    own = {f"balance_entropy_{name}": one.entropy for name, one in shares.items()}
    largest, starved = max(one.largest for one in shares.values()), sum(one.starved for one in shares.values())
    return own | {"largest_share": largest, "starved": starved}
