"""Model against model: ahead of every baseline, ahead at equal readout, and what a state adds to a readout.

Arms are contenders, "psrnn" or "psrnn_kernel": a model as published, or a model and the readout that it was given.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd

from pipeline.compare import figures, statistics
from pipeline.compare.claims import verdict
from pipeline.compare.comparison import Comparison
from pipeline.compare.draws import is_usable
from pipeline.compare.horizons import by_horizon, drawn
from pipeline.compare.seconds import front_in_words, with_front
from pipeline.compare.words import BEHIND, RATIOS, Summary, first_columns, heading, in_words, means_in_words

PUBLISHED = "ahead of every published baseline"
EQUAL = "ahead of every model at equal readout"
ADDED = "better than the same readout without a state"
CLAIMS = (PUBLISHED, EQUAL, ADDED)
FAMILY = ["data", "stand_in"]  # the comparisons that Holm's adjustment is over
COMPARISON = [*FAMILY, "arm", "against", "horizon"]  # what makes two rows the same comparison


class Rivals(NamedTuple):
    """Holds a claim, the arm that makes it, and the arms that it is about."""

    claim: str
    arm: str
    others: list[str]


def arms_of(jobs: Any) -> Any:
    """Returns a row per arm with its model and readout, empty where the jobs do not say it."""
    named = {name: jobs.get(name, "") for name in ("model", "readout")}
    return jobs[["arm"]].assign(**named).drop_duplicates().sort_values("arm")


def rivals(jobs: Any, challenger: str, without: str | None) -> list[Rivals]:
    """Returns what is claimed of each arm whose model is the challenger, or of the arm of that name.

    without: the model that has no state. Published are the arms that are not named after a readout.
    """
    arms = arms_of(jobs)
    own = arms["model"] == challenger if (arms["model"] == challenger).any() else arms["arm"] == challenger
    other = arms[~own]
    kernel = [bool(r) and a.endswith(f"_{r}") for a, r in zip(other["arm"], other["readout"], strict=True)]
    published = [name for name, named in zip(other["arm"], kernel, strict=True) if not named]
    found = []
    for row in arms[own].itertuples():
        alike = other[(other["readout"] == row.readout) & (other["readout"] != "") & (other["model"] != row.model)]
        stateless = alike["model"] == without
        equal, same = alike.loc[~stateless, "arm"].tolist(), alike.loc[stateless, "arm"].tolist()
        found += [Rivals(c, row.arm, who) for c, who in zip(CLAIMS, (published, equal, same), strict=True) if who]
    return found


def paired_with_rivals(jobs: Any, challenger: str, without: str | None) -> pd.DataFrame:
    """Returns `statistics.paired` of each arm of the challenger and each of its rivals, per data set and horizon.

    Holm's adjustment is over all pairs of arms of a data set at all horizons. A pair that two claims rest on is one
    comparison there, and has the same p in both.
    """
    parts = []
    for (data, stand_in), here in jobs.groupby(FAMILY, sort=True):
        for claim, arm, others in rivals(here, challenger, without):
            for other in others:
                table = statistics.paired(here, baseline=other, challenger=arm).drop(columns="p_holm")
                parts.append(table.assign(data=data, stand_in=stand_in, claim=claim, arm=arm, against=other))
    if not parts:
        return pd.DataFrame()
    table: Any = pd.concat(parts, ignore_index=True)
    table = table.rename(columns={"count": "horizon"})
    pairs: Any = table.drop_duplicates(COMPARISON)
    adjusted = pairs.groupby(FAMILY)["p"].transform(lambda p: statistics.holm(p.to_numpy()))
    table = table.merge(pairs[COMPARISON].assign(p_holm=adjusted), on=COMPARISON)
    first = ["data", "horizon", "claim", "arm", "against"]
    return table[[*first, *table.columns.drop(first)]]


def verdicts(table: Any) -> pd.DataFrame:
    """Returns a verdict per data set, claim, arm and horizon of `paired_with_rivals`.

    *holds*: `statistics.ahead` of each rival; *does not hold*: `statistics.worse` than one of them; else *undecided*.
    """
    keys = ["data", "claim", "arm", "horizon"]
    rows = []
    for place, here in table.groupby(keys, sort=False):
        ahead, behind = statistics.ahead(here), statistics.worse(here)
        word = verdict(supported=bool(ahead.all()), contradicted=bool(behind.any()), stand_in=here["stand_in"].any())
        rows.append(
            {**dict(zip(keys, place, strict=True)), "verdict": word, BEHIND: ", ".join(here.loc[~ahead, "against"])}
        )
    return pd.DataFrame(rows)


def chosen_by(errors: Any, comparison: Comparison) -> Any:
    """Returns the mean of what jobs were chosen by per data set, horizon and arm, over the draws that the error beside
    it is of (`draws.is_usable`)."""
    grouped = errors[is_usable(errors)].groupby(["data", "count", "arm"], as_index=False)
    return grouped[[comparison.chosen_by]].mean().rename(columns={"count": "horizon"})


def means_of(jobs: Any, errors: pd.DataFrame, comparison: Comparison) -> pd.DataFrame:
    """Returns geometric means per data set, horizon and arm, with sizes, the mean that was `chosen_by` and the share
    that is `noted`; and where jobs say the seconds of their training, their median and `seconds.on_front`."""
    means: Any = statistics.geometric_means(errors).rename(columns={"count": "horizon"})
    grouped = jobs.groupby(["data", "arm"], as_index=False)
    noted = [comparison.noted] if comparison.noted in jobs else []
    means = means.merge(grouped[[*comparison.sizes]].mean(), on=["data", "arm"])
    means = means.merge(chosen_by(errors, comparison), on=["data", "horizon", "arm"], how="left")
    means = means.merge(grouped[[*noted]].mean(), on=["data", "arm"]) if noted else means
    if "seconds" in jobs:
        means = with_front(means.merge(grouped[["seconds"]].median(), on=["data", "arm"]))
    first = ["data", "horizon", "arm"]
    return means[[*first, *means.columns.drop(first)]].sort_values(first, ignore_index=True)


def claims_in_words(table: Any, claims: Any, comparison: Comparison) -> str:
    """Returns, claim by claim, the ratios that it rests on and its verdicts."""
    texts = []
    for claim in CLAIMS:
        rows, words = table[table["claim"] == claim], claims[claims["claim"] == claim].drop(columns="claim")
        if len(rows):
            divided = "Error of the arm divided by that of the other, paired by seed"
            texts.append(
                f"### {claim[0].upper()}{claim[1:]}\n\n{divided}: {RATIOS}\n\n"
                f"{in_words(first_columns(rows), comparison)}\n\n{in_words(words, comparison)}"
            )
    return "\n\n".join(texts)


def model_against_model(jobs: Any, challenger: str | None, comparison: Comparison) -> Summary:
    """Shows every arm at each horizon, its error against its seconds of training where jobs say them, and the claims of
    the challenger's arms, paired by seed."""
    errors = by_horizon(jobs, comparison)
    means: Any = means_of(jobs, errors, comparison)
    panels, title = drawn(means), heading(f"test {comparison.word} by model", jobs)
    tables, text = {"means.csv": means}, means_in_words(means, comparison)
    shown = {"figures/contenders": figures.contender_figure(panels, comparison, title=title)}
    if "seconds" in means:
        shown["figures/seconds"] = figures.error_by_seconds(panels, comparison, title=title)
        text += f"\n\n{front_in_words(jobs)}"
    table = pd.DataFrame() if challenger is None else paired_with_rivals(errors, challenger, comparison.without)
    if len(table):
        claims = verdicts(table)
        tables |= {"paired.csv": table, "claims.csv": claims}
        text += f"\n\n{claims_in_words(table, claims, comparison)}"
    return Summary(tables, shown, text)
