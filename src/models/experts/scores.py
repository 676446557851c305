"""BLEU and chrF of translations by sacrebleu, with bootstrap intervals over sentences, and paired differences."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

INSTALL = "pip install -c constraints.txt -e '.[text]'"
BLOCK = 2**16  # numbers of sentences that are drawn at once, so that they stay in the cache
EVEN = 0.025  # of the draws below an interval of 95 %, and above
ORDER = 4  # words of the longest sequences that BLEU counts
UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai and Lao, Burmese, Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9d"  # radicals, marks like 々, kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af])"  # ideographs
)  # characters of writing without spaces between words
FEWEST = 8  # sentences, below which there is no interval: draws of so few are all alike


@cache
def metrics() -> dict[str, Any]:
    """Returns BLEU with the tokens of 13a (Post 2018) and chrF (Popović 2015) by their names. Raises ImportError, which
    says how to install them, without the package sacrebleu."""
    try:
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF
    except ImportError as error:
        raise ImportError(f"scores of translations need sacrebleu; install it with: {INSTALL}") from error
    return {"bleu": BLEU(), "chrf": CHRF()}


def statistics(name: str, found: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """Returns what the score "bleu" or "chrf" counts in each sentence, float64 (sentence, count).

    Each character of `UNSPACED`, as Chinese, Japanese and Thai have them, is a word of BLEU. Where no reference has
    four words BLEU is undefined, and all counts are NaN. Raises ValueError for no sentences,
    and for unequal numbers of them.
    """
    if len(found) != len(references) or not len(found):
        raise ValueError(f"each translation needs its reference; got {len(found)} and {len(references)}")
    texts = [spaced(own) if name == "bleu" else list(own) for own in (found, references)]
    counts = np.array(metrics()[name]._extract_corpus_statistics(texts[0], [texts[1]]), np.float64)
    undefined = name == "bleu" and counts[:, 1].max() < ORDER
    return np.full_like(counts, math.nan) if undefined else counts


def spaced(texts: Sequence[str]) -> list[str]:
    """Returns texts with spaces around each character of writing without spaces between words; others as they are."""
    return [UNSPACED.sub(r" \1 ", text) for text in texts]


def score_of(name: str, counts: np.ndarray) -> float:
    """Returns the score, 0 to 100, of statistics that were summed over sentences, (count,); NaN of NaN."""
    if np.isnan(counts).any():
        return math.nan
    return float(metrics()[name]._compute_score_from_stats(counts.tolist()).score)


def corpus_score(name: str, found: Sequence[str], references: Sequence[str]) -> float:
    """Returns the score of translations, 0 to 100; BLEU is NaN where no reference has four words. Raises as
    `statistics`."""
    return score_of(name, statistics(name, found, references).sum(0))


def resampled(name: str, tables: Sequence[np.ndarray], *, draws: int, seed: int) -> np.ndarray:
    """Returns scores (table, draw) of sentences drawn with replacement, the same draws for all tables (Koehn 2004)."""
    generator, size = np.random.default_rng(seed), len(tables[0])
    scores, block = np.empty((len(tables), draws)), max(1, BLOCK // size)
    for first in range(0, draws, block):
        times = times_drawn(generator, min(block, draws - first), size)
        scores[:, first : first + block] = [scores_at(name, times @ counts) for counts in tables]
    return scores


def times_drawn(generator: np.random.Generator, draws: int, size: int) -> np.ndarray:
    """Returns how often each of so many sentences is drawn, float64 (draw, sentence)."""
    places = generator.integers(size, size=(draws, size)) + size * np.arange(draws)[:, None]
    return np.bincount(places.ravel(), minlength=draws * size).reshape(draws, size).astype(np.float64)


def scores_at(name: str, sums: np.ndarray) -> np.ndarray:
    """Returns the score of each row of summed statistics, (draw,)."""
    return bleu_of(sums) if name == "bleu" else np.array([score_of(name, row) for row in sums])


def bleu_of(sums: np.ndarray) -> np.ndarray:
    """Returns BLEU of each row of summed statistics, (draw, 10) to (draw,), as `score_of` gives it: the geometric mean
    of the precisions of 1 to 4 words, where the k-th of them without a match counts 1/2^k, times the brevity."""
    found, wanted, (correct, total) = sums[:, 0], sums[:, 1], np.split(sums[:, 2:], 2, axis=1)
    scored = correct.any(1) & total.all(1)
    matched = np.where(correct > 0, correct, 0.5 ** (correct == 0).cumsum(1))
    logs = np.log(matched / np.maximum(total, 1)).mean(1)
    brevity = np.minimum(1 - wanted / np.maximum(found, 1), 0)
    return np.where(scored, 100 * np.exp(logs + brevity), 0.0)


def scores_of(
    found: Sequence[str], references: Sequence[str], *, draws: int = 300, seed: int = 12345
) -> dict[str, float]:
    """Returns bleu and chrf of translations, each with the ends of its bootstrap interval of 95 %: bleu_low, bleu_high,
    which are NaN below `FEWEST` sentences. bleu is NaN, with its ends, where no reference has four words.

    Raises as `statistics`.
    """
    values = dict[str, float]()
    for name in metrics():
        counts = statistics(name, found, references)
        low, high = ends_of(resampled(name, [counts], draws=draws, seed=seed)[0], len(counts))
        values |= {name: score_of(name, counts.sum(0)), f"{name}_low": low, f"{name}_high": high}
    return values


def ends_of(draws: np.ndarray, sentences: int) -> tuple[float, float]:
    """Returns the ends of the 95 % interval of percentiles over draws (draw,) of sentences; NaN below `FEWEST` of
    them."""
    if sentences < FEWEST:
        return math.nan, math.nan
    low, high = np.quantile(draws, [EVEN, 1 - EVEN])
    return float(low), float(high)


class Difference(NamedTuple):
    """Holds the score of a challenger less that of another, and the ends of its interval of 95 %, NaN below `FEWEST`
    sentences."""

    value: float
    low: float
    high: float


def difference(
    name: str, other: Sequence[str], challenger: Sequence[str], references: Sequence[str], *, draws: int = 1000,
    seed: int = 12345,
) -> Difference:  # fmt: skip
    """Returns by how much the challenger's translations of the same sentences score above the other's, with an interval
    from draws of sentences that both share. Raises as `statistics`."""
    tables = [statistics(name, own, references) for own in (other, challenger)]
    first, second = resampled(name, tables, draws=draws, seed=seed)
    value = score_of(name, tables[1].sum(0)) - score_of(name, tables[0].sum(0))
    return Difference(value, *ends_of(second - first, len(references)))
