"""What the jobs of a multirun are told apart by: data with their settings, arms with their models and settings."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

SETTING = re.compile(r", (?=[\w.@/]+=)")
DATA, UNCHANGED = "data.", "components"  # connected ink is not trained on changed images
TOLD = ("data", "arm", "seed")


def labelled(jobs: Any) -> pd.DataFrame:
    """Returns the jobs with what alone tells them apart within their arm behind its name: the model, how images are
    changed, and settings; settings of the data stand behind the name of the data. Of jobs that are alike in all of
    these, as those in true boxes are for every detector, the first is kept."""
    told = pd.Series([told_by(job) for job in jobs.to_dict("records")], index=jobs.index)
    apart = told.copy()
    for _, own in told.groupby([jobs["data"], jobs["arm"]]):
        common = set.intersection(*map(set, own))
        apart.loc[own.index] = [[each for each in one if each not in common] for one in own]
    named = jobs.assign(**{
        name: [", ".join([str(front), *(each for each in own if each.startswith(DATA) == (name == "data"))])
               for front, own in zip(jobs[name], apart, strict=True)]
        for name in ("data", "arm")
    })  # fmt: skip
    return named.drop_duplicates(list(TOLD), ignore_index=True)


def told_by(job: dict[str, Any]) -> list[str]:
    """Returns what tells a job from others beside its arm. Tables of older versions have no model."""
    varied, model = job.get("varied"), job.get("model")
    model = model if isinstance(model, str) else ""
    settings = [own for own in SETTING.split(varied) if own] if isinstance(varied, str) else []
    changed = [] if model == UNCHANGED else [str(job["augment"])]
    return [*([model] if model else []), *changed, *settings]
