"""BLEU and chrF of translations by sacrebleu, with bootstrap intervals over sentences, and a paired test."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

SAMPLES, TESTED = 300, 1000  # of the bootstrap, for intervals and for tests
EVEN = 0.025  # of the samples below an interval of 95 %, and above
INSTALL = 'pip install "orthogonal-psrnn[text]"'


@cache
def metrics() -> dict[str, Any]:
    """Returns BLEU with the tokens of 13a and chrF (Post 2018; Popović 2015). Raises ImportError, which says how to
    install them, without the package sacrebleu."""
    try:
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF
    except ImportError as error:
        raise ImportError(f"scores of translations need sacrebleu; install it with: {INSTALL}") from error
    return {"bleu": BLEU(), "chrf": CHRF()}


def bleu_of(found: Sequence[str], references: Sequence[str]) -> float:
    """Returns BLEU of translations, 0 to 100."""
    return float(metrics()["bleu"].corpus_score(list(found), [list(references)]).score)


def counted(name: str, found: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """Returns what the score of that name counts in each sentence, float64 (sentence, count)."""
    return np.array(metrics()[name]._extract_corpus_statistics(list(found), [list(references)]), np.float64)


def score_of(name: str, counts: np.ndarray) -> float:
    """Returns the score of sums of counts (count,)."""
    return float(metrics()[name]._compute_score_from_stats(counts.tolist()).score)


def resampled(name: str, tables: Sequence[np.ndarray], samples: int) -> np.ndarray:
    """Returns scores (table, sample) of sentences drawn with replacement, the same for all tables of counts, always
    by the same draws."""
    generator, size = np.random.default_rng(12345), len(tables[0])
    scores = np.empty((len(tables), samples))
    for sample in range(samples):
        times = np.bincount(generator.integers(size, size=size), minlength=size).astype(np.float64)
        scores[:, sample] = [score_of(name, times @ counts) for counts in tables]
    return scores


def scored(found: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Returns bleu and chrf, each with the ends of its 95 % bootstrap interval, bleu_low and bleu_high."""
    values: dict[str, float] = {}
    for name in metrics():
        counts = counted(name, found, references)
        low, high = np.quantile(resampled(name, [counts], SAMPLES)[0], [EVEN, 1 - EVEN])
        values |= {name: score_of(name, counts.sum(0)), f"{name}_low": float(low), f"{name}_high": float(high)}
    return values


def paired_bleu(against: Any, challenger: Any) -> dict[str, float]:
    """Returns BLEU of two tables of translations of the same sentences, in the same order, and the two-sided p of the
    paired bootstrap (Koehn 2004) that one is better than the other.

    Raises ValueError for tables of other sentences.
    """
    references = against["reference"].tolist()
    if references != challenger["reference"].tolist():
        raise ValueError("translations of other sentences cannot be compared; give both arms the same data and seeds")
    tables = [counted("bleu", own["translation"].tolist(), references) for own in (against, challenger)]
    first, second = resampled("bleu", tables, TESTED)
    worse, better = ((first >= second).sum(), (first <= second).sum())
    return {
        "sentences": len(references), "bleu_against": score_of("bleu", tables[0].sum(0)),
        "bleu_challenger": score_of("bleu", tables[1].sum(0)),
        "p": min(1.0, 2 * (min(int(worse), int(better)) + 1) / (TESTED + 1)),
    }  # fmt: skip
