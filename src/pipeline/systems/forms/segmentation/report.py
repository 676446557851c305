"""What a run leaves: curves, boxes that were found, scores and figures, and words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from data.form_images import HandwrittenForms
from models.forms.detect.boxes import CLASSES, WORDS_ALONE, Detections
from pipeline.compare.markdown import markdown_table
from pipeline.job.curve_report import log_curve
from pipeline.job.study import Study, log_metrics
from pipeline.systems.forms.segmentation.figures import LABELS, pages, precision_and_recall
from pipeline.systems.forms.segmentation.fitting import FittedDetector
from pipeline.systems.forms.segmentation.load import Shown
from pipeline.systems.forms.segmentation.narrow import NARROW
from pipeline.systems.forms.segmentation.scores import error_of, hits_table, metrics_of, truth_table
from pipeline.systems.forms.writers import with_writers

HITS, BOXES = "found.csv", "boxes.csv"
SHOWN_FORMS = 2
ORDER = (
    *(f"ap_{kind}" for kind in CLASSES[1:]), *(f"recall_{kind}" for kind in CLASSES[1:]), f"ap_{NARROW}", "map",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Tested:
    """Holds a test part, what the detector found on it, the classes that it finds, what connected ink found, where that
    was asked for, and who wrote each form, where that is known."""

    name: str
    forms: Shown
    found: list[Detections]
    kinds: tuple[str, ...]
    components: list[Detections] | None
    writers: tuple[str, ...] = ()

    @property
    def called(self) -> str:
        """Returns the name in words."""
        return self.name.replace("_", " ")

    @cached_property
    def scores(self) -> dict[str, float]:
        """Returns the scores of the detector."""
        return metrics_of(self.found, self.forms.truths, self.kinds)

    def absent(self) -> str:
        """Returns words about the classes that the detector finds and of which the part has no true box; "" where it
        has all."""
        names = [kind for kind in self.kinds if f"ap_{kind}" not in self.scores]
        mean = " and counts in no mean" if self.kinds != WORDS_ALONE else ""
        return f"The part {self.name} has no {' and no '.join(names)}: that has no score{mean}." if names else ""

    @cached_property
    def ink_scores(self) -> dict[str, float]:
        """Returns the scores of connected ink, none without it."""
        return {} if self.components is None else metrics_of(self.components, self.forms.truths, WORDS_ALONE)

    def metrics(self) -> dict[str, float]:
        """Returns the scores by the names of metrics: of the part `test` as test_ap_word, of others by their names."""
        own = {f"{self.name}_{name}": value for name, value in self.scores.items()}
        return own | {f"{self.name}_{name}_components": value for name, value in self.ink_scores.items()}


def log_data(here: Study, data: HandwrittenForms) -> None:
    """Logs the sizes of the parts, which stand for the data set in MLflow, with the digest of all images and boxes."""
    sizes = pd.DataFrame(data.sizes())
    here.run.dataset(sizes, name=data.name, source=data.source, digest=data.checksum, context="training")
    here.run.table(sizes, "forms.csv")
    totals = sizes.drop(columns="part").sum()
    log_metrics(here.run, {f"data/{name if name == 'forms' else f'boxes_{name}'}": float(value)
                           for name, value in totals.items()})  # fmt: skip
    log_metrics(here.run, {f"data/{name}": float(value) for name, value in data.counts.items()})
    log_metrics(here.run, {"data/words_unseen": data.unseen} if math.isfinite(data.unseen) else {})


def log_fitted(here: Study, fitted: FittedDetector, tests: list[Tested], scored: str) -> None:
    """Logs metrics and tables; with all details the curve and figures too."""
    metrics = {name: value for tested in tests for name, value in tested.metrics().items()}
    log_metrics(here.run, {"evaluate/test_error": error_of(tests[0].scores, scored)})
    log_metrics(here.run, {f"evaluate/{name}": value for name, value in metrics.items()})
    parameters = sum(parameter.numel() for parameter in fitted.detector.parameters())
    log_metrics(here.run, {"model/parameters": float(parameters)})
    here.run.table(joined([hits_table(own.name, own.found, own.forms.truths) for own in tests]), HITS)
    here.run.table(joined([with_writers(truth_table(own.name, own.forms.truths), own.writers) for own in tests]), BOXES)
    if here.full:
        log_figures(here, fitted, tests)


def joined(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Returns tables one below the other; one without a row is left out, so that it changes no type."""
    return pd.concat([own for own in tables if len(own)] or tables[:1], ignore_index=True)


def log_figures(here: Study, fitted: FittedDetector, tests: list[Tested]) -> None:
    """Logs the curve, precision over recall, and forms with what was found on them."""
    if fitted.curve is not None:
        log_curve(here, fitted.curve, LABELS, "detector")
    for own in tests:
        name = f"{here.title}: {own.called}"
        lines = precision_and_recall(own.found, own.forms.truths, own.kinds, title=name)
        here.run.figure(lines, f"figures/{own.name}_precision")
        few = Shown(own.forms.inks[:SHOWN_FORMS], own.forms.truths[:SHOWN_FORMS])
        here.run.figure(pages(few, own.found[:SHOWN_FORMS], title=name), f"figures/{own.name}_forms")


def score_report(tests: list[Tested], data: HandwrittenForms) -> str:
    """Returns the scores of the test parts as a table, the classes that are not there, and where the data come from."""
    columns = {own.called: own.scores for own in tests}
    columns |= {f"components, {own.called}": own.ink_scores for own in tests if own.components is not None}
    words = "".join(f"\n{absent}" for own in tests if (absent := own.absent()))
    return f"{markdown_table(scores_table(columns, data.name))}\n{words}\nData: {data.name}, source {data.source}"


def scores_table(columns: Mapping[str, Mapping[str, float]], first: str) -> pd.DataFrame:
    """Returns a row a score of `metrics_of`, called in words, and a column a test part. first: the name of the column
    that says which score it is; its rows are the scores that any part has, in the order of `ORDER`."""
    known = {name for scores in columns.values() for name in scores}
    table = pd.DataFrame(columns).loc[[name for name in ORDER if name in known]]
    names = [name.replace("ap_", "average precision, ").replace("recall_", "recall, ").replace("_", " ")
             for name in table.index]  # fmt: skip
    table.insert(0, first, ["mean average precision" if name == "map" else name for name in names])
    return table
