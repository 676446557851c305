"""What the parent of a multirun of `recipe=ssgp` shows: means, claims paired over seeds, curves and words.

A row of curves is a point of one; `arm` is a model with its sampler, `p` its number of frequencies (0: it has none).
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from models.ssgp.method import MODELS, Linear
from pipeline.compare import statistics
from pipeline.compare.markdown import markdown_table
from pipeline.plotting import Grid, colour, curve, legend_beside, new_panels, whole_ticks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLAIMS = (  # challenger, baseline; those of samplers are made by `pairs_of`
    ("ssgp/iid", "rff/iid"),
    ("ssgp/iid", "svgp"),
    ("ssgp/iid", "full_gp"),
    ("revisited/iid", "pca/iid"),
    ("revisited/iid", "vae_ridge"),
)
RIDGE = Linear.name  # what each arm is compared with where no autoencoder ran
FRONT = ["arm", "p", "seed", "seeded"]
SCORES = ("rmse", "nlpd")
CURVES = ("ssgp/iid", "ssgp/orthogonal", "spectrum/iid", "revisited/iid", "rff/iid")
LEVELS: dict[str, Any] = {  # models without a number of frequencies, drawn at one height: how they are dashed
    "full_gp": "-", "ridge": (0, (1, 3)), "vae_ridge": (0, (5, 4)),
}  # fmt: skip
LINES = 5  # of a panel, at most
AXIS = "iteration of training the hyper-parameters, as far as all seeds have come; median over seeds, band: quartiles"
AXIS_LETTERS = 13  # an inch of it holds
PANEL, MARGIN = (3.6, 4.2), (2.2, 0.0)  # width and height of a panel, and of what is around all of them; inches
SHOWN = ["challenger", "baseline", "score", "p", "pairs", "ratio", "ratio_low", "ratio_high", "p_holm"]


class DataSet(NamedTuple):
    """Says what is known of the points: their name, that of the target, and whether they stand in for real ones."""

    name: str
    target_name: str
    stand_in: bool


def means_of(chosen: Any) -> pd.DataFrame:
    """Returns mean, median and standard deviation over seeds, a row per arm and number of frequencies.

    kept: the median of the iterations that were kept. untrained: the number of seeds in which the kept iteration is the
    one before any training.
    """
    trained = ~chosen["arm"].isin([model.name for model in MODELS.values() if model.linear])
    groups = chosen.assign(
        iteration=chosen["iteration"].where(trained), untrained=(chosen["iteration"] == 0) & trained
    ).groupby(["arm", "p"], sort=False)
    means = groups.agg(
        runs=("seed", "size"), rmse=("test_rmse", "mean"), rmse_sd=("test_rmse", "std"),
        rmse_median=("test_rmse", "median"), nlpd=("test_nlpd", "mean"), nlpd_sd=("test_nlpd", "std"),
        validation_rmse=("validation_rmse", "mean"), kept=("iteration", "median"), untrained=("untrained", "sum"),
        seconds=("seconds", "mean"),
    )  # fmt: skip
    return means.reset_index()


def jobs_of(chosen: Any, score: str, points: DataSet) -> pd.DataFrame:
    """Returns the rows that `statistics` reads. The error is the RMSE, or exp(NLPD), whose log ratio is the difference.

    An arm without frequencies stands beside every number of them. One whose fit does not depend on the seed (`seeded`
    is false) and ran once stands beside every seed.
    """
    error = chosen[f"test_{score}"] if score == "rmse" else np.exp(chosen["test_nlpd"])
    jobs: Any = (
        chosen[FRONT]
        .rename(columns={"p": "count"})
        .assign(data=points.name, error=error, stable=True, stand_in=points.stand_in)
    )
    once = ~jobs.pop("seeded").astype(bool) & (jobs.groupby("arm")["seed"].transform("nunique") == 1)
    jobs = pd.concat([jobs[~once], *(jobs[once].assign(seed=seed) for seed in sorted(set(jobs["seed"])))])
    counts = sorted(set(jobs["count"]) - {0})
    without = [jobs[jobs["count"] == 0].assign(count=count) for count in counts]
    return pd.concat([jobs[jobs["count"] > 0], *without], ignore_index=True) if counts else jobs


def pairs_of(arms: Sequence[str]) -> list[tuple[str, str]]:
    """Returns pairs of a challenger and a baseline that both ran: a model that changes an SSGP against the SSGP, a
    sampler against iid, those of `CLAIMS`, and every arm against ridge regression (`pairs_with_ridge`)."""
    drawn = [arm.split("/") for arm in arms if "/" in arm]
    done = [(f"{model}/{sampler}", f"ssgp/{sampler}") for model, sampler in drawn if MODELS[model].changes_ssgp]
    samplers = [(f"ssgp/{sampler}", "ssgp/iid") for model, sampler in drawn if model == "ssgp" and sampler != "iid"]
    return [pair for pair in (*done, *samplers, *CLAIMS, *pairs_with_ridge(arms)) if set(pair) <= set(arms)]


def pairs_with_ridge(arms: Sequence[str]) -> list[tuple[str, str]]:
    """Returns a pair of each other arm with ridge regression. There is none where an arm has an autoencoder: that is
    the thesis's comparison, whose claims are fixed."""
    thesis = any(MODELS[arm.partition("/")[0]].inputs == "autoencoder" for arm in arms)
    return [] if thesis else [(arm, RIDGE) for arm in arms if arm != RIDGE]


