"""What the jobs of a multirun are told apart by: data with their settings, arms with theirs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from models.experts.arms import ADAPTERS, ROUTERS
from pipeline.compare.arms import base, short, varied_settings
from pipeline.systems.experts.arms import idle, parts_of

PAIRS = re.compile(r" pairs=\d+( \(asked \d+\))?(?= |$)")
DATA, SEED, VARIANT, ASKED = "data.", "data.seed=", "experts.variant=", "fewshot.pairs="
OF_DATA = (DATA, "vocabulary.pieces=", "vocabulary.prefix_space=")  # by which errors are not compared


def labelled(jobs: Any) -> pd.DataFrame:
    """Returns the jobs with settings of the data in the name of the data, and other settings in that of the arm, but
    for those that are idle in it; `fewshot.pairs` is what there was of it. `vocabulary.pieces` stands with the data, as
    nats of unlike pieces are not compared. Arms stand in the order of routers and adapters. The seed of the data is
    left out where it is that of the job in all jobs on them."""
    found = varied_settings(jobs)
    dropped = seeds_are_one(jobs, found)
    data = [[own for own in each if own.startswith(OF_DATA) and not (drop and own.startswith(SEED))]
            for each, drop in zip(found, dropped, strict=True)]  # fmt: skip
    named = jobs.assign(
        data=[", ".join([str(name), *own]) for name, own in zip(jobs["data"], data, strict=True)],
        arm=[label_of(str(arm), each) for arm, each in zip(jobs["arm"], found, strict=True)],
    )
    if "shots" in named:
        named["asked"] = [requested_pairs(job, each) for job, each in zip(named.to_dict("records"), found, strict=True)]
        several = named.groupby(["data", "shots"])["asked"].transform("nunique") > 1
        shown = named["asked"].where(several, 0)
        named["arm"] = [with_pairs(*row) for row in zip(named["arm"], named["shots"], shown, strict=True)]
    order = named["arm"].map(place)
    ordered = named.assign(order=order).sort_values(["data", "order"], kind="stable", ignore_index=True)
    return ordered.drop(columns="order")


def seeds_are_one(jobs: Any, settings: list[list[str]]) -> list[bool]:
    """Returns of each job whether all jobs on its data were given their own seed as that of the data, or none."""
    named = [[own for own in each if own.startswith(SEED)] for each in settings]
    same = [own in ([], [f"{SEED}{seed}"]) for own, seed in zip(named, jobs["seed"], strict=True)]
    return pd.Series(same, index=jobs.index).groupby(jobs["data"]).transform("all").tolist()


def label_of(arm: str, settings: list[str]) -> str:
    """Returns an arm with the settings that change something in it, "token top=1"; where an experiment gives some of
    them a name, with that, "token capacity-2"."""
    variant = next((own.removeprefix(VARIANT) for own in settings if own.startswith(VARIANT)), None)
    front = arm if variant in (None, arm) else f"{arm} {variant}"
    unread = idle(arm) if variant is None else ()
    own = [one for one in settings if not one.startswith((*OF_DATA, VARIANT)) and one.partition("=")[0] not in unread]
    return " ".join([front, *map(short, own)])


def requested_pairs(job: dict[Any, Any], settings: list[str]) -> int:
    """Returns how many pairs of a new task a job asked for; of tables of older versions that do not say it, how many
    there were."""
    varied = [own.removeprefix(ASKED) for own in settings if own.startswith(ASKED)]
    return int(varied[0]) if varied else int(job.get("asked") or job["shots"])


def with_pairs(label: str, shots: int, asked: int) -> str:
    """Returns a label with the pairs that were there to learn from, in place of those that were asked for; with both
    where `asked` is not 0."""
    both = f" pairs={shots} (asked {asked})" if asked else f" pairs={shots}"
    return PAIRS.sub(both, label) if shots else label


def asked_pairs(job: Mapping[Any, Any]) -> int:
    """Returns how many pairs of a new task a labelled job asked for; 0 of a job that learned all tasks at once."""
    return int(job.get("asked") or 0)


def of_most_pairs(table: Any) -> pd.DataFrame:
    """Returns the rows of jobs that learned all tasks at once, and of the others those of the data set's largest number
    of pairs that was asked for. table: columns data and asked."""
    most = table.groupby("data")["asked"].transform("max")
    return table[table["asked"].isin([0]) | (table["asked"] == most)]


def is_of_several(table: Any) -> bool:
    """Returns whether the rows of a table are of several data sets."""
    return table["data"].nunique() > 1


def with_data(table: Any, data: object, words: object) -> str:
    """Returns words with the data set before them, where the table has several."""
    return f"{data}: {words}" if is_of_several(table) else str(words)


def place(label: str) -> tuple[int, int]:
    """Returns where an arm stands in tables."""
    router, adapter = parts_of(base(label))
    return ADAPTERS.index(adapter), ROUTERS.index(router)
