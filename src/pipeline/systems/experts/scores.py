"""Translations of arms beside each other: BLEU of both, and a paired test."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from data.text_pairs import ENGLISH
from models.experts.scores import FEWEST, resampled, score_of, statistics

DRAWS, SEED = 10_000, 12345  # of the bootstrap; p is at least 2/10,001, which Holm's adjustment can still decide with
SENTENCE = ["task", "source", "reference"]
NO_BLEU = "BLEU is missing where it is undefined: no reference of the task has four words."


def paired_bleu(against: Any, challenger: Any) -> dict[str, float]:
    """Returns BLEU of two tables of translations of the same sentences, in the same order, and the two-sided p of the
    paired bootstrap (Koehn 2004) that one is better than the other.

    The tables have the columns task, source, reference and translation, with the rows of all seeds. What is drawn is an
    English sentence, with all of its rows: other seeds and other tasks translate the same one, and are no more
    sentences for that. p is NaN below `FEWEST` sentences, as intervals are, and where BLEU is undefined. Raises
    ValueError for tables of other sentences.
    """
    if against[SENTENCE].to_numpy().tolist() != challenger[SENTENCE].to_numpy().tolist():
        raise ValueError("translations of other sentences cannot be compared; give both arms the same data and seeds")
    tables = [by_sentence(own) for own in (against, challenger)]
    first, second = resampled("bleu", tables, draws=DRAWS, seed=SEED)
    decided = len(tables[0]) >= FEWEST and not np.isnan(first).any()
    worse, better = ((first >= second).sum(), (first <= second).sum())
    return {
        "translations": len(against), "sentences": len(tables[0]), "bleu_against": score_of("bleu", tables[0].sum(0)),
        "bleu_challenger": score_of("bleu", tables[1].sum(0)), "draws": DRAWS,
        "p": min(1.0, 2 * (min(int(worse), int(better)) + 1) / (DRAWS + 1)) if decided else math.nan,
    }  # fmt: skip


def by_sentence(translations: Any) -> np.ndarray:
    """Returns what BLEU counts, summed over the translations of each sentence, float64 (sentence, count)."""
    counts = statistics("bleu", translations["translation"].tolist(), translations["reference"].tolist())
    numbers, texts = pd.factorize(english_of(translations))
    sums = np.zeros((len(texts), counts.shape[1]))
    np.add.at(sums, numbers, counts)
    return sums


def english_of(translations: Any) -> Any:
    """Returns the English side of each translation, that of the source where no side is English."""
    into = translations["task"].str.endswith(f"-{ENGLISH}")
    return translations["reference"].where(into, translations["source"])
