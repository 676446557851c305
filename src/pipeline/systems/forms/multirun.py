"""The jobs of a multirun of `recipe=forms` as its parent shows them: errors, and differences paired by form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from mlflow.tracking import MlflowClient

from data.files.exact_numbers import EXACT
from models.forms.detect.average_precision import weighted_average
from models.forms.detect.boxes import CLASSES
from pipeline.compare.bootstrap import drawn_weights, interval, paired_arms
from pipeline.compare.markdown import markdown_table
from pipeline.compare.words import Summary
from pipeline.systems.forms.figures import errors_by_arm
from pipeline.systems.forms.report import BOXES, FOUND
from pipeline.tracking.artifacts import fetched
from pipeline.tracking.run import scratch_folder

SETS = ["data", "scored", "part"]
KEPT = ("seconds", "parameters")
CAPTION = (
    "Errors of the test parts, the mean over seeds: 1 − average precision of words (*scored* words), or 1 − its mean "
    "over the classes that are there (classes), at an overlap (IoU) of at least 0.5. The intervals and p are of a "
    "bootstrap over forms, the same for both arms of a pair; p is adjusted by Holm over the pairs of a set. *verdict*: "
    "whether *arm* has a lower error than *against*. The part test_style has a style of page that no training form has."
)


def summarise(client: MlflowClient, jobs: Any, title: str) -> Summary:
    """Returns what the parent shows of its jobs: tables, a figure, and words about them."""
    with scratch_folder() as scratch:
        found, boxes = (
            joined([pd.read_csv(path, **EXACT).assign(run_id=str(run)) for run in jobs["run_id"]
                    if (path := fetched(client, str(run), file, scratch)) is not None])
            for file in (FOUND, BOXES)
        )  # fmt: skip
    return summary_of(jobs, found[["run_id", "part", "form", "class", "score", "hit"]] if len(found) else found,
                      boxes, title)  # fmt: skip


def joined(tables: list[Any]) -> Any:
    """Returns tables one below the other."""
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def summary_of(jobs: Any, found: Any, boxes: Any, title: str) -> Summary:
    """Returns tables, figure and words. found: every box that a job found, by run_id; boxes: how many true ones each
    form has."""
    means, paired = [], []
    for (data, scored), own in jobs.groupby(["data", "scored"], sort=False):
        for part in boxes["part"].unique() if len(boxes) else ():
            names = dict(zip(SETS, (data, scored, part), strict=True))
            whole, drawn = errors_by_job(own, found, boxes, names)
            means.append(means_of(own, whole, drawn, names))
            paired.append(with_names(paired_arms(whole, drawn), names))
    if not means:
        return Summary({}, {}, "No job has boxes by form.")
    tables = {"means.csv": joined(means), "paired.csv": joined(paired)}
    text = "\n\n".join([CAPTION, *(part for table in tables.values() for part in words_of(table))])
    tables = {name: table for name, table in tables.items() if len(table)} | {"found.csv": found, "boxes.csv": boxes}
    figure = errors_by_arm(tables["means.csv"], title=f"{title}: arms side by side")
    return Summary(tables, {"figures/arms": figure}, text)


def errors_by_job(jobs: Any, found: Any, boxes: Any, names: dict[str, Any]) -> tuple[dict[str, float], dict[str, Any]]:
    """Returns the error of each arm, the mean over its jobs, and the same over drawn forms, (draw,)."""
    whole, drawn = dict[str, float](), dict[str, Any]()
    for arm, own in jobs.groupby("arm", sort=False):
        pairs = [
            errors_of(found[found["run_id"] == run], boxes[boxes["run_id"] == run], names) for run in own["run_id"]
        ]
        whole[str(arm)] = float(np.mean([one for one, _ in pairs]))
        drawn[str(arm)] = np.mean([many for _, many in pairs], axis=0)
    return whole, drawn


def errors_of(found: Any, boxes: Any, names: dict[str, Any]) -> tuple[float, np.ndarray]:
    """Returns the error of a job on a part over all forms, and over drawn ones, (draw,)."""
    found, boxes = found[found["part"] == names["part"]], boxes[boxes["part"] == names["part"]].sort_values("form")
    weights = np.concatenate([np.ones((1, len(boxes))), drawn_weights(len(boxes))])
    kinds = ["word"] if names["scored"] == "words" else [kind for kind in CLASSES[1:] if boxes[kind].sum()]
    averages = []
    for kind in kinds:
        own = found[found["class"] == kind]
        truths = weights @ boxes[kind].to_numpy(float)
        scores, hits, forms = (own[name].to_numpy() for name in ("score", "hit", "form"))
        averages.append(weighted_average(scores, hits, weights[:, forms.astype(int)], truths))
    errors = 1 - np.nanmean(averages, axis=0)
    return float(errors[0]), errors[1:]


def means_of(jobs: Any, whole: dict[str, float], drawn: dict[str, Any], names: dict[str, Any]) -> pd.DataFrame:
    """Returns a row an arm: its error with an interval over forms, and what its jobs had in common."""
    rows = []
    for arm, error in whole.items():
        own = jobs[jobs["arm"] == arm]
        low, high = interval(drawn[arm])
        row = {"arm": arm, "jobs": len(own), "error": error, "low": low, "high": high}
        rows.append(row | {name: float(own[name].mean()) for name in KEPT})
    return with_names(pd.DataFrame(rows), names)


def with_names(table: Any, names: dict[str, Any]) -> Any:
    """Returns a table with the names of its set in front."""
    panel = f"{names['data']}: {names['scored']}, {names['part'].replace('_', ' ')}"
    for place, (name, value) in enumerate({**names, "panel": panel}.items() if len(table) else ()):
        table.insert(place, name, value)
    return table


def words_of(table: Any) -> list[str]:
    """Returns the rows of each set as Markdown."""
    if not len(table):
        return []
    return [f"{panel}\n\n{markdown_table(own.drop(columns=['panel', *SETS]), digits=4)}"
            for panel, own in table.groupby("panel", sort=False)]  # fmt: skip
