"""Arms of a multirun beside one another: errors with intervals over drawn cases and starts of training, differences
paired by both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from pipeline.compare.bootstrap import (
    claimed_rows,
    draws_for,
    interval,
    mean_of,
    of_enough_seeds,
    paired_rows,
    shares_of,
)  # fmt: skip
from pipeline.compare.claims import FEW_SEEDS
from pipeline.compare.panels import joined, with_names
from pipeline.systems.forms.claims import INK, Arm, arms_of, claims_on
from pipeline.systems.forms.labels import NEAREST
from pipeline.systems.forms.writers import of_enough_writers

KEPT = ("seconds", "parameters")
UNTRAINED = (INK, NEAREST)  # models without starts of training
OF_STARTS = (  # of a caption, behind what is drawn
    f"the same for both arms of a pair; {FEW_SEEDS}. p is adjusted by Holm over the pairs of a set."
)

ErrorsOfRun = Callable[[str, int], tuple[float, np.ndarray]]  # of a run, over all cases and so many draws, (draw,)


def stand_ins(jobs: Any) -> bool:
    """Returns whether jobs are on data that are generated in place of real ones."""
    return "stand_in" in jobs and bool(jobs["stand_in"].any())


def compared_arms(
    jobs: Any, names: Mapping[str, str], errors_of: ErrorsOfRun, rows: Any, *, finds: bool = True
) -> dict[str, Any]:
    """Returns the tables of a set of jobs, which `labels.labelled` gives, by name: a row an arm, a pair of arms, and a
    claim. Arms are paired as in `families_of`. names: what tells the set from others, the data first. rows: what is
    read or found, with its writers where they are known; of one to five no pair has a verdict. finds: as of
    `claims.claims_on`."""
    arms, whole, drawn = arms_of(jobs), dict[str, float](), dict[str, Any]()
    draws = draws_for(sum(own.model != NEAREST for own in arms.values()))
    for arm, own in jobs.groupby("arm", sort=False):
        own = own.sort_values("seed", kind="stable")
        errors = [errors_of(str(run), draws) for run in own["run_id"]]
        whole[str(arm)] = float(np.mean([one for one, _ in errors]))
        drawn[str(arm)] = over_starts([many for _, many in errors], own["seed"])
    seeds, stand_in = seeds_of(jobs), stand_ins(jobs)
    counts = {arm: 0 if arms[arm].model in UNTRAINED else len(own) for arm, own in seeds.items()}
    claims = [own for own in claims_on(arms, finds=finds) if seeds[own.challenger] == seeds[own.against]]
    pairs = joined([paired_rows(own, whole, drawn, stand_in=stand_in) for own in families_of(seeds, arms)])
    tables = {
        "means": means_of(jobs, whole, drawn),
        "paired": of_enough_seeds(pairs, counts),
        "claims": of_enough_seeds(claimed_rows(claims, whole, drawn, stand_in=stand_in), counts),
    }
    tables = of_enough_writers(tables, rows)
    data, *others = names.values()
    panel = f"{data}: {', '.join(others)}".replace("_", " ")
    return {name: with_names(table, names, panel) for name, table in tables.items()}


def families_of(seeds: Mapping[str, tuple[int, ...]], arms: Mapping[str, Arm]) -> list[list[tuple[str, str]]]:
    """Returns the pairs of arms with the same seeds, and those of each arm and the nearest training image, which has no
    seeds. p is adjusted over each of the two alone, so that the second changes nothing in the first."""
    trained = [arm for arm in seeds if arms[arm].model != NEAREST]
    alike = [(first, second) for first, second in combinations(trained, 2) if seeds[first] == seeds[second]]
    return [alike, [(arm, own) for own in seeds if arms[own].model == NEAREST for arm in trained]]


def seeds_of(jobs: Any) -> dict[str, tuple[int, ...]]:
    """Returns the seeds of each arm, in the order of the arms."""
    return {str(arm): tuple(sorted(own)) for arm, own in jobs.groupby("arm", sort=False)["seed"]}


def over_starts(errors: Sequence[np.ndarray], seeds: Sequence[int]) -> np.ndarray:
    """Returns the mean error of drawn starts of training over drawn cases, (draw,): in each draw as many starts are
    drawn, with replacement, as there are. errors: of the start of each seed over drawn cases. Arms with the same seeds
    have the same draws."""
    every = np.stack(errors, axis=1)
    return mean_of(every, shares_of(list(map(int, seeds)), len(every)))


def said_of_seeds(jobs: Any, sets: Sequence[str]) -> str:
    """Returns a line about each set of arms with unequal seeds, which are not paired; "" without any. sets: what tells
    the sets of a stage apart; what the jobs do not have tells the rows of each job apart."""
    lines, by = [], [name for name in sets if name in jobs]
    for values, own in jobs.groupby(by, sort=False, dropna=False):
        seeds = seeds_of(own)
        if len(set(seeds.values())) > 1:
            told = "; ".join(f"{arm}: {', '.join(map(str, numbers))}" for arm, numbers in seeds.items())
            lines.append(f"{', '.join(map(str, values))}: arms have unequal seeds ({told}). Of two arms with unequal "
                         "seeds no difference is given; run each arm with the same seeds.\n\n")  # fmt: skip
    return "".join(lines)


def means_of(jobs: Any, whole: Mapping[str, float], drawn: Mapping[str, Any]) -> pd.DataFrame:
    """Returns a row an arm: its error with an interval over cases and starts, and what its jobs had in common."""
    rows = []
    for arm, error in whole.items():
        own = jobs[jobs["arm"] == arm]
        low, high = interval(drawn[arm])
        row = {"arm": arm, "jobs": len(own), "error": error, "low": low, "high": high}
        rows.append(row | {name: float(own[name].mean()) for name in KEPT})
    return pd.DataFrame(rows)
