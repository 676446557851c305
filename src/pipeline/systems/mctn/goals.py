"""What a multirun of `recipe=mctn` is asked to reach, each with an interval and a verdict. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from pipeline.compare import statistics
from pipeline.compare.arms import base
from pipeline.compare.goals import Goal, at_least, below, is_so, row_of, within
from pipeline.compare.statistics import UNKNOWN, Interval
from pipeline.systems.mctn.by_video import COLUMNS
from pipeline.systems.mctn.claims import OTHER_SAMPLES, nothing_gained, on_other_samples
from pipeline.systems.mctn.folds import SEED, averaged, decisive, unit_of
from pipeline.systems.mctn.labels import plan

GAIN = 0.85  # ratio of errors of cyclic-t-v and none-t on cycles
CLOSE = 0.03  # difference of errors of cyclic-t-a and none-t that is none
MAE, ACCURACY = 1.14, 0.70  # of cyclic-t-a on the published split of CMU-MOSI


def goals_of(jobs: pd.DataFrame, paired: pd.DataFrame, accuracy: pd.DataFrame | None = None) -> pd.DataFrame:
    """Returns a row per goal that the jobs speak of: data, goal, value, its interval over seeds, which gives the
    verdict, and that over groups of test samples. accuracy: the rows of `by_video`."""
    rows, grouped = [], accuracy if accuracy is not None and len(accuracy) else pd.DataFrame(columns=["data", "arm"])
    for data, own in jobs.groupby("data", sort=False):
        pairs = paired[paired["data"] == data] if len(paired) else paired
        stand_in = bool(own["stand_in"].any())
        known = grouped[grouped["data"] == data].set_index("arm")
        for goal in [*of_pairs(own, pairs, known), *of_arms(own, str(data), known), *without_the_others(own)]:
            by_group = {f"by_group_{end}": value for end, value in goal.by_group._asdict().items()}
            rows.append(row_of(data, goal, stand_in=stand_in) | by_group)
    return pd.DataFrame(rows)


def of_pairs(jobs: Any, paired: Any, grouped: Any) -> Iterator[Goal]:
    """Yields the goals of arms in comparison with those without translation."""
    if paired.empty:
        return
    unlinked = bool(jobs["unlinked"].any())
    paired = paired[paired["challenger"].isin(jobs.loc[jobs["default"], "arm"])]
    yield from of_three(jobs, paired)
    for row in paired[paired["control"] == "none"].to_dict("records"):
        arm, ratio = str(row["challenger"]), Interval(row["ratio_low"], row["ratio_high"])
        known = decisive(ratio, row["pairs"], row["paired_by"])
        words = f"ratio of errors, {arm} / {row['against']}{by(row['paired_by'])}"
        if base(arm) == "cyclic-t-v" and base(str(row["data"])) == "cycles" and not unlinked and not three_of(jobs):
            yield Goal(f"{words}, below {GAIN}", row["ratio"], ratio, below(known, GAIN))
        if unlinked or arm.startswith("shuffled"):
            yield Goal(f"{words}, 1 within its interval", row["ratio"], ratio, nothing_gained(*known))
        if base(arm) == "cyclic-t-a" and base(str(row["data"])) == "mosi":
            away = Interval(row["mean_difference_low"], row["mean_difference_high"])
            goal = f"difference of errors, {arm} − {row['against']}{by(row['paired_by'])}, within ±{CLOSE}: no gain"
            drawn = by_group(grouped, arm, "mae difference")
            close = within(decisive(away, row["pairs"], row["paired_by"]), CLOSE)
            yield Goal(goal, row["mean_difference"], away, close, drawn)


def three_of(jobs: Any) -> bool:
    """Returns whether the score of generated utterances needs what two other modalities show (`data.three`). Jobs whose
    table does not say it are of the default, of one other."""
    return "three" in jobs and bool(jobs["three"].any())


def of_three(jobs: Any, paired: Any) -> Iterator[Goal]:
    """Yields the goal that translating into video and audio is better than into video alone, where the score needs what
    both show."""
    if not three_of(jobs) or bool(jobs["unlinked"].any()):
        return
    for row in paired[paired["control"] == "fewer"].to_dict("records"):
        arm, ratio = str(row["challenger"]), Interval(row["ratio_low"], row["ratio_high"])
        if base(arm) == "cyclic-t-v-a" and base(str(row["data"])) == "cycles":
            verdict = below(decisive(ratio, row["pairs"], row["paired_by"]), 1.0)
            yield Goal(f"ratio of errors, {arm} / {row['against']}, below 1", row["ratio"], ratio, verdict)


def of_arms(jobs: Any, data: str, grouped: Any) -> Iterator[Goal]:
    """Yields the goals of single arms on the published split of CMU-MOSI."""
    own = jobs[jobs["default"] & (jobs["arm"].map(base) == "cyclic-t-a")]
    if base(data) != "mosi" or own.empty or set(own["split"]) != {"published"}:
        return
    for name, bound, words in (("mae", MAE, "at most"), ("accuracy", ACCURACY, "at least")):
        if f"test_{name}" not in own:
            continue
        unit = unit_of(own)
        values = averaged(own[f"test_{name}"], own, unit)
        interval = statistics.mean_interval(values, unit.shared)
        known = decisive(interval, len(values), unit.words)
        verdict = below(known, bound) if name == "mae" else at_least(known, bound)
        drawn = by_group(grouped, own["arm"].iloc[0], name)
        yield Goal(f"{name} of cyclic-t-a {words} {bound}", float(values.mean()), interval, verdict, drawn)


def by_group(grouped: Any, arm: str, name: str) -> Interval:
    """Returns the interval over groups of a score of an arm, a key of `by_video.COLUMNS`; unknown where there is
    none."""
    columns = list(COLUMNS[name][1:])
    if arm not in grouped.index or not set(columns) <= set(grouped.columns):
        return UNKNOWN
    return Interval(*grouped.loc[arm, columns].astype(float))


def without_the_others(jobs: Any) -> Iterator[Goal]:
    """Yields the goals of arms whose error was measured again without some modalities, of those arms that do not read
    these. The goals are that predictions are the same to the last bit, and that the error is below that of early
    fusion, which reads the modalities."""
    if "missing_error" not in jobs:
        return
    measured = {str(arm): own for arm, own in jobs.dropna(subset="missing_error").groupby("arm", sort=False)}
    reading = [arm for arm, own in measured.items() if set(own["read"].iloc[0]) & set(own["missing"].iloc[0])]
    for arm in [arm for arm in measured if arm not in reading]:
        yield from the_same(arm, measured[arm])
        for other in [other for other in reading if plan(arm) is not None and base(other) == "none-tva"]:
            yield beside(arm, measured[arm], other, measured[other])


def the_same(arm: str, jobs: Any) -> Iterator[Goal]:
    """Yields the goal that all jobs that looked found the same predictions, bit by bit, whatever the missing modalities
    hold. Its value is the share of jobs that did."""
    found = jobs.get("missing_equal", pd.Series(dtype=float)).dropna().to_numpy()
    if len(found):
        same = bool((found == 1).all())
        words = f"predictions of {arm} are the same to the last bit whatever {jobs['missing'].iloc[0]} hold"
        yield Goal(words, float(found.mean()), UNKNOWN, is_so(same))


def beside(arm: str, jobs: Any, other: str, fused: Any) -> Goal:
    """Returns the goal that the error of an arm without some modalities is below that of another arm. Its value is the
    ratio of their errors over the seeds that both have. Nothing is claimed where they may be of other samples."""
    both = jobs.merge(fused[["seed", "missing_error"]], on="seed", suffixes=("", "_fused"))
    unit = unit_of(jobs)
    logs = averaged(np.log(both["missing_error"] / both["missing_error_fused"]), both, unit)
    interval = Interval(*np.exp(statistics.mean_interval(logs, unit.shared)).tolist())
    words = f"ratio of errors without {jobs['missing'].iloc[0]}, {arm} / {other}, below 1{by(unit.words)}"
    verdict = below(decisive(interval, len(logs), unit.words), 1.0)
    verdict = OTHER_SAMPLES if on_other_samples_without(jobs, fused) else verdict
    return Goal(words, float(np.exp(logs.mean())), interval, verdict)


def on_other_samples_without(first: Any, second: Any) -> bool:
    """Returns whether two arms may have been scored on other samples where modalities are missing, as
    `claims.on_other_samples`. first, second: their jobs."""
    unread, read = dict[str, Any](), dict[str, set[str]]()
    for name, own in {"first": first, "second": second}.items():
        counted = own.assign(missing_unread=own.get("missing_unread", np.nan))
        unread[name] = counted.groupby("seed")["missing_unread"].mean()
        read[name] = set(own["read"].iloc[0]) - set(own["missing"].iloc[0])
    return on_other_samples(pd.DataFrame(unread), read)


def by(unit: str) -> str:
    """Returns in words how pairs are made, where that is not by seed; else ""."""
    return f" (paired by {unit})" if unit != SEED.words else ""
