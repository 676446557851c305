"""The jobs of a multirun of `recipe=documents` as its parent shows them: errors, and differences paired by document."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from mlflow.tracking import MlflowClient

from data.files.exact_numbers import EXACT
from pipeline.compare.arm_figure import errors_by_arm
from pipeline.compare.bootstrap import claimed_rows, of_enough_seeds, paired_arms
from pipeline.compare.claims import FEW_SEEDS
from pipeline.compare.panels import panels_in_words, tables_of_sets, with_names
from pipeline.compare.words import Summary
from pipeline.systems.documents.claims import SHORT, claims_on
from pipeline.systems.documents.drawn import Sums, interval_of, whole_and_drawn
from pipeline.systems.documents.figures import errors_by_length, errors_by_most
from pipeline.systems.documents.labels import SETS, labelled, most_tokens, of_simple, parts_of, without_most
from pipeline.systems.documents.report import BASELINES, BY_DOCUMENT
from pipeline.systems.documents.scores import LEAST_WORDS, SUMS
from pipeline.tracking.artifacts import read_by_run

NOISE = re.compile(r"\bjitter [\d.]+|\bshuffled\b")  # in the name of an arm that reads documents worse than they are
NO_SEED = -1  # of a simple model
Tables = dict[str, dict[Any, pd.DataFrame]]  # by arm, and by seed and run
TEXTS: Any = dict.fromkeys(("document", "baseline"), str)  # documents may be called "NA", or "01" beside "1"
X = (
    "test error (1 − F1, 1 − accuracy, or nats a hidden token)\n"
    "mean over seeds; bars: 95 % interval over documents and seeds"
)
CAPTION = (
    "Errors of the test part, the mean over seeds: 1 − F1 of entities by the strict rule, 1 − accuracy of classes, or "
    "nats a hidden token. The intervals and p are of a bootstrap that draws documents, whole, and seeds, the same for "
    "both arms of a pair where they have the same seeds; of one seed it draws documents alone. A simple model has no "
    f"seeds. Of others {FEW_SEEDS}. p is adjusted by Holm over the pairs of a set. *verdict*: whether *arm* has a "
    "lower error than *against*. *reach*: the share of cues that attention sees in one layer. *ceiling*: the accuracy "
    "of who knows the answers within that reach and guesses the others; several layers may see farther. "
    "*short_of_ceiling*: by how much the accuracy, of entities that of tagged words, is below the ceiling."
)


def summarise(client: MlflowClient, jobs: Any, title: str) -> Summary:
    """Returns what the parent shows of its jobs: tables, a figure, and words about them."""
    parts = [
        sums.assign(run_id=run)
        for job in jobs["run_id"]
        for file in (BY_DOCUMENT, BASELINES)
        for run, sums in read_by_run(client, [job], file, sums_in)
    ]
    return summary_of(jobs, pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(), title)


def sums_in(path: Path) -> pd.DataFrame:
    """Returns the sums of each document, those of a network with "" as `baseline`."""
    table = pd.read_csv(path, dtype=TEXTS, keep_default_na=False, na_values=[""], **EXACT).fillna(0)
    return table if "baseline" in table else table.assign(baseline="")


def summary_of(jobs: Any, documents: pd.DataFrame, title: str) -> Summary:
    """Returns tables, figure and words. documents: the sums of each test document by run_id, those of
    simple models with their name as `baseline`."""
    jobs = labelled(jobs)
    sets, unlike = list[dict[str, pd.DataFrame]](), list[str]()
    for values, own in jobs.groupby(SETS, sort=False):
        names = dict(zip(SETS, values, strict=True))
        by_arm = tables_by_arm(own, documents, str(names["task"]))
        unlike += said_of_unlike(by_arm, panel_of(names))
        sums, words = sums_by_arm(by_arm)
        if sums:
            sets.append(tables_of(own, sums, words, names))
    if not sets:
        return Summary({}, {}, "\n\n".join(unlike) or "No job has scores by document.")
    tables = tables_of_sets(sets)
    text = "\n\n".join([CAPTION, *unlike, *panels_in_words(tables, SETS)])
    return Summary(tables | {"documents.csv": documents}, figures_of(tables, title), text)


def tables_of(jobs: Any, sums: dict[str, Sums], words: np.ndarray, names: dict[str, Any]) -> dict[str, Any]:
    """Returns the tables of a set by name: a row an arm, a pair of arms, a claim, and an arm and length."""
    whole, drawn = whole_and_drawn(sums, str(names["task"]))
    claims = list(claims_on(list(sums), short=bool(words.max() <= SHORT)))
    stand_in, panel = bool(jobs["stand_in"].any()), panel_of(names)
    seeds = {arm: len(own.seeds) for arm, own in sums.items()}
    paired = paired_arms(whole, drawn, stand_in=stand_in)
    claimed = claimed_rows(claims, whole, drawn, stand_in=stand_in)
    return {
        "means": means_of(jobs, sums, names),
        "paired": with_names(of_enough_seeds(paired, seeds), names, panel),
        "claims": with_names(of_enough_seeds(claimed, seeds), names, panel),
        "by_length": by_length(sums, words, names),
    }


def by_most(means: Any) -> pd.DataFrame:
    """Returns the rows of arms that read so many tokens at most, as `most_tokens`, with what is common to arms that
    differ in these alone as `line`; none of a set whose arms all read as many."""
    rows: Any = means.assign(most_tokens=means["arm"].map(most_tokens), line=means["arm"].map(without_most))
    rows = rows.dropna(subset="most_tokens").sort_values("most_tokens", kind="stable")
    return rows[rows.groupby("panel")["most_tokens"].transform("nunique") > 1]


def figures_of(tables: dict[str, pd.DataFrame], title: str) -> dict[str, Any]:
    """Returns the arms side by side, where documents differ in length their errors by it, and where arms differ in how
    many tokens they read their errors by that."""
    figures = {"figures/arms": errors_by_arm(tables["means.csv"], title=f"{title}: arms side by side", x=X)}
    lengths = tables["by_length.csv"]
    if lengths["least_words"].nunique() > 1:
        figures["figures/by_length"] = errors_by_length(lengths, title=f"{title}: long documents alone")
    most = by_most(tables["means.csv"])
    if len(most):
        figures["figures/by_most"] = errors_by_most(most, title=f"{title}: so many tokens read")
    return figures


def with_arms(jobs: Any, documents: Any) -> Any:
    """Returns the rows of documents that belong to these jobs, with their arm: a simple model's name is one."""
    own = documents[documents["run_id"].isin(jobs["run_id"])]
    arms = own["run_id"].map(dict(zip(jobs["run_id"], jobs["arm"], strict=True)))
    own = own.assign(baseline=[with_noise(name, str(arm)) for name, arm in zip(own["baseline"], arms, strict=True)])
    own = own.assign(arm=arms.where(own["baseline"] == "", own["baseline"]))
    return own.sort_values("baseline", kind="stable")


