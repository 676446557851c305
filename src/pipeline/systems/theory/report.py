"""What recipe=theory leaves in the store: tables, figures and words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from models.theory.bounds import count_for_theorem_2
from pipeline.compare.markdown import markdown_table
from pipeline.job.study import Study
from pipeline.systems.theory import figures, tables
from pipeline.systems.theory.config import TheorySettings
from pipeline.systems.theory.draws import KernelOnInputs, Measured
from pipeline.systems.theory.inputs import GENERATED, Collection
from pipeline.tracking.run import Run

MOST_WRITTEN = 10**15
LIKELY = 0.05  # the probability of failure that theorem 2 is asked for in words


def log_inputs(run: Run, collection: Collection) -> None:
    """Logs the first inputs, which stand for all of them in MLflow; the digest is that of all."""
    first = collection.inputs[0].points.cpu().numpy()
    frame = pd.DataFrame(first, columns=pd.Index([f"x{i + 1}" for i in range(first.shape[1])]))
    digest = collection.checksum
    run.dataset(frame, name=collection.name, source=collection.source, digest=digest, context="training")


def log_kernel_problem(run: Run, problem: KernelOnInputs, measured: Measured) -> None:
    """Logs the medians over draws with m as the step, and the statistical dimension and the risk of K itself."""
    run.metric(f"exact/{problem.name}/statistical_dimension", measured.exact.dimension)
    run.metric(f"exact/{problem.name}/risk", measured.exact.total)
    for (sampler, count), rows in tables.groups(measured.draws, "sampler", "count"):
        for quantity in tables.QUANTITIES:
            run.metric(f"{quantity}/{problem.name}/{sampler}", float(rows[quantity].median()), int(count))


def all_tables(
    problems: Sequence[KernelOnInputs], measured: Sequence[Measured], theory: TheorySettings
) -> dict[str, Any]:
    """Returns every table by its name. Those of pairs and claims are left out without a pair of samplers to compare."""
    draws = tables.draws_table(problems, measured)
    paired, failed, claims = [], [], []
    for pair in tables.comparisons(theory):
        for quantity, claim in tables.QUANTITIES.items():
            paired.append(tables.paired_table(draws, quantity, *pair))
            claims.append(tables.claim_rows(paired[-1], claim, pair))
        failed.append(tables.paired_failures(draws, *pair, theory.thresholds))
        claims.append(tables.claim_rows(failed[-1], tables.FAILS_LESS_OFTEN, pair))
    by_name = {
        "draws": draws,
        "problems": tables.problems_table(problems, measured, theory.ridge),
        "failures": tables.failure_table(draws, theory, theory.rows),
        "theorem_1": tables.theorem_1_table(draws),
    }
    if claims:
        by_name |= {"paired": pd.concat(paired), "paired_failures": pd.concat(failed), "claims": pd.concat(claims)}
        by_name["ordering"] = tables.ordering_table(by_name["claims"])
    return by_name


def log_kernel_figures(run: Run, kernel: str, by_name: dict[str, Any], theory: TheorySettings, title: str) -> None:
    """Logs the figures of one kernel: Δ and failures (first threshold) against m, and the distributions at the middle
    m."""
    draws, failed = (by_name[name][by_name[name]["kernel"] == kernel] for name in ("draws", "failures"))
    order, middle = list(theory.samplers), sorted(theory.counts)[len(theory.counts) // 2]
    title = f"{title} · {kernel} kernel, N = {theory.rows}, λ = {theory.ridge:g}"
    jobs = tables.jobs_of(draws.drop(columns="problem").rename(columns={"inputs": "problem"}), "delta")
    run.figure(figures.by_count(jobs, order, title=title, y="Δ"), f"figures/delta_{kernel}")
    figure = figures.failures(failed, order, title=title, threshold=theory.thresholds[0])
    run.figure(figure, f"figures/failures_{kernel}")
    at_middle = draws[draws["count"] == middle]
    for quantity, words in (("delta", "Δ"), ("risk", "risk of ridge regression on the features")):
        figure = figures.distributions(at_middle, order, quantity, title=f"{title}, m = {middle}", x=words)
        run.figure(figure, f"figures/{quantity}_distribution_{kernel}")


def log_ratio_figures(run: Run, by_name: dict[str, Any], theory: TheorySettings, title: str) -> None:
    """Logs the ratios of each sampler's Δ to that of the first baseline by dimension, where there are Gaussian inputs
    of more than one dimension."""
    baseline = theory.baselines[0]
    for challenger in (c for b, c in tables.comparisons(theory) if b == baseline):
        table = by_name["paired"]
        chosen = (table["baseline"] == baseline) & (table["challenger"] == challenger) & (table["quantity"] == "delta")
        rows = table[chosen & (table["family"] == GENERATED)]
        if rows["dimension"].nunique() > 1:
            name = f"{challenger}_over_{baseline}"
            figure = figures.ratio_by_dimension(rows, title=title, y=f"Δ of {challenger} / Δ of {baseline}")
            run.figure(figure, f"figures/ratio_{name}")


def words(by_name: dict[str, Any], theory: TheorySettings, title: str) -> str:
    """Returns the Markdown that the UI shows first."""
    checked = by_name["theorem_1"]
    said, violated = int(checked["delta_below_1"].sum()), int(checked["violated"].sum())
    least = min(theory.thresholds)
    needed = count_for_theorem_2(least, LIKELY, rows=theory.rows, ridge=theory.ridge)
    promised = f"from m = {needed} on" if needed < MOST_WRITTEN else "at no m that could be drawn"
    text = (
        f"{title}\n\nN = {theory.rows}, λ = {theory.ridge:g}, σ = {theory.noise:g}, {theory.draws} draws.\n\n"
        f"Theorem 1: Δ < 1 in {said} of {int(checked['draws'].sum())} draws, bound violated in {violated}.\n\n"
        f"Theorem 2's bound promises P(Δ > {least:g}) ≤ {LIKELY:g} {promised}.\n\n"
    )
    return text + (markdown_table(by_name["ordering"]) if "ordering" in by_name else "One sampler: nothing to compare.")


def report(
    opened: Study, problems: Sequence[KernelOnInputs], measured: Sequence[Measured], theory: TheorySettings
) -> None:
    """Logs tables, figures and description, and prints the description, which has the claims."""
    by_name = all_tables(problems, measured, theory)
    for name, table in by_name.items():
        opened.run.table(table, f"tables/{name}.csv")
    for kernel in theory.kernels:
        log_kernel_figures(opened.run, kernel, by_name, theory, opened.title)
    if "paired" in by_name:
        log_ratio_figures(opened.run, by_name, theory, opened.title)
    description = words(by_name, theory, opened.title)
    opened.run.describe(description)
    print(description)
