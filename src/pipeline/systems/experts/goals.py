"""What a multirun of `recipe=experts` is asked to reach, each with an interval and a verdict. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from pipeline.compare import claims
from pipeline.compare.arms import base
from pipeline.compare.goals import Goal, at_least, is_so, row_of
from pipeline.compare.statistics import UNKNOWN, Interval, mean_interval
from pipeline.systems.experts.bars import NEAREST

ENTROPY, CAPTIONS, BLEU = 0.9, {"de", "fr", "cs"}, 28.0
SHOTS, SHARE = 256, 0.8
MANY = 3000  # pairs of a task from which a dense network has to beat the bar


def goals_of(jobs: Any, paired: Any, fewshot: Any) -> pd.DataFrame:
    """Returns a row per goal that the jobs speak of: data, goal, value, low, high, verdict. fewshot: as
    `tables.fewshot_of` gives it."""
    rows = []
    for data, own in jobs.groupby("data", sort=False):
        pairs = paired[paired["data"] == data] if len(paired) else paired
        stand_in = bool(own["stand_in"].any())
        goals = [*of_pairs(pairs), *of_shares(own), *of_bars(own, str(data)), *of_bleu(own, str(data)),
                 *of_shots(fewshot, data)]  # fmt: skip
        rows += [row_of(data, goal, stand_in=stand_in) for goal in goals]
    return pd.DataFrame(rows)


def of_pairs(paired: Any) -> Iterator[Goal]:
    """Yields whether experts and adapters by task need fewer nats than dense networks of equal work and size, and
    chance more than learned routing, with the verdicts of the claims."""
    wanted = {("token+shared", "dense_wide"), ("token+shared", "dense_total"), ("token", "random")}
    for row in paired.to_dict("records") if len(paired) else ():
        if (row["challenger"], row["against"]) in wanted and row["tasks"] == "all":
            interval = Interval(row["ratio_low"], row["ratio_high"])
            words = f"ratio of nats, {row['challenger']} / {row['against']}, below 1"
            yield Goal(words, row["ratio"], interval, row["verdict"])


def of_shares(jobs: Any) -> Iterator[Goal]:
    """Yields whether learned routing spreads tokens over all experts."""
    learned = jobs[jobs["arm"].map(lambda arm: base(arm) == arm and arm.split("+")[0] in ("token", "sentence"))]
    columns = [name for name in jobs if str(name).startswith("balance_entropy_")]
    if not len(learned) or not columns:
        return
    least = float(np.nanmin(learned[columns].to_numpy(np.float64)))
    words = f"entropy of experts' shares over log N at least {ENTROPY} in every layer of learned routing"
    yield Goal(words, least, UNKNOWN, is_so(least >= ENTROPY))
    starved = float(learned["starved"].max())
    words = "no expert with less than a fifth of its even share"
    yield Goal(words, starved, UNKNOWN, claims.verdict(supported=starved == 0, contradicted=starved > 0))


def of_bars(jobs: Any, data: str) -> Iterator[Goal]:
    """Yields whether a dense network has more BLEU than the nearest training sentence's translation: twice as much of
    captions, which are those of mt_small, in either direction, and more of every task with many pairs."""
    dense = jobs[jobs["arm"] == "dense"]
    for task in str(jobs["tasks"].iloc[0]).split() if len(dense) else ():
        bar, pairs = f"bleu_{NEAREST}_{task}", dense.get(f"pairs_{task}")
        if bar not in dense or dense[bar].isna().all() or pairs is None or pairs.max() < MANY:
            continue
        factor = 2 if base(data) == "mt_small" and CAPTIONS & set(task.split("-")) else 1
        ratios = (dense[f"bleu_{task}"] / dense[bar].clip(lower=1e-9)).dropna().to_numpy(np.float64)
        interval = mean_interval(ratios)
        words = f"BLEU of dense over that of the nearest training sentence, {task}, at least {factor}"
        yield Goal(words, float(ratios.mean()), interval, at_least(interval, factor))


def of_bleu(jobs: Any, data: str) -> Iterator[Goal]:
    """Yields whether the arm with the least nats on validation, mean over jobs, has 28 BLEU of German captions. The arm
    of most test BLEU would have more than on other sentences, as it is chosen by what is measured. Jobs that learned
    tasks later are left out: their nats on validation are of these tasks alone."""
    whole = jobs[jobs["shots"] == 0]
    if base(data) != "mt_small" or "bleu_de-en" not in jobs or not len(whole):
        return
    arm = str(whole.groupby("arm")["validation_error"].mean().idxmin())
    values = whole.loc[whole["arm"] == arm, "bleu_de-en"].to_numpy(np.float64)
    interval = mean_interval(values)
    words = f"BLEU of de-en, best arm on validation ({arm}), at least {BLEU:g}"
    yield Goal(words, float(values.mean()), interval, at_least(interval, BLEU))


def of_shots(fewshot: Any, data: Any) -> Iterator[Goal]:
    """Yields whether old tasks stay the same to the bit where new tasks are learned by the parts that are theirs.
    Yields also whether that gains 80 % of what learning with all numbers does where 256 pairs were asked for."""
    own = fewshot[(fewshot["data"] == data) & ~fewshot["adapt"].isin(["all", "none"])] if len(fewshot) else fewshot
    for arm, rows in own.groupby("arm", sort=False) if len(own) else ():
        same = bool(rows["old_equal"].all())
        if str(rows["adapt"].iloc[0]) in ("adapters", "tasks"):
            yield Goal(f"old tasks stay the same to the bit: {arm}", float(same), UNKNOWN, is_so(same))
        for row in rows[rows["asked"] == SHOTS].to_dict("records"):
            there = "" if row["pairs"] == SHOTS else f" ({row['pairs']} there)"
            words = f"share of the chrF gained by learning all numbers, {SHOTS} pairs{there}, at least {SHARE}: {arm}"
            yield of_share(words, row)


def of_share(words: str, row: Any) -> Goal:
    """Returns whether an arm gains enough of what all numbers gain. It is undecided where the interval of what they
    gain does not lie above 0: a share of no gain says nothing."""
    interval, gained = Interval(row["share_low"], row["share_high"]), row["gain_of_all_low"] > 0
    verdict = at_least(interval, SHARE) if gained else claims.UNDECIDED
    return Goal(words, float(row["share_of_all"]), interval, verdict)
