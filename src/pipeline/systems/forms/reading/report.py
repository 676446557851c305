"""What a run leaves: every reading of a form, boxes with their words, scores and figures, and words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from data.form_images import HandwrittenForms
from models.forms.reader import FormReader
from models.forms.recognise.alphabet import Alphabet
from models.forms.tables import found_table
from pipeline.compare.markdown import markdown_table
from pipeline.job.curve_report import log_curve
from pipeline.job.study import Study, log_metrics
from pipeline.systems.forms.comparison import EDGES
from pipeline.systems.forms.reading.figures import pages, texts_below
from pipeline.systems.forms.reading.load import texts_of
from pipeline.systems.forms.reading.parts import Part
from pipeline.systems.forms.reading.scores import (
    FOUND,
    NAMES,
    Reader,
    Sheet,
    at_least,
    metrics_of,
    read_table,
)
from pipeline.systems.forms.recognition import figures as recognition
from pipeline.systems.forms.recognition.load import alphabet_in_words
from pipeline.systems.forms.segmentation import figures as segmentation
from pipeline.systems.forms.segmentation.load import truth_of
from pipeline.systems.forms.segmentation.scores import metrics_of as precision_of
from pipeline.systems.forms.writers import with_writers

READ, BOXES = "read.csv", "boxes.csv"
SHOWN_FORMS = 2
RATES = {"cer": "character error rate (%)", "wer": "word error rate (%)", "word_accuracy": "words found and read",
         "order": "neighbours in order"}  # fmt: skip


class Tested(NamedTuple):
    """Holds a test part, what was read on its forms, and who wrote each form, where that is known."""

    name: str
    sheets: list[Sheet]
    writers: tuple[str, ...] = ()

    def precision(self, kinds: Sequence[str]) -> dict[str, float]:
        """Returns average precision and recall of the boxes that were found, by the names of metrics. kinds: the
        classes that the detector finds."""
        pairs = [(own.found, truth_of(own.form)) for own in self.sheets if own.found is not None]
        scores = precision_of([found for found, _ in pairs], [truth for _, truth in pairs], kinds)
        return {f"{self.name}_{name}": value for name, value in scores.items()}


def log_parts(here: Study, detector: Part | None, recogniser: Part) -> None:
    """Logs how many numbers the models have together, their validation errors, where they are from, and their curves.
    detector: None where there is none."""
    network, _ = recogniser.model
    models = [network] if detector is None else [detector.model, network]
    count = sum(parameter.numel() for own in models for parameter in own.parameters())
    log_metrics(here.run, {"model/parameters": float(count)})
    for name, part, labels in (
        ("detector", detector, segmentation.LABELS), ("recogniser", recogniser, recognition.LABELS),
    ):  # fmt: skip
        if part is None:
            continue
        here.run.tags({f"{name}.mark": part.mark[:16], f"{name}.found": str(part.found).lower()})
        log_metrics(here.run, {f"evaluate/validation_{name}": part.validation})
        if here.full and part.curve is not None:
            log_curve(here, part.curve, labels, name)


def log_read(here: Study, reader: Reader, tests: list[Tested], kinds: Sequence[str]) -> dict[str, float]:
    """Logs metrics and tables; with all details figures too. Returns the metrics.

    kinds: the classes that were detected, none where boxes were given or whole forms are read.
    """
    parts = [with_writers(read_table(own.name, own.sheets, reader), own.writers) for own in tests]
    read = pd.concat(parts, ignore_index=True)
    metrics = metrics_of(read) | {name: value for own in tests if kinds for name, value in own.precision(kinds).items()}
    log_metrics(here.run, {"evaluate/test_error": metrics["test_cer"]})
    if isinstance(reader, FormReader):
        log_metrics(here.run, {"evaluate/least_score": reader.least_score})
        here.run.tags({EDGES: reader.placing.edges} if kinds else {})
    log_metrics(here.run, {f"evaluate/{name}": value for name, value in metrics.items()})
    here.run.table(read, READ)
    rows = {f"{own.name} {number}": at_least(sheet.read[FOUND], reader.least_score)
            for own in tests for number, sheet in enumerate(own.sheets)}  # fmt: skip
    here.run.table(found_table(rows), BOXES)
    for own in tests if here.full else ():
        title = f"{here.title}: {own.name.replace('_', ' ')}"
        shown = own.sheets[:SHOWN_FORMS]
        figure = pages(shown, reader.least_score, title=title) if reader.finds else texts_below(shown, title=title)
        here.run.figure(figure, f"figures/{own.name}_forms")
    return metrics


def said(metrics: dict[str, float], data: HandwrittenForms, alphabet: Alphabet) -> str:
    """Returns the scores of the test parts as a table, what the alphabet cannot read, and where the data come from."""
    rates = {rate: name for rate, name in RATES.items() if f"test_{rate}" in metrics}
    rows = {
        f"{part.replace('_', ' ')}: {name}": [metrics[f"{part}_{rate}{suffix}"] for rate in rates]
        for part in data.tests for suffix, name in NAMES.items() if f"{part}_cer{suffix}" in metrics
    }  # fmt: skip
    table = pd.DataFrame.from_dict(rows, orient="index", columns=list(rates.values()))
    table = table.rename_axis(data.name).reset_index()
    lost = alphabet_in_words(alphabet, texts_of(data.parts["test"]))
    return f"{markdown_table(table, digits=4)}\n\n{lost}Data: {data.name}, source {data.source}"
