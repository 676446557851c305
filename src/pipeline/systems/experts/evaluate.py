"""The stage that scores the test parts, once, by the network that is kept."""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd
from tqdm import tqdm

from data.text_pairs import ENGLISH, TextPairs
from models.experts.network import TranslationNetwork, size_of
from models.experts.objective import Measured, measure
from models.experts.predictor import Translation, TranslationPredictor, cut_in_words
from models.experts.scores import scores_of
from models.experts.shares import shares_of
from models.sequence.vocabulary import Vocabulary
from pipeline.systems.experts.arms import tag_of
from pipeline.systems.experts.config import ExpertsConfig
from pipeline.systems.experts.load import Encoded
from pipeline.systems.experts.validation import of_shares

TEST = "test"
SCORES = ("nll", "bleu", "chrf")
ENDS = ("bleu_low", "bleu_high", "chrf_low", "chrf_high")


class Evaluated(NamedTuple):
    """Holds what a network does on the test parts.

    scores: a row per part and task, with nats for each target token, BLEU and chrF. translations: a row per sentence.
    measured: of the test part. metrics: by their names.
    """

    scores: pd.DataFrame
    translations: pd.DataFrame
    measured: Measured
    metrics: dict[str, float]


def predictor_of(
    settings: ExpertsConfig, network: TranslationNetwork, data: TextPairs, vocabulary: Vocabulary
) -> TranslationPredictor:
    """Returns what translates sentences of the tasks of the data."""
    return TranslationPredictor(
        network, vocabulary, tuple((task.source, task.target) for task in data.tasks), tag_of(settings),
        settings.vocabulary.longest, settings.decode.beam, settings.decode.penalty,
    )  # fmt: skip


def evaluate(predictor: TranslationPredictor, data: TextPairs, encoded: Encoded) -> Evaluated:
    """Returns translations and scores of the test part, and of further ones."""
    translations, rows, found = list[pd.DataFrame](), list[dict[str, Any]](), dict[str, Measured]()
    for part in data.tests:
        pairs = encoded.parts[part]
        if not pairs.count:
            continue
        found[part] = measure(predictor.network, pairs)
        written = translated(predictor, data, part)
        translations.append(written)
        rows += [row | {"part": part} for row in task_rows(written, data, found[part])]
    scores: Any = pd.DataFrame(rows)
    scores = scores[["part", *scores.columns.drop("part")]]
    metrics = metrics_of(scores, found[TEST])
    return Evaluated(scores, pd.concat(translations, ignore_index=True), found[TEST], metrics)


def translated(predictor: TranslationPredictor, data: TextPairs, part: str) -> pd.DataFrame:
    """Returns a row per sentence of a part: part, task, source, reference, translation, score, truncated, finished.
    Says once how many texts and translations were cut."""
    tables, written = [], list[Translation]()
    for place, (task, pairs) in enumerate(zip(data.tasks, data.parts[part], strict=True)):
        if not pairs:
            continue
        tqdm.write(f"evaluate: {part}, {task.name}, {len(pairs)} sentences")
        texts, references = zip(*pairs, strict=True)
        found = predictor.translate(texts, [place] * len(texts))
        written += found
        front = {"part": part, "task": task.name, "source": texts, "reference": references}
        back = pd.DataFrame(found).rename(columns={"text": "translation"})
        tables.append(pd.concat([pd.DataFrame(front), back], axis=1))
    if cut := cut_in_words(written, predictor.longest):
        tqdm.write(f"evaluate: {part}, {cut}")
    return pd.concat(tables, ignore_index=True)


def task_rows(written: pd.DataFrame, data: TextPairs, measured: Measured) -> list[dict[str, Any]]:
    """Returns a row per task of a part: its scores."""
    rows = []
    for name, own in written.groupby("task", sort=False):
        place = [task.name for task in data.tasks].index(str(name))
        front = {"task": name, "pairs": len(own), "nll": measured.nats[place]}
        rows.append(front | scores_of(own["translation"].tolist(), own["reference"].tolist()))
    return rows


def metrics_of(scores: Any, measured: Measured) -> dict[str, float]:
    """Returns the scores by the names of metrics, and how tokens are shared among experts and adapters. What is
    not defined is left out: ends of intervals of few sentences, and BLEU of tasks without four words in a reference,
    also from means over tasks."""
    metrics: dict[str, float] = {}
    for row in scores.to_dict("records"):
        suffix = row["task"] if row["part"] == TEST else f"{row['part']}_{row['task']}"
        names = (*SCORES, *ENDS) if row["part"] == TEST else SCORES
        metrics |= {f"{name}_{suffix}": row[name] for name in names if name == "nll" or row[name] == row[name]}
    test = scores[scores["part"] == TEST]
    into, out_of = test["task"].str.endswith(f"-{ENGLISH}"), test["task"].str.startswith(f"{ENGLISH}-")
    for name, own in {"xe": test[into], "ex": test[out_of]}.items():
        metrics |= {f"{score}_{name}": own[score].mean() for score in ("bleu", "chrf") if own[score].notna().any()}
    metrics |= {"test_error": test["nll"].mean(), **of_shares(measured)}
    informations = [
        shares_of(counts).information for name, counts in measured.counts.items() if name.endswith(".adapter")
    ]
    if informations:
        metrics["adapter_information"] = sum(informations) / len(informations)
    return metrics


def sizes_of(network: TranslationNetwork) -> dict[str, float]:
    """Returns how many parameters the network has, and how many of them a token meets."""
    size = size_of(network)
    return {"parameters": size.total, "parameters_active": size.active}
