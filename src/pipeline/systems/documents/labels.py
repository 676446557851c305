"""What the names of arms say, as `recipe.arm_of` writes them: what a network attends to, and with which settings; and
what tells the jobs of a multirun apart beside."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pandas as pd

from pipeline.compare.arms import apart, settings_in, varied_settings

WORDS = re.compile(
    r"(?P<pattern>.+?)(?P<noise>( jitter \d+)?( shuffled)?)(?P<most>( @\d+)?)(?P<encoder>( base| large)?)"
    r"(?P<guessing>( no pretraining)?)(, (?P<settings>[\w.@/]+=.*))?"
)
SAME = {  # a choice of attention= and the variant of reader= that has it
    "sliding_window": "sliding window", "window_random": "window + random", "distance_window": "distance + window",
    "distance_keys_window_values": "distance keys, window values", "distance_approximate": "distance, approximate",
    "spatial_window": "spatial window",
}  # fmt: skip
SETS = ["data", "task", "cue"]  # what jobs have in common that are compared with one another
CUE = "data.cue="  # stands in a column of its own
VOCABULARY = (  # by which there are other tokens
    "documents.vocabulary=", "documents.lower_case=", "pretrain_on.", "data@pretrain_on=",
)  # fmt: skip


class Arm(NamedTuple):
    """Holds the parts of an arm's name: what it attends to, or a simple model; how badly it reads, how many tokens at
    most, with which encoder, whether it guessed no hidden words, and settings that its jobs were told apart by. Each is
    "" where it is as usual."""

    pattern: str
    noise: str
    most: str
    encoder: str
    guessing: str
    settings: str


def parts_of(name: str) -> Arm:
    """Returns the parts of an arm's name, the pattern as a variant of reader= calls it."""
    found = WORDS.fullmatch(name)
    if found is None:
        raise ValueError(f"an arm has a name without line breaks, not {name!r}")
    parts = {key: (words or "").strip() for key, words in found.groupdict().items()}
    return Arm(**parts | {"pattern": SAME.get(parts["pattern"], parts["pattern"])})


def most_tokens(name: str) -> int | None:
    """Returns how many tokens an arm reads of a document; None where it reads all."""
    most = parts_of(name).most
    return int(most.removeprefix("@")) if most else None


def without_most(name: str) -> str:
    """Returns what arms are called that differ in how many tokens they read alone."""
    *words, settings = parts_of(name)._replace(most="")
    return ", ".join(part for part in (" ".join(word for word in words if word), settings) if part)


def without_pretraining(settings: str) -> str:
    """Returns the settings of an arm but for those of guessing hidden words."""
    return ", ".join(own for own in settings_in(settings) if not own.startswith("pretrain."))


def of_simple(settings: str) -> str:
    """Returns those settings of an arm that change the simple models beside it too."""
    return ", ".join(own for own in settings_in(settings) if own.startswith("documents.repeated="))


def labelled(jobs: Any) -> pd.DataFrame:
    """Returns the jobs with settings that alone tell them apart within their arm behind its name; settings of the data
    that differ among its jobs stand behind the name of the data. So do those of the vocabulary where hidden tokens are
    guessed, as nats of unlike tokens are not compared."""
    told = varied_settings(jobs)
    fronts = [("data.", *VOCABULARY) if task == "mlm" else ("data.",) for task in jobs["task"]]
    both = list(zip(told, fronts, strict=True))
    data = apart(jobs["data"], [[own for own in each if own.startswith(of) and CUE not in own] for each, of in both])
    named = jobs.assign(data=[", ".join([str(front), *own]) for front, own in zip(jobs["data"], data, strict=True)])
    groups = named[[*SETS, "arm"]].astype(str).agg("\n".join, axis=1)
    more = apart(groups, [[own for own in each if not own.startswith(of)] for each, of in both])
    return named.assign(arm=[", ".join([str(arm), *own]) for arm, own in zip(named["arm"], more, strict=True)])
