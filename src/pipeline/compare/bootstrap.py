"""Arms compared over test cases that are drawn again and again (bootstrap): intervals and paired differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pandas as pd

from pipeline.compare import statistics
from pipeline.compare.claims import ALPHA, Claim, of_seeds, verdict

DRAWS, SEED = 4000, 0
AT_ONCE = 256  # samples that an error is found of: a detector's takes an array of samples × boxes, several times
CLAIMED = (
    "Claims, of the thesis and of this project: *arm* has a lower error than *against*. Here p is adjusted by Holm "
    "over the claims of a set alone."
)


def draws_for(arms: int) -> int:
    """Returns how many bootstrap samples tell the pairs of so many arms: `DRAWS`, of 100 pairs and more 80 a pair. p is
    at least 2 / draws where every draw has a value, and Holm's adjustment multiplies the least one by the number of
    pairs."""
    pairs = comb(arms, 2)
    return DRAWS if pairs * 2 / DRAWS < ALPHA else 80 * pairs


def drawn_weights(count: int, draws: int = DRAWS, *, at_once: int = DRAWS) -> Iterator[np.ndarray]:
    """Yields how often each of so many cases is drawn in each bootstrap sample, (draw, case), at most `at_once` samples
    at a time. Fewer samples are the first of more, however many come at a time."""
    counts = drawn_counts(count, draws)
    for first in range(0, draws, at_once):
        yield counts[first : first + at_once].astype(float)


@lru_cache(maxsize=1)
def drawn_counts(count: int, draws: int) -> np.ndarray:
    """Returns what `drawn_weights` yields as whole numbers, (draw, case), in as few bytes as they need. They are kept
    for the next arm or job, as drawing them takes longer than finding most errors."""
    generator, counts = np.random.default_rng(SEED), np.empty((draws, count), np.min_scalar_type(count))
    for first in range(0, draws, AT_ONCE):
        part = counts[first : first + AT_ONCE]
        part[:] = generator.multinomial(count, np.full(count, 1 / count), size=len(part))
    counts.flags.writeable = False
    return counts


def shares_of(seeds: Sequence[int], draws: int = DRAWS) -> np.ndarray:
    """Returns the share of each job in each sample, (draw, job): as many seeds as there are, drawn with replacement.
    Arms with the same seeds have the same draws, and a simple model without a seed is one job that is in every
    sample."""
    count = max(1, len(seeds))
    generator = np.random.default_rng([SEED, count, *seeds])
    return generator.multinomial(count, np.full(count, 1 / count), size=draws) / count


def mean_of(errors: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Returns the mean of the errors (draw, job) of the jobs that are drawn, (draw,)."""
    return np.where(shares > 0, shares * errors, 0.0).sum(1)


def over_draws(error: Callable[[np.ndarray], np.ndarray], count: int, draws: int) -> tuple[float, np.ndarray]:
    """Returns an error over all of so many cases, and over drawn ones, (draw,). error: of weights (draw, case), of
    which it gets few at a time."""
    blocks = drawn_weights(count, draws, at_once=AT_ONCE)
    found = np.concatenate([error(np.concatenate([np.ones((1, count)), next(blocks)])), *map(error, blocks)])
    return float(found[0]), found[1:]


def rates(faults: np.ndarray, of: np.ndarray, draws: int = DRAWS) -> tuple[float, np.ndarray]:
    """Returns the rate of faults over all cases in %, and over drawn ones, (draw,); NaN where nothing is counted.

    faults, of: how many faults each case has, and of how many, (case,).
    """

    def rate(weights: np.ndarray) -> np.ndarray:
        found, counted = weights @ faults.astype(float), weights @ of.astype(float)
        return 100 * np.divide(found, counted, out=np.full(len(counted), np.nan), where=counted > 0)

    return over_draws(rate, len(of), draws)


def interval(drawn: np.ndarray) -> tuple[float, float]:
    """Returns the ends of the 95 % interval of what was drawn; draws without a value are left out, and where none has
    one both are NaN."""
    if not np.isfinite(drawn).any():
        return float("nan"), float("nan")
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def paired_arms(whole: Mapping[str, float], drawn: Mapping[str, np.ndarray], *, stand_in: bool) -> Any:
    """Returns a row a pair of arms: the difference of their errors, with its interval, p and a verdict.

    whole: the error of each arm over all cases. drawn: its errors over the samples, the same for all arms, (draw,).
    stand_in: as of `paired_rows`.
    """
    return paired_rows(list(combinations(whole, 2)), whole, drawn, stand_in=stand_in)


def paired_rows(
    pairs: Sequence[tuple[str, str]],
    whole: Mapping[str, float],
    drawn: Mapping[str, np.ndarray],
    *,
    stand_in: bool,
) -> Any:
    """Returns the rows of some pairs of arms, the second of each as `arm`, with p adjusted by Holm over these pairs.
    stand_in: the data are generated in place of real ones and give no claim."""
    rows = [{"arm": second, "against": first, "difference": whole[second] - whole[first],
             **difference_of(drawn[second] - drawn[first])} for first, second in pairs]  # fmt: skip
    table = pd.DataFrame(rows)
    if not rows:
        return table
    return with_verdicts(table.assign(p_holm=statistics.holm(table["p"].to_numpy())), stand_in=stand_in)


def claimed_rows(
    claims: Sequence[Claim], whole: Mapping[str, float], drawn: Mapping[str, np.ndarray], *, stand_in: bool
) -> Any:
    """Returns a row a claim, with p adjusted by Holm over the claims; empty where none can be made. whole, drawn: as of
    `paired_arms`."""
    table = paired_rows([(own.against, own.challenger) for own in claims], whole, drawn, stand_in=stand_in)
    table.insert(0, "claim", [own.words for own in claims])
    table.insert(1, "whose", [own.whose for own in claims])
    return table


def difference_of(differences: np.ndarray) -> dict[str, float]:
    """Returns the interval of drawn differences, and p: twice the smaller share of either sign, of n draws with a value
    at least 2 / n. Draws without a value are left out of both; where none has one, p is 1."""
    known = differences[np.isfinite(differences)]
    if not len(known):
        return {"low": float("nan"), "high": float("nan"), "p": 1.0}
    low, high = interval(known)
    sides = np.mean(known <= 0), np.mean(known >= 0)
    return {"low": low, "high": high, "p": min(1.0, 2 * max(float(min(sides)), 1 / len(known)))}


def with_verdicts(table: Any, *, stand_in: bool) -> Any:
    """Returns pairs with whether the claim holds that `arm` has a lower error than `against`, by Holm's p and the
    interval."""
    sure = table["p_holm"] < ALPHA
    lower, higher = sure & (table["high"] < 0), sure & (table["low"] > 0)
    said = [
        verdict(supported=own, contradicted=other, stand_in=stand_in) for own, other in zip(lower, higher, strict=True)
    ]
    return table.assign(verdict=said)


def of_enough_seeds(table: Any, counts: Mapping[str, int]) -> Any:
    """Returns pairs of arms, undecided where one of the two has one or two seeds. counts: how many seeds each arm has;
    0 of a simple model, which hangs on none."""
    if not len(table):
        return table
    fewest = [min((counts[arm] for arm in pair if counts[arm]), default=0)
              for pair in zip(table["arm"], table["against"], strict=True)]  # fmt: skip
    return table.assign(verdict=list(map(of_seeds, table["verdict"], fewest)))
