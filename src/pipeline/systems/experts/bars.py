"""What translators have to beat on the test part: simple translations, scored once for all runs on the same data."""

from __future__ import annotations

import json

from tqdm import tqdm

from data.text_pairs import Pairs, TextPairs
from models.experts.baselines import NearestSentence, WordDictionary, copied
from models.experts.scores import scores_of
from pipeline.job.shared import made_once
from pipeline.systems.experts.config import ExpertsConfig

COPY, NEAREST, WORDS = BARS = ("copy", "nearest", "words")
FILE = "bars.json"
VERSION = 3  # of the simple translations and their scores, raised where the same texts have others


def scored_bars(settings: ExpertsConfig, data: TextPairs) -> dict[str, float]:
    """Returns BLEU and chrF of the simple translations by the names of metrics, as bleu_nearest_de-en, with the ends of
    their intervals, as bleu_low_nearest_de-en. What they learn from is the training part of the task alone."""
    text = made_once(
        "bars", data.checksum, FILE, lambda: json.dumps(of_all_tasks(data), indent=2) + "\n", version=VERSION,
        kept=settings.tracking.enabled,
    )  # fmt: skip
    return json.loads(text)


def of_all_tasks(data: TextPairs) -> dict[str, float]:
    """Returns the scores of all tasks, without ends of intervals that few sentences do not have, and without BLEU
    where it is undefined."""
    found = {}
    for task, train, test in zip(data.tasks, data.parts["train"], data.parts["test"], strict=True):
        tqdm.write(f"evaluate: {', '.join(BARS)} of {task.name}")
        for name, scores in of_task(train, test).items():
            found |= {f"{score}_{name}_{task.name}": value for score, value in scores.items() if value == value}
    return found


def of_task(train: Pairs, test: Pairs) -> dict[str, dict[str, float]]:
    """Returns the scores of each of `BARS`."""
    texts, references = zip(*test, strict=True)
    nearest, words = NearestSentence(train), WordDictionary(train)
    translations = {COPY: copied(texts), NEAREST: nearest.translate(texts), WORDS: words.translate(texts)}
    return {name: scores_of(own, references) for name, own in translations.items()}
