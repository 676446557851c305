"""The jobs of a multirun of `recipe=experts` as its parent shows them: the thesis's tables, claims and goals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from mlflow.tracking import MlflowClient

from pipeline.compare import statistics
from pipeline.compare.words import Summary
from pipeline.systems.experts.arm_figures import chrf_by_pairs, nats_by_arm, scores_by_task
from pipeline.systems.experts.claims import paired_of
from pipeline.systems.experts.curves import CURVES, curves_of
from pipeline.systems.experts.embeddings import EMBEDDINGS, embeddings_of
from pipeline.systems.experts.extra_tables import with_extra_tables
from pipeline.systems.experts.figures import share_maps
from pipeline.systems.experts.goals import goals_of
from pipeline.systems.experts.labels import is_of_several, labelled, with_data
from pipeline.systems.experts.scores import paired_bleu
from pipeline.systems.experts.side_by_side import EXAMPLES, SAID, examples_of, said_of, side_by_side
from pipeline.systems.experts.tables import by_task, fewshot_of, means_of, thesis_of
from pipeline.systems.experts.words import page
from pipeline.tracking.artifacts import tables_by_run

TRANSLATIONS, PAIRS, SHARES = "translations.csv", "pairs.csv", "shares.csv"
LEARNED = ("token", "sentence", "dense+dynamic", "token+dynamic", "token+shared")  # arms whose shares are drawn
WORDS: Any = dict.fromkeys(("task", "source", "reference", "translation"), str)  # also a sentence that is a number


def summarise(client: MlflowClient, jobs: Any, title: str) -> Summary:
    """Returns what the parent shows of its jobs: tables, figures, and words about them."""
    named = labelled(jobs)
    paired = paired_of(named)
    written = translations_of(client, named)
    summary = summary_of(named, paired, bleu_of_claims(paired, named, written), title)
    beside = {PAIRS: first_table(client, named, PAIRS), SHARES: shares_of(client, named)}
    shown = side_by_side(named, written)
    extra = {
        EMBEDDINGS: embeddings_of(client, named), CURVES: curves_of(client, named), EXAMPLES: examples_of(shown, named),
    }  # fmt: skip
    tables = {**summary.tables, **{name: table for name, table in (beside | extra).items() if len(table)}}
    figures = {**summary.figures, **share_figures(beside[SHARES], title)}
    texts = {SAID: said_of(shown, named)} if len(shown) else {}
    return with_extra_tables(summary._replace(tables=tables, figures=figures, texts=texts), extra, title)


def summary_of(jobs: pd.DataFrame, paired: pd.DataFrame, bleu: pd.DataFrame, title: str) -> Summary:
    """Returns tables, figures and words. jobs: as `labelled` gives them; bleu: as `bleu_of_claims` does."""
    means, tasks = means_of(jobs), by_task(jobs)
    has_bleu = bool(np.isfinite(tasks["bleu"].to_numpy(np.float64)).any())
    tables = {"means": means, "tasks": tasks, "thesis": thesis_of(tasks), "paired": paired, "bleu": bleu}
    tables |= {"fewshot": fewshot_of(jobs)}
    tables["goals"] = goals_of(jobs, paired, tables["fewshot"])
    figures = {"figures/arms": nats_by_arm(jobs, means, title=f"{title}: arms side by side")}
    if has_bleu:
        figures["figures/tasks"] = scores_by_task(tasks, title=f"{title}: BLEU by task")
    if len(tables["fewshot"]):
        figures["figures/fewshot"] = chrf_by_pairs(tables["fewshot"], title=f"{title}: new tasks")
    return Summary({f"{name}.csv": table for name, table in tables.items() if len(table)}, figures, page(tables))


def translations_of(client: MlflowClient, jobs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Returns the translations of the test part by run, of the jobs that logged them."""
    every: Any = tables_by_run(client, jobs["run_id"], TRANSLATIONS, keep_default_na=False, dtype=WORDS)
    return {run: table[table["part"] == "test"] for run, table in every}


def first_table(client: MlflowClient, jobs: pd.DataFrame, name: str) -> pd.DataFrame:
    """Returns the table of that name of each data set's first job, one below the other."""
    return one_below_the_other(client, jobs.drop_duplicates("data"), name, ["data"])


def shares_of(client: MlflowClient, jobs: pd.DataFrame) -> pd.DataFrame:
    """Returns for each data set and arm which share of a task's tokens each expert and adapter has, in the first of its
    jobs: experts of different jobs bear the same numbers by chance alone."""
    first = jobs.drop_duplicates(["data", "arm"])
    return one_below_the_other(client, first, SHARES, ["data", "arm", "seed"])


def one_below_the_other(client: MlflowClient, jobs: Any, name: str, told: list[str]) -> pd.DataFrame:
    """Returns the tables of that name of the jobs that logged one. told: columns of jobs that stand in it too."""
    found = dict(tables_by_run(client, jobs["run_id"], name))
    own = jobs[jobs["run_id"].isin(list(found))].to_dict("records")
    tables = [found[str(job["run_id"])].assign(**{column: job[column] for column in told}) for job in own]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def share_figures(shares: Any, title: str) -> dict[str, Any]:
    """Returns the shares of tasks by experts and by adapters, a figure for each data set, learned arm and kind."""
    if not len(shares):
        return {}
    figures = {}
    for (data, arm, kind), own in shares[shares["arm"].isin(LEARNED)].groupby(["data", "arm", "kind"], sort=False):
        what = with_data(shares, data, f"{kind}s of {arm} by task")
        words = f"{title}: {what}, test part, seed {own['seed'].iloc[0]}"
        name = f"{kind}s_{arm.replace('+', '_')}" + (f"_{len(figures)}" if is_of_several(shares) else "")
        figures[f"figures/{name}"] = share_maps(own, title=words, what=str(kind))
    return figures


def bleu_of_claims(paired: Any, jobs: Any, written: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Returns a row per data set and pair of arms of the claims: BLEU of both over the translations of the seeds that
    both have, and p of the paired bootstrap over test sentences; p_holm is adjusted over the pairs of a data set."""
    rows = []
    columns = ["data", "against", "challenger"]
    for data, against, challenger in paired[columns].drop_duplicates().itertuples(index=False) if len(paired) else ():
        own = jobs[(jobs["data"] == data) & jobs["run_id"].isin(written)]
        sides = [own[own["arm"] == arm].set_index("seed")["run_id"] for arm in (against, challenger)]
        seeds = sides[0].index.intersection(sides[1].index)
        if len(seeds):
            both = [pd.concat([written[side[seed]] for seed in seeds]) for side in sides]
            rows.append({"data": data, "against": against, "challenger": challenger, **paired_bleu(*both)})
    table = pd.DataFrame(rows)
    if len(table):
        table["p_holm"] = table.groupby("data")["p"].transform(lambda p: statistics.holm(p.to_numpy()))
    return table
