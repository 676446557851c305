"""Tables, figures and words on the trace of a matrix of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from models.trace.arguments import AUTO
from pipeline.job.study import Study, log_metrics
from pipeline.plotting import REFERENCE, band, legend, line, new_axes
from pipeline.systems.trace.config import TraceConfig
from pipeline.systems.trace.own import MEANINGS, OwnMatrix
from pipeline.systems.trace.report import NAMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALL_NAMES = {AUTO: "chosen by what is measured", **NAMES}


def figure_of(table: pd.DataFrame, trace: float | None, *, title: str) -> Figure:
    """Draws estimates with two standard errors, and relative standard errors, against the number of queries. trace: the
    exact value, where it is known."""
    figure, (above, below) = new_axes(title, x="queries (products with f(A))", y="", rows=2, height=6.5)
    for i, (method, rows) in enumerate(table.groupby("method", sort=False)):
        name, spread = ALL_NAMES[str(method)], 2 * rows["standard_error"]
        line(above, i, rows["queries"], rows["estimate"], name)
        if method == AUTO:
            band(above, i, rows["queries"], rows["estimate"] - spread, rows["estimate"] + spread, "± 2 standard errors")
        line(below, i, rows["queries"], rows["relative_error"], name)
    if trace is not None:
        above.axhline(trace, label="exact", **REFERENCE)
    above.set_ylabel("estimate")
    below.set_ylabel("standard error / |estimate|")
    if (table["relative_error"] > 0).any():
        below.set_yscale("log", nonpositive="mask")
    legend(above)
    return figure


def log_curve(study: Study, own: OwnMatrix, table: pd.DataFrame, trace: float | None) -> None:
    """Logs every number of the table, and the last chosen estimate as `trace/estimate` and so on. trace: the exact
    value, where it is known."""
    last = table[table["method"] == AUTO].iloc[-1]
    names = ("estimate", "standard_error", "flatness", "tail")
    metrics = {f"trace/{name}": float(last[name]) for name in names} | {"trace/size": float(own.data.size)}
    log_metrics(study.run, metrics if trace is None else {**metrics, "trace/reference": trace})
    for row in table.to_dict("records"):
        for name in ("estimate", "standard_error"):
            study.run.metric(f"trace/{row['method']}/{name}", float(row[name]), int(row["queries"]))
    study.run.table(table, "trace/estimates.csv")
    study.run.figure(figure_of(table, trace, title=f"{study.title}: {own.what}"), "trace/estimates")


def words_of_exact(own: OwnMatrix, settings: TraceConfig, trace: float | None) -> str:
    """Says the exact value, or why there is none."""
    if trace is None:
        return (
            f"no exact value: {own.data.size:,} rows are more than matrix.exact_rows={settings.matrix.exact_rows:,}, "
            "up to which all eigenvalues are computed."
        )
    return f"exact: {trace:,.10g}."


def markdown(table: pd.DataFrame) -> str:
    """Returns estimate ± standard error in Markdown: a row for each number of queries, a column for each method."""
    methods = list(dict.fromkeys(table["method"]))
    lines = ["| queries | " + " | ".join(ALL_NAMES[name] for name in methods) + " |", "|---" * (len(methods) + 1) + "|"]
    for queries, rows in table.groupby("queries", sort=True):
        cells = {row["method"]: f"{row['estimate']:,.6g} ± {row['standard_error']:.2g}" for _, row in rows.iterrows()}
        lines.append(f"| {queries} | " + " | ".join(cells[name] for name in methods) + " |")
    return "\n".join(lines)


def meaning(own: OwnMatrix, settings: TraceConfig) -> tuple[str, float]:
    """Returns what the trace is called, and what it is divided by for that."""
    if settings.function == "cube" and own.data.is_graph:
        return "triangles", 6.0
    return MEANINGS.get(settings.function, "trace"), 1.0


def description(study: Study, own: OwnMatrix, settings: TraceConfig, table: pd.DataFrame, trace: float | None) -> str:
    """Returns the last chosen estimate, what was measured for the choice, the exact value, and the table, in words."""
    last, (name, per) = table[table["method"] == AUTO].iloc[-1], meaning(own, settings)
    headline = f"{name} {last['estimate'] / per:,.6g} ± {last['standard_error'] / per:.2g}"
    divided = " (tr(A³)/6)" if per != 1.0 else ""
    return (
        f"**{study.title}**: {own.what}. **{headline}**{divided}, one standard error, by {NAMES[last['used']]} with "
        f"{last['queries']} queries: flatness {last['flatness']:.3g}, {100 * last['tail']:.3g} % of ‖f(A)‖²_F outside "
        f"of half of the products.\n\nThe trace, {words_of_exact(own, settings, trace)}\n\n{markdown(table)}\n"
    )
