"""Translations of arms beside each other: BLEU of both, and a paired test."""

from __future__ import annotations

from typing import Any

from models.experts.scores import resampled, score_of, statistics

DRAWS, SEED = 1000, 12345  # of the bootstrap


def paired_bleu(against: Any, challenger: Any) -> dict[str, float]:
    """Returns BLEU of two tables of translations of the same sentences, in the same order, and the two-sided p of the
    paired bootstrap (Koehn 2004) that one is better than the other.

    Raises ValueError for tables of other sentences.
    """
    references = against["reference"].tolist()
    if references != challenger["reference"].tolist():
        raise ValueError("translations of other sentences cannot be compared; give both arms the same data and seeds")
    tables = [statistics("bleu", own["translation"].tolist(), references) for own in (against, challenger)]
    first, second = resampled("bleu", tables, draws=DRAWS, seed=SEED)
    worse, better = ((first >= second).sum(), (first <= second).sum())
    return {
        "sentences": len(references), "bleu_against": score_of("bleu", tables[0].sum(0)),
        "bleu_challenger": score_of("bleu", tables[1].sum(0)),
        "p": min(1.0, 2 * (min(int(worse), int(better)) + 1) / (DRAWS + 1)),
    }  # fmt: skip