def with_noise(name: str, arm: str) -> str:
    """Returns the name of a simple model with how its job reads documents worse than they are, and with settings of the
    arm that change it, "" for a network. Jobs of older versions did not write the noise."""
    noise = " ".join(NOISE.findall(arm))
    named = f"{name} {noise}" if name and noise not in name else name
    more = of_simple(parts_of(arm).settings) if name else ""
    return f"{named}, {more}" if more else named


def tables_by_arm(jobs: Any, documents: Any, task: str) -> Tables:
    """Returns the words and sums of each test document by arm and by seed and run, indexed by the names of its
    documents; behind them those of simple models, of the first job that has them."""
    own = with_arms(jobs, documents) if len(documents) else documents
    if not len(own):
        return {}
    once = own[(own["baseline"] == "") | (own["run_id"] == own.groupby("arm")["run_id"].transform("first"))]
    seeds = once["run_id"].map(dict(zip(jobs["run_id"], jobs["seed"], strict=True)))
    once = once.assign(seed=seeds.where(once["baseline"] == "", NO_SEED).astype(int))
    columns = ["words", *SUMS[task]]
    return {
        str(arm): {key: table.set_index("document")[columns] for key, table in rows.groupby(["seed", "run_id"])}
        for arm, rows in once.groupby("arm", sort=False)
    }


