"""What helps a network that tags contracts, at a budget of about 100 seconds an arm: strict F1 on the validation part.

python benchmarks/document_small_budget.py      where PIPELINE_DATA_ROOT has kleister_nda

Every arm has two layers, a window of 128 tokens, no hidden words before, chunks of 512 tokens, and 400 updates of 2048
tokens. Chunks without an entity are learned from with a probability of a quarter. The test part is not looked at.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from data.documents.kleister import KleisterNda
from data.pages import Document, Documents
from models.documents.chunks import Chunk, Reading
from models.documents.network import Architecture, DocumentNetwork, network_over
from models.documents.objective import Prepared, ReadingObjective
from models.documents.predictor import DocumentPredictor, tagged
from models.sequence.entities import Counts, entity_counts
from models.sequence.patterns import SlidingWindow
from models.sequence.vocabulary import Vocabulary

STEPS, RISING, TOKENS, RATE = 400, 40, 2048, 1e-3
PIECES, CHUNK, SHARED, LAYERS = 8192, 512, 64, 2
EMPTY = 0.25  # share of the chunks without an entity


class Arm(NamedTuple):
    """Says what an arm does: small letters, how many tokens on each side are mixed into each, whether pieces share
    spelling, α of the weights of tags, and dropout."""

    lower: bool
    adjacent: int
    spelling: bool = False
    power: float = 0.5
    dropout: float = 0.1


ARMS = {
    "small letters": Arm(lower=True, adjacent=0),
    "capitals kept": Arm(lower=False, adjacent=0),
    "capitals kept, two neighbours mixed in": Arm(lower=False, adjacent=2),
    "capitals kept, four neighbours mixed in": Arm(lower=False, adjacent=4),
    "the same, shared spelling": Arm(lower=False, adjacent=4, spelling=True),
    "the same, equal weights": Arm(lower=False, adjacent=4, spelling=True, power=0.0),
    "the same but for weights, dropout 0.3": Arm(lower=False, adjacent=4, spelling=True, dropout=0.3),
}
REPEATED = 0.3  # of the places of the same words, from which on all are tagged


def reading_of(data: Documents, *, lower: bool) -> Reading:
    texts = [" ".join(document.words) for document in data.parts["train"]]
    vocabulary = Vocabulary.train([f" {text.lower() if lower else text}" for text in texts], pieces=PIECES)
    return Reading(vocabulary, (SlidingWindow(128),), LAYERS, CHUNK, SHARED, lower, 0)


def learned_chunks(data: Documents, reading: Reading) -> list[Prepared]:
    """Returns the chunks of the training part with an entity, and some of the others."""
    number, chance = {tag: place for place, tag in enumerate(data.tags)}, np.random.default_rng(0)
    chunks = [
        chunk.document
        for document in data.parts["train"]
        for chunk in reading.chunks(document, torch.tensor([number[tag] for tag in document.tags]))
    ]
    return [own for own in chunks if own.targets.any() or chance.random() < EMPTY]


def network_of(arm: Arm, reading: Reading, outputs: int) -> DocumentNetwork:
    architecture = Architecture(
        reading.vocabulary.size, layers=LAYERS, longest=CHUNK, outputs=outputs, dropout=arm.dropout,
        adjacent=arm.adjacent, spelling=arm.spelling,
    )  # fmt: skip
    torch.manual_seed(0)
    return network_over(reading.vocabulary, architecture, seed=0)


def pace(step: int) -> float:
    """Returns the share of the largest learning rate: it rises, then falls to 0."""
    return min((step + 1) / RISING, (STEPS - step) / (STEPS - RISING))


def steps_of(objective: ReadingObjective) -> Iterator[int]:
    """Trains, and yields the number of each update."""
    optimizer = torch.optim.AdamW(objective.model.parameters(), lr=RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, pace)
    chance, step = torch.Generator().manual_seed(0), 0
    while step < STEPS:
        for batch in objective.batches(chance):
            objective.model.train()
            optimizer.zero_grad()
            loss = objective.loss(batch)
            (loss.total / loss.weight).backward()
            nn.utils.clip_grad_norm_(objective.model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            step += 1
            yield step
            if step == STEPS:
                return


@torch.inference_mode()
def counts_of(predictor: DocumentPredictor, held: list[tuple[Document, list[Chunk]]]) -> Iterator[dict[str, Counts]]:
    """Yields the counts of places by themselves, and of those that decide together."""
    spreads = [predictor.joined(chunks) for _, chunks in held]
    for least in (None, REPEATED):
        found = [
            tagged(predictor.outputs, own, document.words, least).labels
            for (document, _), own in zip(held, spreads, strict=True)
        ]
        yield entity_counts([document.tags for document, _ in held], found)


def rows_of(name: str, arm: Arm, data: Documents) -> Iterator[str]:
    """Yields a row of the table halfway and at the end."""
    reading = reading_of(data, lower=arm.lower)
    learned = learned_chunks(data, reading)
    held = [(document, reading.chunks(document)) for document in data.parts["validation"]]
    network = network_of(arm, reading, len(data.tags))
    objective = ReadingObjective(network, learned, tokens=TOKENS, head="tags", power=arm.power)
    start = time.process_time()
    for step in steps_of(objective):
        if step % (STEPS // 2) == 0:
            counts, together = counts_of(DocumentPredictor(network.eval(), reading, "tags", data.tags), held)
            kinds = ", ".join(f"{kind} {own.f1 or 0:.3f}" for kind, own in counts.items())
            scores = " | ".join(f"{sum(own.values(), Counts()).f1 or 0:.3f}" for own in (counts, together))
            yield f"| {name} | {step} | {scores} | {kinds} | {time.process_time() - start:.0f} |"


def main() -> None:
    torch.set_num_threads(1)
    data = KleisterNda(source="published").load()
    print(
        "| arm | updates | F1, validation | places together | of kinds | seconds |\n|---|---|---|---|---|---|",
        flush=True,
    )
    for name, arm in ARMS.items():
        for row in rows_of(name, arm, data):
            print(row, flush=True)


if __name__ == "__main__":
    main()
