"""What the jobs of a multirun are told apart by: data with their settings, arms with theirs, and units of pairing."""

from __future__ import annotations

from typing import Any

import pandas as pd

from models.mctn.arms import ARMS, Plan, plan_of
from models.mctn.baselines import NAMES
from pipeline.compare.arms import base, short, varied_settings
from pipeline.systems.mctn.defaults import chosen, is_default

FOLD, PARTITION, DATA = "data.fold=", "data.seed=", "data."
FOLDS = 1_000_000  # what a fold adds to a seed
PARTITIONS = 100  # what a partition adds to a fold


def labelled(jobs: Any) -> pd.DataFrame:
    """Returns the jobs with settings of the data in the name of the data, other settings in that of the arm, and the
    fold of a cross-validation in the seed, with the seed of its partition where folds are drawn several times. A
    setting that is `idle` in an arm is not in its name. Arms stand in the order of the thesis. The column `default`
    says whether all settings in the name of an arm are those of its experiment."""
    found = varied_settings(jobs)
    data = [[own for own in each if own.startswith(DATA) and not own.startswith(of_folds(each))] for each in found]
    others = [
        [own for own in each if not own.startswith(DATA) and not idle(arm, own)]
        for arm, each in zip(jobs["arm"], found, strict=True)
    ]
    folds = jobs.get("fold", 0) + PARTITIONS * pd.Series(map(partition, found), index=jobs.index)
    named = jobs.assign(
        data=[", ".join([str(name), *own]) for name, own in zip(jobs["data"], data, strict=True)],
        arm=[" ".join([str(name), *map(short, own)]) for name, own in zip(jobs["arm"], others, strict=True)],
        default=[all_default(*row) for row in zip(jobs["overrides"].fillna(""), jobs["arm"], others, strict=True)],
        seed=jobs["seed"] + FOLDS * folds,
    )
    order = named["arm"].map(place)
    return (
        named.assign(order=order).sort_values(["data", "order"], kind="stable", ignore_index=True).drop(columns="order")
    )


def of_folds(settings: list[str]) -> tuple[str, ...]:
    """Returns how the settings begin that say which samples are tested in a cross-validation: the seed of the data is
    that of the partition where folds are varied."""
    return (FOLD, PARTITION) if any(own.startswith(FOLD) for own in settings) else (FOLD,)


def partition(settings: list[str]) -> int:
    """Returns the seed that a partition into folds was drawn under, 0 where there is one alone."""
    named = [own for own in settings if own.startswith(of_folds(settings)) and own.startswith(PARTITION)]
    return int(named[0].removeprefix(PARTITION)) if named else 0


def idle(arm: str, setting: str) -> bool:
    """Returns whether a setting of `mctn` or `fit` changes nothing in an arm, whose jobs are then run once for all
    values of the setting. So it is for weights where nothing is translated, for dropped modalities of an arm that reads
    one, and for all settings of a baseline."""
    own = plan(arm)
    if own is None:
        return setting.startswith(("mctn.", "fit."))
    return (setting.startswith("mctn.weights") and not own.targets) or (
        setting.startswith("mctn.modality_dropout") and len(own.read) == 1
    )


def all_default(overrides: str, arm: str, given: list[str]) -> bool:
    """Returns whether an arm has settings that were varied as its experiment has them."""
    if not given:
        return True
    settings = chosen(overrides, arm)
    return all(is_default(settings, own) for own in given)


def place(label: str) -> int:
    """Returns where an arm stands in tables: arms as `ARMS` has them, then simple baselines."""
    known = [*ARMS, *NAMES]
    return known.index(base(label)) if base(label) in known else len(known)


def named(arm: str, data: str, *, stand_in: bool) -> str:
    """Returns what an arm is called where it is shown. Generated utterances have no words, so that the baseline of mean
    word vectors is one of mean text vectors there."""
    generated = base(data) == "cycles" or stand_in
    return f"{arm} (no words: ridge on mean text vectors)" if generated and base(arm) == "word_vectors" else arm


def settings_of(label: str) -> str:
    """Returns the settings of an arm's label, "" without any."""
    return label[len(base(label)) :].strip()


def plan(label: str) -> Plan | None:
    """Returns the plan of a label's arm; None for a simple baseline."""
    return plan_of(base(label)) if base(label) in ARMS else None


def translation_columns(table: Any) -> list[str]:
    """Returns the columns that hold R² of translations."""
    return [str(name) for name in table.columns if str(name).startswith("translation_r2_")]
