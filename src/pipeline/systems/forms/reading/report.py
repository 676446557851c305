"""What a run leaves: every reading of a form, boxes with their words, scores and figures, and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from data.form_images import WORD, HandwrittenForms
from models.forms.detect.boxes import Detections, Truth
from models.forms.reader import FormReader
from models.forms.recognise.alphabet import Alphabet
from models.forms.tables import found_table as boxes_table
from pipeline.compare.markdown import markdown_table
from pipeline.job.curve_report import log_curve
from pipeline.job.study import Study, log_metrics
from pipeline.systems.forms.comparison import EDGES
from pipeline.systems.forms.reading.figures import pages, texts_below
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
from pipeline.systems.forms.segmentation.figures import precision_and_recall
from pipeline.systems.forms.segmentation.load import truth_of
from pipeline.systems.forms.segmentation.report import HITS, joined, scores_table
from pipeline.systems.forms.segmentation.scores import GRID, hits_table
from pipeline.systems.forms.segmentation.scores import metrics_of as precision_of
from pipeline.systems.forms.writers import with_writers

READ, BOXES = "read.csv", "boxes.csv"  # boxes as they were read; HITS has them as the detector found them
SHOWN_FORMS = 2
RATES = {"cer": "character error rate (%)", "wer": "word error rate (%)", "word_accuracy": "words found and read",
         "order": "neighbours in order"}  # fmt: skip


class Tested(NamedTuple):
    """Holds a test part, what was read on its forms, and who wrote each form, where that is known."""

    name: str
    sheets: list[Sheet]
    writers: tuple[str, ...] = ()

    @property
    def called(self) -> str:
        """Returns the name in words."""
        return self.name.replace("_", " ")

    def found(self) -> tuple[list[Detections], list[Truth]]:
        """Returns what the detector found on each form, before it was placed, and the true boxes."""
        pairs = [(own.found, truth_of(own.form)) for own in self.sheets if own.found is not None]
        return [found for found, _ in pairs], [truth for _, truth in pairs]

    def precision(self, kinds: Sequence[str]) -> dict[str, float]:
        """Returns average precision and recall of the boxes that were found, by the names of metrics. kinds: the
        classes that the detector finds."""
        scores = precision_of(*self.found(), kinds)
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
    here.run.table(boxes_table(rows), BOXES)
    if kinds:
        here.run.table(joined([hits_table(own.name, *own.found()) for own in tests]), HITS)
    for own in tests if here.full else ():
        log_figures(here, reader, own, kinds)
    return metrics


def log_figures(here: Study, reader: Reader, own: Tested, kinds: Sequence[str]) -> None:
    """Logs forms of a part with what was read on them and, of a detector, precision over recall. kinds: as of
    `log_read`."""
    title, shown = f"{here.title}: {own.called}", own.sheets[:SHOWN_FORMS]
    figure = pages(shown, reader.least_score, title=title) if reader.finds else texts_below(shown, title=title)
    here.run.figure(figure, f"figures/{own.name}_forms")
    if kinds:
        here.run.figure(precision_and_recall(*own.found(), kinds, title=title), f"figures/{own.name}_precision")


def score_report(metrics: dict[str, float], data: HandwrittenForms, alphabet: Alphabet) -> str:
    """Returns the scores of the test parts as tables, of texts and, of a detector, of boxes, what the alphabet cannot
    read, and where the data come from."""
    rates = {rate: name for rate, name in RATES.items() if f"test_{rate}" in metrics}
    rows = {
        f"{part.replace('_', ' ')}: {name}": [metrics[f"{part}_{rate}{suffix}"] for rate in rates]
        for part in data.tests for suffix, name in NAMES.items() if f"{part}_cer{suffix}" in metrics
    }  # fmt: skip
    table = pd.DataFrame.from_dict(rows, orient="index", columns=list(rates.values()))
    table = table.rename_axis(data.name).reset_index()
    lost = alphabet_in_words(alphabet, data.parts["test"].words())
    tables = [markdown_table(own, digits=4) for own in (table, *boxes_said(metrics, data))]
    return "\n\n".join([*tables, f"{lost}Data: {data.name}, source {data.source}"])


def least_score_in_words(reader: Reader, tests: Sequence[Tested]) -> str:
    """Returns from which score on found boxes are read, in words, and of a test part on which none has it how many have
    a lower one. Nothing where no boxes were looked for."""
    looked = [own for own in tests if any(sheet.found is not None for sheet in own.sheets)]
    if not looked:
        return ""
    words = (f"\n\nBoxes are read from a least score of {reader.least_score:g} on, which validation chose. Average "
             f"precision is over all boxes from {GRID[0]:g} on.")  # fmt: skip
    return words + "".join(lower_scores_in_words(own, reader.least_score) for own in looked)


def lower_scores_in_words(own: Tested, least: float) -> str:
    """Returns how many words of a test part have a lower score than the least, where none has it; nothing elsewhere."""
    scores = np.concatenate([found.scores[found.classes == WORD].double().numpy() for found in own.found()[0]])
    if not len(scores) or scores.max() >= least:
        return ""
    return (f" On {own.called} no word has it, and {len(scores)} have a lower score: recipe=predict takes them, "
            f"but for those that overlap others, with least_score={GRID[0]:g}.")  # fmt: skip


def boxes_said(metrics: Mapping[str, float], data: HandwrittenForms) -> list[pd.DataFrame]:
    """Returns a table of the detector's average precision and recall on the test parts that have such scores; none
    where no part has."""
    scores = {
        part.replace("_", " "): {
            name.removeprefix(f"{part}_"): value for name, value in metrics.items()
            if np.isfinite(value)
            and (name.startswith((f"{part}_ap_", f"{part}_recall_")) or name == f"{part}_map")
        }
        for part in data.tests
    }  # fmt: skip
    known = {part: own for part, own in scores.items() if own}
    return [scores_table(known, f"{data.name}, detector")] if known else []
