"""How often intervals of the ratio of two errors along a test period cover 1, where both arms are equally good.

    PYTHONPATH=src python benchmarks/window_intervals.py

The periods are those of ETTh1: windows of 96, 192 and 336 hours begin on 117, 113 and 107 days. The two arms are
independent. The error of a day is log-normal, its log an AR(1) process from day to day; that of a window is the mean of
its days. Prints a Markdown table: the share of periods whose 95 % interval covers 1, and with p below 0.05, for batch
means as `pipeline.compare.blocks` has them and for percentiles of a circular block bootstrap.
"""

from __future__ import annotations

import argparse

import numpy as np

from pipeline.compare.blocks import ratio_along, stretches
from pipeline.compare.claims import ALPHA
from pipeline.compare.statistics import CONFIDENCE
from pipeline.compare.windows import block_of

DAY = 24
PLACES = {96: 117, 192: 113, 336: 107}  # days on which windows of so many hours begin
WINDOWS, LAST = 168, 7  # that begin on a day, over the seven columns, and on the last day
DEVIATION = 0.5  # of the log of the error of a day
BOOTSTRAPPED = 10_000


def errors_of_days(length: int, periods: int, correlation: float, generator: np.random.Generator) -> np.ndarray:
    """Returns the error of each day, (period, day)."""
    noise = generator.normal(size=(length, periods))
    for day in range(1, length):
        noise[day] = correlation * noise[day - 1] + (1 - correlation**2) ** 0.5 * noise[day]
    return np.exp(DEVIATION * noise.T)


def errors_of_windows(window: int, periods: int, correlation: float, generator: np.random.Generator) -> np.ndarray:
    """Returns the mean error of the windows that begin on each day, (period, place)."""
    days = window // DAY
    each = errors_of_days(PLACES[window] + days - 1, periods, correlation, generator)
    return np.lib.stride_tricks.sliding_window_view(each, days, axis=1).mean(2)


def by_batch_means(old: np.ndarray, new: np.ndarray, weights: np.ndarray, block: int) -> tuple[float, float]:
    """Returns the share of periods whose interval covers 1, and of those with p below 0.05."""
    found = [ratio_along(*arms, weights, block=block) for arms in zip(old, new, strict=True)]
    covered = [one.low <= 1 <= one.high for one in found]
    return float(np.mean(covered)), float(np.mean([one.p < ALPHA for one in found]))


def drawn_counts(length: int, block: int, generator: np.random.Generator) -> np.ndarray:
    """Returns how often each place is drawn, (draw, place), by the circular block bootstrap (Politis and Romano 1992):
    blocks from anywhere, the first place following the last, cut to the length of the period."""
    starts = generator.integers(0, length, (BOOTSTRAPPED, -(-length // block), 1))
    drawn = ((starts + np.arange(block)) % length).reshape(BOOTSTRAPPED, -1)[:, :length]
    counts = np.zeros((BOOTSTRAPPED, length))
    np.add.at(counts, (np.arange(BOOTSTRAPPED)[:, None], drawn), 1)
    return counts


def by_bootstrap(old: np.ndarray, new: np.ndarray, weights: np.ndarray, block: int) -> tuple[float, float]:
    """Returns the same of percentiles of drawn periods, p being twice the smaller share of them on one side of 1."""
    counts = drawn_counts(len(weights), block, np.random.default_rng(0)) * weights
    ratios = (counts @ new.T) / (counts @ old.T)
    low, high = np.quantile(ratios, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    rarer = np.minimum((ratios <= 1).sum(0), (ratios >= 1).sum(0))
    p = 2 * (rarer + 1) / (BOOTSTRAPPED + 1)
    return float(((low <= 1) & (high >= 1)).mean()), float((p < ALPHA).mean())


def row(window: int, correlation: float, periods: int) -> str:
    generator = np.random.default_rng([window, round(100 * correlation)])
    old, new = (errors_of_windows(window, periods, correlation, generator) for _ in range(2))
    weights, block = np.r_[np.full(old.shape[1] - 1, float(WINDOWS)), float(LAST)], block_of(window)
    shares = [*by_batch_means(old, new, weights, block), *by_bootstrap(old, new, weights, block)]
    cells = [window, len(stretches(len(weights), block)), correlation, *(f"{100 * share:.1f}" for share in shares)]
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="coverage of intervals along the test period of ETTh1")
    parser.add_argument("--periods", type=int, default=2000, help="simulated test periods a row")
    parser.add_argument("--correlations", type=float, nargs="+", default=[0.0, 0.5, 0.8], help="of a day and the next")
    options = parser.parse_args()
    print(
        "| hours | stretches | correlation | batch means: covers 1, % | p < 0.05, % "
        "| bootstrap: covers 1, % | p < 0.05, % |\n|---|---|---|---|---|---|---|",
        flush=True,
    )
    for correlation in options.correlations:
        for window in PLACES:
            print(row(window, correlation, options.periods), flush=True)


if __name__ == "__main__":
    main()