def shared_by(tables: Tables) -> list[str]:
    """Returns the names of the documents that all tables have, in their order."""
    names = [set(table.index) for each in tables.values() for table in each.values()]
    return sorted(set.intersection(*names)) if names else []


def said_of_unlike(tables: Tables, panel: str) -> list[str]:
    """Returns a line about jobs whose test documents are not the same, none where they are."""
    shared = len(shared_by(tables))
    every = len({name for each in tables.values() for table in each.values() for name in table.index})
    if shared == every:
        return []
    advice = "these alone are compared" if shared else "nothing is compared; give jobs the same data"
    return [f"{panel}: jobs have unlike test documents. Of {every} all jobs have {shared}; {advice}."]


def sums_by_arm(tables: Tables) -> tuple[dict[str, Sums], np.ndarray]:
    """Returns the sums of each test document and job by arm, of the documents that all jobs share, by their names.
    Beside them the words of each document."""
    names = shared_by(tables)
    if not names:
        return {}, np.zeros(0)
    own = {arm: np.stack([table.loc[names].to_numpy(float) for table in each.values()]) for arm, each in tables.items()}
    words = next(iter(own.values()))[0, :, 0]
    seeds = {arm: tuple(seed for seed, _ in each if seed != NO_SEED) for arm, each in tables.items()}
    return {arm: Sums(values[..., 1:], seeds[arm]) for arm, values in own.items()}, words


def by_length(sums: dict[str, Sums], words: np.ndarray, names: dict[str, Any]) -> pd.DataFrame:
    """Returns a row an arm and each of `LEAST_WORDS`: the error over the documents of at least so many words, with its
    interval; lengths that leave fewer than two documents, or all of them again, have no row."""
    rows, task = [], str(names["task"])
    counts = {least: int((words >= least).sum()) for least in LEAST_WORDS}
    kept = [k for i, k in enumerate(LEAST_WORDS) if counts[k] > 1 and (not i or counts[k] < counts[LEAST_WORDS[i - 1]])]
    for least, (arm, own) in product(kept or [0], sums.items()):
        chosen = own._replace(values=own.values[:, words >= least])
        rows.append({**names, "panel": panel_of(names), "arm": arm, "least_words": least,
                     "documents": chosen.values.shape[1], **interval_of(task, chosen)})  # fmt: skip
    return pd.DataFrame(rows)


def means_of(jobs: Any, sums: dict[str, Sums], names: dict[str, Any]) -> pd.DataFrame:
    """Returns a row an arm: its error with an interval over documents and seeds, and its scores."""
    task, rows = str(names["task"]), []
    for arm, own in sums.items():
        table = jobs[jobs["arm"] == arm]
        row = {**names, "panel": panel_of(names), "arm": arm}
        row |= {"jobs": len(own.values), "documents": own.values.shape[1]}
        spread = table["test_error"].std(ddof=1) if len(table) else np.nan
        row |= {**interval_of(task, own), "error_sd": spread}
        kept = ("reach", "ceiling", "keys_per_query", "parameters", "seconds", "test_token_accuracy")
        row |= {name: float(table[name].mean()) for name in kept if name in table and len(table)}
        if "ceiling" in row:
            row["short_of_ceiling"] = row["ceiling"] - accuracy_of(task, row)
        rows.append(row)
    return pd.DataFrame(rows)


def accuracy_of(task: str, row: dict[str, Any]) -> float:
    """Returns the accuracy that a ceiling bounds: of tagged words where it is known, as F1 counts words that were named
    in error too; else 1 − error."""
    known = row.get("test_token_accuracy", np.nan) if task == "entities" else np.nan
    return 1 - row["error"] if np.isnan(known) else known


def panel_of(names: dict[str, Any]) -> str:
    """Returns what a set of data and task is called."""
    cue = f", cue {names['cue']}" if names["cue"] else ""
    return f"{names['data']}: {names['task']}{cue}"
