"""Tables, figures and words on trace estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from pipeline.compare.markdown import markdown_table
from pipeline.job.study import Study
from pipeline.plotting import CAP, HEADING, REFERENCE, legend, line, new_axes, style
from pipeline.systems.trace.claims import claims
from pipeline.systems.trace.config import TraceConfig
from pipeline.systems.trace.problems import TraceProblem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = {"hutchinson": "Hutchinson", "hutch_pp": "Hutch++", "na_hutch_pp": "NA-Hutch++", "xtrace": "XTrace"}


def rows_by_method(table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Returns the rows of each method with its name as it is shown."""
    return [(NAMES[str(method)], rows) for method, rows in table.groupby("method", sort=False)]


def failure_curves(panel: Axes, table: pd.DataFrame) -> None:
    """Draws failures against the number of queries, mean and standard deviation over runs, and beside them what is
    expected of Hutchinson's method."""
    from matplotlib.ticker import PercentFormatter

    for i, (name, rows) in enumerate(rows_by_method(table)):
        spread = rows["failures_sd"].fillna(0.0)
        panel.errorbar(rows["queries"], rows["failures"], yerr=spread, capsize=CAP, label=name, **style(i))
    expected = table.dropna(subset="expected_failures")
    if len(expected):
        label = "Hutchinson, from its variance"
        panel.plot(expected["queries"], expected["expected_failures"], label=label, **REFERENCE)
    panel.set_ylim(-3, 103)
    panel.yaxis.set_major_formatter(PercentFormatter(decimals=0))
    legend(panel)


def failures_figure(table: pd.DataFrame, settings: TraceConfig, *, title: str) -> Figure:
    """Draws failures (mean and standard deviation over runs) and root mean square errors against the number of
    queries."""
    figure, (above, below) = new_axes(title, x="queries (products with A)", y="", rows=2, height=6.5)
    failure_curves(above, table)
    above.set_ylabel(f"estimates further than {settings.estimate.epsilon:.2g}·tr(A)")
    for i, (name, rows) in enumerate(rows_by_method(table)):
        line(below, i, rows["queries"], rows["rms_error"], name)
    below.axhline(settings.estimate.epsilon, **REFERENCE)
    below.set_yscale("log")
    below.set_ylabel("root mean square error / tr(A)")
    below.set_xticks(settings.estimate.queries)
    return figure


def timing_figure(table: pd.DataFrame, *, title: str) -> Figure:
    """Draws the seconds of an estimate, sequential and parallel, against the number of queries."""
    figure, panels = new_axes(title, x="queries (products with A)", y="seconds", rows=2, height=5.5)
    labels = "in one process", f"products over {table['processes'].iloc[0]} processes"
    for panel, column, label in zip(panels, ("sequential", "parallel"), labels, strict=True):
        for i, (name, rows) in enumerate(rows_by_method(table)):
            line(panel, i, rows["queries"], rows[column], f"{name}, rounds: {rows['rounds'].iloc[0]}")
        panel.set_ylim(bottom=0)
        panel.set_title(label, fontsize=HEADING)
    legend(panels[0])
    return figure


def flatness(problem: TraceProblem) -> float | None:
    """Returns tr(A)²/(n‖A‖²_F), between 1/n (one eigenvalue is all) and 1 (all are equal); None where ‖A‖_F is not
    known."""
    return None if problem.norm is None else problem.trace**2 / (problem.size * problem.norm**2)


def log_failures(
    study: Study, problem: TraceProblem, settings: TraceConfig, runs: pd.DataFrame, table: pd.DataFrame
) -> None:
    """Logs the failures and errors of each method by number of queries, as metrics, tables and a figure. runs: as
    `trials.failures` returns them; table: as `trials.summary` does."""
    run = study.run
    for row in table.to_dict("records"):
        for name in ("failures", "rms_error"):
            run.metric(f"trace/{row['method']}/{name}", float(row[name]), int(row["queries"]))
    run.table(runs, "trace/runs.csv")
    run.table(table, "trace/failures.csv")
    run.figure(failures_figure(table, settings, title=f"{study.title}: {problem.what}"), "trace/failures")


def log_claims(study: Study, pairs: pd.DataFrame) -> pd.DataFrame:
    """Logs the paired comparisons and the claims, and returns the claims."""
    verdicts = claims(pairs)
    study.run.table(pairs, "trace/paired.csv")
    study.run.table(verdicts, "trace/claims.csv")
    return verdicts


def log_timings(study: Study, problem: TraceProblem, table: pd.DataFrame) -> None:
    """Logs the seconds of an estimate of each method, as metrics and a table, and as a figure where they were measured
    over several processes too."""
    for row in table.to_dict("records"):
        study.run.metric(f"trace/{row['method']}/seconds", float(row["sequential"]), int(row["queries"]))
        study.run.metric(f"trace/{row['method']}/rounds", int(row["rounds"]))
    study.run.table(table, "trace/seconds.csv")
    if bool(table["parallel"].notna().to_numpy().all()):
        study.run.figure(timing_figure(table, title=f"{study.title}: {problem.what}"), "trace/seconds")


def markdown(table: pd.DataFrame) -> str:
    """Returns the failures in percent in Markdown: a row for each number of queries, a column for each method."""
    wide = table.pivot(index="queries", columns="method", values="failures")
    names = [name for name in NAMES if name in wide.columns]
    lines = [f"| queries | {' | '.join(NAMES[name] for name in names)} |", "|---" * (len(names) + 1) + "|"]
    for queries, row in wide.iterrows():
        lines.append(f"| {queries} | {' | '.join(f'{row[name]:.1f}' for name in names)} |")
    return "\n".join(lines)


def description(
    study: Study, problem: TraceProblem, settings: TraceConfig, table: pd.DataFrame, verdicts: pd.DataFrame
) -> str:
    """Returns words about the matrix, the failures of each method, and the claims."""
    asked = settings.estimate
    flat = flatness(problem)
    spectrum = "" if flat is None else f" Flatness tr(A)²/(n‖A‖²_F): {flat:.3g}."
    return (
        f"**{study.title}**: {problem.what}, {problem.unit} {problem.trace / problem.per:,.2f}.{spectrum}\n\n"
        f"Estimates further than {asked.epsilon:g}·tr(A), in percent of {asked.trials} trials, mean of {asked.runs} "
        f"run(s), {asked.distribution} queries:\n\n{markdown(table)}\n\n"
        f"At which numbers of queries (sign test on the trials, Holm's adjustment):\n\n{markdown_table(verdicts)}\n"
    )