def claims_of(chosen: Any, points: DataSet) -> tuple[Any, pd.DataFrame]:
    """Returns the paired rows and the verdicts of every pair of arms that `pairs_of` finds; both are empty without a
    pair."""
    pairs, verdicts = [], []
    for challenger, baseline in pairs_of(list(dict.fromkeys(chosen["arm"]))):
        for score in SCORES:
            jobs = jobs_of(chosen[chosen["arm"].isin([challenger, baseline])], score, points)
            table = statistics.paired(jobs, baseline=baseline, challenger=challenger)
            names = {"challenger": challenger, "baseline": baseline, "score": score}
            pairs.append(table.assign(**names).rename(columns={"p": "p_value"}).rename(columns={"count": "p"}))
            verdicts.append(statistics.verdicts(table, f"{challenger} ahead of {baseline}").assign(score=score))
    empty = pd.DataFrame()
    return (pd.concat(pairs), pd.concat(verdicts)) if pairs else (empty, empty)


def lines_of(arms: Sequence[str]) -> list[str]:
    """Returns the arms whose curves are drawn: those of `CURVES`, and as many of the others as there is room for. What
    is left out stands in the tables."""
    first = [arm for arm in CURVES if arm in arms]
    return (first + [arm for arm in arms if arm not in CURVES])[:LINES]


def curve_figure(table: Any, points: DataSet, *, title: str) -> Figure:
    """Returns a figure of the test RMSE over iterations, as the thesis's figures 3.1 and 3.4. It has a panel per number
    of frequencies, of which there is one at least (`has_curves`)."""
    counts = sorted(set(table["p"]) - {0})
    width = MARGIN[0] + PANEL[0] * len(counts)
    figure, axes = new_panels(
        [f"p = {count} frequencies" for count in counts], title, x=textwrap.fill(AXIS, int(AXIS_LETTERS * width)),
        y=f"test RMSE ({points.target_name})", grid=Grid(len(counts), PANEL, MARGIN),
    )  # fmt: skip
    best = best_lines(table)
    for count, panel in zip(counts, axes.values(), strict=True):
        here = table[table["p"] == count]
        for index, arm in enumerate(lines_of(list(dict.fromkeys(here["arm"])))):
            curve(panel, index, over_seeds(here[here["arm"] == arm]), "iteration", arm, markers=False)
        for arm, (error, style) in best.items():
            panel.axhline(error, color=colour(0), linewidth=0.8, linestyle=style, label=arm)
        whole_ticks(panel)
    legend_beside(figure)
    return figure


def has_curves(table: Any) -> bool:
    """Returns true where there is a panel to draw: an arm with frequencies or inducing points."""
    return bool((table["p"] > 0).any())


def over_seeds(rows: Any) -> pd.DataFrame:
    """Returns the quartiles of the test RMSE at the iterations that all seeds have come to."""
    seeds = rows.groupby("iteration")["seed"].transform("nunique")
    complete = rows[seeds == rows["seed"].nunique()]
    quartiles = complete.groupby("iteration")["test_rmse"].quantile([0.25, 0.5, 0.75]).unstack().reset_index()
    return quartiles.rename(columns={0.25: "error_low", 0.5: "error", 0.75: "error_high"})


def best_lines(table: Any) -> dict[str, tuple[float, Any]]:
    """Returns the chosen error of each arm that has no number of frequencies, with its line style: the median over the
    seeds."""
    chosen = table[table["chosen"]]
    return {
        arm: (float(chosen.loc[chosen["arm"] == arm, "test_rmse"].median()), style)
        for arm, style in LEVELS.items()
        if arm in set(chosen["arm"])
    }


def in_words(means: pd.DataFrame, paired: Any, claims: pd.DataFrame) -> str:
    """Returns the three tables in Markdown, and what a ratio is of; without pairs the means alone."""
    text = markdown_table(means, digits=4)
    if not len(paired):
        return text
    said = ("A ratio below 1 is in favour of the challenger. Of *nlpd* it is that of exp(NLPD), whose logarithm is the "
            "difference in nats.")  # fmt: skip
    return "\n\n".join([text, markdown_table(paired[SHOWN]), said, markdown_table(claims)])
