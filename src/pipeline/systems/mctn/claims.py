"""Which arms of a multirun of `recipe=mctn` are compared, and what may be claimed of them. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from models.mctn.arms import Plan
from pipeline.compare import claims, statistics
from pipeline.compare.arms import base
from pipeline.systems.mctn.folds import decisive, paired, unit_of
from pipeline.systems.mctn.labels import FOLDS, named, plan, settings_of

NOTHING = 0.005  # R² of a translation that rounds to 0.00: there is nothing that could have helped
NO_TRANSLATION = "no claim (translation R² 0)"
CONTAMINATED = "no claim (features trained on labels)"
OTHER_SAMPLES = "no claim (other samples)"
SHOWN = ["claim", "pairs", "ratio", "ratio_low", "ratio_high", "p_holm", "translation_r2", "verdict"]
ARMS = ("challenger", "against")
NEEDS_NO_TRANSLATION = ("bar", "settings", "source")  # what does not say that translating helps
ORDERS = {  # what the thesis says of sources and targets (section 2.1.5.3, Q5)
    "cyclic-t-v": [("source", "cyclic-v-a"), ("order", "cyclic-t-a")],
    "cyclic-t-a": [("source", "cyclic-v-a")],
    "cyclic-t-v-a": [("source", "cyclic-v-a-t"), ("order", "cyclic-t-a-v")],
}
BESIDE = {  # what a control shows
    "none": "translation helps", "shuffled": "what is translated into matters", "simple": "the way back helps",
    "bothways": "the way back from the translation helps", "double": "one model is better than two",
    "fewer": "another modality helps", "concat": "two levels are better than one", "fusion": "better than early fusion",
    "paired": "translating one after the other is better than both at once", "source": "text as the source is better",
    "order": "video before audio is better",
    "settings": "other settings are better", "bar": "better than the bar",
}  # fmt: skip


class Pair(NamedTuple):
    """Holds a challenger, and the arm that it is compared against. control: a key of `BESIDE`."""

    control: str
    challenger: str
    against: str


def counterparts(own: Plan) -> list[tuple[str, str]]:
    """Returns controls and arms that a plan is seen beside, whether they ran or not."""
    kind, _, streams = own.arm.partition("-")
    fusion = len(own.read) > 1
    found = (
        [("fusion", "none-tva")] if set(own.read) == set("tva") else [] if fusion else [("none", f"none-{own.read}")]
    )
    if kind == "cyclic":
        found += [(other, f"{other}-{streams}") for other in ("shuffled", "simple", "bothways", "double")]
    if kind in ("bothways", "simple"):
        found += [("double", f"double-{streams}")]
    if kind == "cyclic" and own.second:
        first, second = own.source + own.targets[0], own.targets[0] + own.source
        found += [("fewer", f"cyclic-{streams[:-2]}"), ("fusion", "none-tva")]
        found += [("paired", "paired-t-av")] if own.source == "t" else []
        found += [("concat", f"concat-{each}-{own.second}") for each in (first, second)]
    found += ORDERS.get(own.arm, [])
    return [pair for pair in found if pair[1] != own.arm]


def pairs_of(arms: Sequence[str], bars: Sequence[str], default: Sequence[str] = ()) -> list[Pair]:
    """Returns the pairs of arms that ran. An arm with settings is seen beside other arms as `beside` says, and beside
    the same arm with default settings. arms: those that ran. bars: those of them that are the bar. default: those of
    them with default settings."""
    pairs = []
    for arm in arms:
        own = plan(arm)
        if own is None:
            continue
        others = [(control, other) for control, name in counterparts(own) for other in beside(arm, name, arms)]
        others += [("settings", other) for other in default if base(other) == base(arm)]
        others += [("bar", bar) for bar in bars]
        pairs += [Pair(control, arm, other) for control, other in others if other != arm]
    return pairs


def beside(arm: str, other: str, arms: Sequence[str]) -> list[str]:
    """Returns the labels of the arm `other` that an arm is seen beside: those of the same settings, or, without any,
    all whose settings do not contradict those of the arm."""
    ran = [label for label in arms if base(label) == other]
    same = [label for label in ran if settings_of(label) == settings_of(arm)]
    return same or [label for label in ran if agree(settings_of(label), settings_of(arm))]


def agree(one: str, other: str) -> bool:
    """Returns whether two lists of settings, "key=value key=value" each, give no setting two values."""
    first, second = (dict(pair.split("=", 1) for pair in each.split()) for each in (one, other))
    return all(first[key] == second[key] for key in first.keys() & second.keys())


def paired_of(jobs: pd.DataFrame, means: pd.DataFrame) -> pd.DataFrame:
    """Returns `folds.paired` of every pair, a row each, with its control, translation R² of the challenger, and
    the verdict; p_holm is adjusted over the pairs of the same data and control. Empty without a pair."""
    tables = [rows_of(own, means[means["data"] == data]) for data, own in jobs.groupby("data", sort=False)]
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
    if table.empty:
        return table
    table["p_holm"] = table.groupby(["data", "control"])["p"].transform(lambda p: statistics.holm(p.to_numpy()))
    verdicts = [verdict_of(table.iloc[[place]]) for place in range(len(table))]
    return table.drop(columns="other_samples").assign(verdict=verdicts)


def rows_of(jobs: Any, means: Any) -> pd.DataFrame:
    """Returns the pairs of one data set, a row each, before p is adjusted."""
    errors, unread, unit = errors_of(jobs, means), unread_of(jobs, means), unit_of(jobs)
    known = means.set_index("arm")
    rows = []
    bars, default = (list(known.index[known[name]]) for name in ("bar", "default"))
    for control, challenger, against in pairs_of(list(known.index), bars, default):
        row = paired(errors, baseline=against, challenger=challenger, unit=unit)
        own = {"control": control, "challenger": challenger, "against": against, "paired_by": unit.words}
        taught = bool(known.loc[[challenger, against], "contaminated"].any())
        r2 = translated(known.loc[challenger], control) if is_gain(control, challenger) else np.nan
        others = on_other_samples(unread[[challenger, against]], known["read"])
        row |= {"contaminated": taught, "other_samples": others, "translation_r2": r2}
        rows.append({"data": row.pop("data"), **own, **row})
    return pd.DataFrame(rows)


def unread_of(jobs: Any, means: Any) -> pd.DataFrame:
    """Returns how many test samples each arm left out, as they have no step to read: a row per seed, a column per arm,
    NaN where jobs do not say it."""
    counted = jobs.assign(test_error=jobs.get("unread", np.nan), bar_error=jobs.get("bar_unread", np.nan))
    table = errors_of(counted, means).pivot_table("error", "seed", "arm", dropna=False)
    return table.reindex(columns=means["arm"])


def on_other_samples(unread: Any, read: Any) -> bool:
    """Returns whether two arms may have been scored on other samples: whether under a seed that both have one of them
    left out more samples than the other, or as many where they read other modalities. unread: their columns of
    `unread_of`; read: the letters of what each arm reads."""
    first, second = unread.columns
    both = unread.dropna()
    unlike = both[first] != both[second]
    if set(read[first]) != set(read[second]):
        unlike |= both[first] > 0
    return bool(unlike.any())


def is_gain(control: str, challenger: str) -> bool:
    """Returns whether a claim says that translating helps the challenger, so that something has to be translated."""
    own = plan(challenger)
    return own is not None and bool(own.targets) and control not in NEEDS_NO_TRANSLATION and not own.shuffled


def translated(row: Any, control: str) -> float:
    """Returns the best R² of what an arm translates its source into; −∞ where none is known. Beside an arm that has a
    modality fewer, the R² is that of this modality."""
    own = plan(str(row.name))
    streams = [] if own is None else [own.second] if control == "fewer" else [*own.targets, own.second]
    found = [row.get(f"translation_r2_{stream}", np.nan) for stream in streams if stream]
    return max((value for value in found if value == value), default=-np.inf)


def errors_of(jobs: Any, means: Any) -> pd.DataFrame:
    """Returns the rows that `statistics` reads. A simple baseline, or the bar that jobs carry, stands beside each seed
    with its error on the data of that seed; where it was not fitted under one, with its mean on that fold."""
    drawn = jobs[[plan(arm) is not None for arm in jobs["arm"]]]
    rows = [drawn[["arm", "seed", "test_error"]].rename(columns={"test_error": "error"})]
    for arm in [arm for arm in means["arm"] if plan(arm) is None]:
        ran = jobs[jobs["arm"] == arm]
        measured = ran["test_error"] if len(ran) else jobs.loc[jobs["bar"] == arm, "bar_error"]
        by_seed, by_fold = (measured.groupby(key).mean() for key in (jobs["seed"], jobs["seed"] // FOLDS))
        seeds = [seed for seed in sorted(set(jobs["seed"])) if seed // FOLDS in by_fold]
        errors = [by_seed.get(seed, by_fold[seed // FOLDS]) for seed in seeds]
        rows.append(pd.DataFrame({"arm": arm, "seed": seeds, "error": errors}))
    front = {"data": jobs["data"].iloc[0], "count": 0, "stable": True, "stand_in": bool(jobs["stand_in"].any())}
    return pd.concat(rows, ignore_index=True).assign(**front)


def verdict_of(row: pd.DataFrame) -> str:
    """Returns the verdict on one row of `paired_of`. Nothing is claimed of stand-in data, of features that were trained
    on labels, of arms that were scored on other samples, and of an arm that cannot translate.

    Of a control that shuffles targets the claim is that no gain shows. The claim holds where the interval of the ratio
    contains 1 or lies above 1, and does not hold where the interval lies below 1.
    """
    first = row.iloc[0]
    if first["stand_in"]:
        return claims.NO_CLAIM
    if first["contaminated"]:
        return CONTAMINATED
    if first["other_samples"]:
        return OTHER_SAMPLES
    if first["control"] == "none" and str(first["challenger"]).startswith("shuffled"):
        ratio = statistics.Interval(first["ratio_low"], first["ratio_high"])
        return no_gain_shown(decisive(ratio, first["pairs"], first["paired_by"]).high)
    if first["translation_r2"] < NOTHING:  # NaN where nothing has to be translated
        return NO_TRANSLATION
    return statistics.verdict(row)


def nothing_gained(low: float, high: float) -> str:
    """Returns the verdict on the claim that the interval of a ratio contains 1. The claim does not hold where the
    interval lies below 1, and is undecided where the interval lies above 1 or is not known."""
    return claims.verdict(supported=low <= 1 <= high, contradicted=high < 1)


def no_gain_shown(high: float) -> str:
    """Returns the verdict on the claim that no fall of errors shows, as the interval of a ratio contains 1 or lies
    above 1. The claim is undecided where the interval is not known. high: the upper end of the interval."""
    return claims.verdict(supported=high >= 1, contradicted=high < 1)


def claims_of(pairs: pd.DataFrame) -> pd.DataFrame:
    """Returns what is claimed of each pair, in words, with its verdict."""
    if pairs.empty:
        return pd.DataFrame()
    said = [
        in_words(row["control"], *(named(row[arm], row["data"], stand_in=row["stand_in"]) for arm in ARMS))
        for row in pairs.to_dict("records")
    ]
    numbers = ["pairs", "ratio", "ratio_low", "ratio_high", "p_holm", "translation_r2"]
    return (
        pairs[["data", "control", "paired_by"]].assign(claim=said).join(pairs[numbers]).assign(verdict=pairs["verdict"])
    )


def in_words(control: str, challenger: str, against: str) -> str:
    """Returns the claim of a pair as words."""
    if control == "none" and challenger.startswith("shuffled"):
        return f"no gain shown without information: {challenger} against {against}"
    return f"{BESIDE[control]}: {challenger} ahead of {against}"
