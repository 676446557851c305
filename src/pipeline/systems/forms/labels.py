"""What the jobs of a multirun are told apart by: data with their settings, arms with their models and settings."""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd

from pipeline.compare.arms import apart, settings_in

ALPHABET = "forms.alphabet="  # errors are of the texts that it leaves
OF_DATA = ("data.", "data=", ALPHABET)
CHOSEN = ("data", "contender")  # groups that the column `varied` leaves out
GIVEN = "true boxes"  # in place of a detector's name
OF_FOUND = ("forms.edges=", "forms.most_shared=")  # which mean nothing to these
UNCHANGED = "components"  # connected ink is not trained on changed images
NEAREST = "nearest training image"  # an arm that is not trained


class JobLabel(NamedTuple):
    """Holds what tells a job from others beside its arm: its model, how images are changed, and settings."""

    model: str
    augment: str
    settings: list[str]

    def words(self) -> list[str]:
        """Returns model, changes of images and settings as words. Those `of_data` are left out."""
        changed = [] if self.model == UNCHANGED else [self.augment]
        return [self.model, *changed, *self.of_models()]

    def of_models(self) -> list[str]:
        """Returns the settings that are not `of_data`."""
        return [own for own in self.settings if not own.startswith(OF_DATA)]

    def of_data(self) -> list[str]:
        """Returns the settings of the data, and the alphabet of its true texts."""
        return [own for own in self.settings if own.startswith(OF_DATA)]


def job_label(job: dict[str, Any]) -> JobLabel:
    """Returns what tells a job from others. Tables of older versions have no model: there it is the arm's name."""
    varied, model, overrides = (str(job.get(name) or "") for name in ("varied", "model", "overrides"))
    augment = str(job["augment"])
    chosen = [own for own in overrides.split() if own.partition("=")[0] in CHOSEN]
    settings = settings_in(varied) if varied != "nan" else []
    if str(job["arm"]).startswith(GIVEN):
        settings = [own for own in settings if not own.startswith(OF_FOUND)]
    known = model if model not in ("", "nan") else str(job["arm"]).removesuffix(f", {augment}")
    return JobLabel(known, augment, [*chosen, *settings])


def labelled(jobs: Any) -> pd.DataFrame:
    """Returns the jobs with what alone tells them apart within their arm behind its name: the model, how images are
    changed, and settings; settings of the data that differ among its jobs, and alphabets, stand behind the name of the
    data. Of jobs that are alike in all of these, as those in true boxes are for every detector, the first is kept.
    Column settings: those in which jobs on the same data differ."""
    told = [job_label(job) for job in jobs.to_dict("records")]
    data = apart(jobs["data"], [own.of_data() for own in told])
    names = [", ".join([str(front), *more]) for front, more in zip(jobs["data"], data, strict=True)]
    more = apart(pd.Series(names, index=jobs.index).str.cat(jobs["arm"], "\n"), [own.words() for own in told])
    named = jobs.assign(
        data=names, arm=[", ".join([str(arm), *own]) for arm, own in zip(jobs["arm"], more, strict=True)],
        model=[own.model for own in told],
        settings=apart(names, [own.of_models() for own in told]),
    )  # fmt: skip
    return named.drop_duplicates(["data", "arm", "seed"], ignore_index=True)


def said_of_repeats(jobs: Any, kept: Any) -> str:
    """Returns words about jobs that were left out as they are alike, "" without any."""
    left = len(jobs) - len(kept)
    return f"{left} of {len(jobs)} jobs repeat others in all that tells jobs apart here, and are left out.\n\n" * bool(
        left
    )


def with_rows(jobs: Any, rows: Any) -> pd.DataFrame:
    """Returns the jobs that have a row of their own in a table of the rows of all jobs, by run_id."""
    known = set(rows["run_id"]) if len(rows) else set[str]()
    return jobs[jobs["run_id"].isin(known)].reset_index(drop=True)


def said_of_lacking(jobs: Any, kept: Any, file: str) -> str:
    """Returns words about labelled jobs that are left out, as they have no row in a file; "" without any, and where no
    job has one."""
    lacking = jobs[~jobs["run_id"].isin(kept["run_id"])]
    named = "; ".join(f"{row.data}: {row.arm}, seed {row.seed}" for row in lacking.itertuples())
    front = f"{len(lacking)} of {len(jobs)} jobs have nothing in {file}, and are left out: "
    return f"{front}{named}.\n\n" if 0 < len(lacking) < len(jobs) else ""


def said_of_alphabets(jobs: Any) -> str:
    """Returns words about labelled jobs of unlike alphabets, "" where none are told apart by these."""
    apart_by_it = jobs["data"].str.contains(f", {ALPHABET}", regex=False).any()
    said = "Jobs of unlike forms.alphabet are compared apart, as their errors are of unlike true texts.\n\n"
    return said if apart_by_it else ""
