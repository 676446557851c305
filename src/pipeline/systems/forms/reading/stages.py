"""`forms.stage=pipeline`: load, recogniser, detector, read, report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from data.form_images import HandwrittenForms
from data.forms.augment import Augmentation
from models.choices import EDGES
from models.forms.detect.components import Components
from models.forms.placing import Placing
from models.forms.reader import FormReader, WholeReader
from pipeline.job.study import Study, log_metrics
from pipeline.systems.forms.changes import log_changes, log_form_changes
from pipeline.systems.forms.checks import boxes_given, detector_of
from pipeline.systems.forms.comparison import FORMS
from pipeline.systems.forms.config import FormsConfig
from pipeline.systems.forms.reading.load import cut_out, load
from pipeline.systems.forms.reading.parts import Part, detector_for, page_reader_for, recogniser_for
from pipeline.systems.forms.reading.report import Tested, least_score_in_words, log_parts, log_read, score_report
from pipeline.systems.forms.reading.scores import (
    Reader,
    Sheet,
    least_score_by_places,
    least_score_by_texts,
    metrics_of,
    read_anew,
    read_table,
    reads_nothing,
    sheets_of,
)
from pipeline.systems.forms.recognition.load import alphabet_metrics
from pipeline.systems.forms.recognition.report import log_language
from pipeline.systems.forms.segmentation.load import scale_of
from pipeline.systems.forms.segmentation.report import log_data

__all__ = ["load", "stages"]


def stages(settings: FormsConfig, data: HandwrittenForms, device: torch.device, here: Study) -> float:
    """Trains, reads and reports; returns the character error rate of the validation part, in %."""
    log_data(here, data)
    detector, recogniser = parts_of(settings, data, here, device)
    network, _ = recogniser.model
    with here.clock.stage("read"):
        reader, held = reader_of(settings, data, detector, recogniser)
        validation = metrics_of(read_table("validation", held, reader))["validation_cer"]
        tests = [Tested(name, sheets_of(reader, network.alphabet, data.parts[name], detect=detector is not None),
                        data.writers.get(name, ())) for name in data.tests]  # fmt: skip
    here.run.tags({"validation_error": repr(validation)})
    with here.clock.stage("report"):
        log_parts(here, detector, recogniser)
        log_language(here, network, settings, found=recogniser.found)
        log_copies(settings, data, here)
        metrics = log_read(here, reader, tests, () if detector is None else detector.model.settings.kinds)
        log_metrics(here.run, alphabet_metrics(network.alphabet, data.parts["test"].words()))
        kept = keep(settings, data, reader, validation, here)
    words = score_report(metrics, data, network.alphabet) + least_score_in_words(reader, tests) + kept
    here.close(words, f"{validation:.4g} on the validation part")
    return validation


def parts_of(
    settings: FormsConfig, data: HandwrittenForms, here: Study, device: torch.device
) -> tuple[Part | None, Part]:
    """Returns the detector and the recogniser. The detector is None where there is none or true boxes are given. The
    recogniser reads whole forms where these are read at once. It refuses more, so it comes first."""
    with here.clock.stage("recogniser"):
        make = recogniser_for if settings.reader is None else page_reader_for
        recogniser = make(settings, data, here, device)
    if settings.reader is not None or boxes_given(settings):
        return None, recogniser
    with here.clock.stage("detector"):
        return detector_for(settings, data, here, device), recogniser


def log_copies(settings: FormsConfig, data: HandwrittenForms, here: Study) -> None:
    """Logs what is learned from before and after each change, with all details and where training images are changed.

    Shown are a form and a word of the first training form that has words. Where whole forms are read at once the form
    alone is shown.
    """
    augmentation, train = Augmentation(settings.forms.augment, settings.seed), data.parts["train"]
    if not here.full or augmentation.kind == "none":
        return
    written = next((number for number, form in enumerate(train.forms()) if form.text()), None)
    if written is None:
        return
    first = train.at([written])
    if settings.reader is not None:
        log_changes(here, "form", first.image(0), None, augmentation)
        return
    log_changes(here, "word", cut_out(first).image(0), None, augmentation)
    if not boxes_given(settings) and detector_of(settings).trained:
        log_form_changes(here, first, augmentation)


def reader_of(
    settings: FormsConfig, data: HandwrittenForms, detector: Part | None, recogniser: Part
) -> tuple[Reader, list[Sheet]]:
    """Returns what reads forms, with the least score and the edges that validation chooses, and what it reads there.

    The fewest wrong characters choose. The places of words do (`least_score_by_places`) where texts say nothing: the
    recogniser is not trained, or it reads so badly that no box at all has fewer wrong characters than any that is read.
    """
    held, (network, correction) = data.parts["validation"], recogniser.model
    if settings.reader is not None:
        whole = WholeReader(network)
        return whole, sheets_of(whole, network.alphabet, held, detect=False)
    first, *others = placings_of(settings)
    reader = FormReader(Components().network() if detector is None else detector.model, network, placing=first)
    sheets = sheets_of(reader, network.alphabet, held, detect=detector is not None)
    read = {first: sheets}
    for placing in others if detector is not None else ():
        read[placing] = [read_anew(own, FormReader(reader.detector, network, placing=placing)) for own in sheets]
    least, placing = chosen_by(least_score_by_texts if settings.recognition.epochs else least_score_by_places, read)
    if reads_nothing(read[placing], least):
        least, placing = chosen_by(least_score_by_places, read)
    best = read[placing]
    scale = scale_of(data.parts["train"])
    made = FormReader(reader.detector, network, correction=correction, least_score=least, placing=placing, scale=scale)
    return made, best


def chosen_by(
    least_score: Callable[[Sequence[Sheet]], tuple[float, Any]], read: Mapping[Placing, list[Sheet]]
) -> tuple[float, Placing]:
    """Returns the least score and the placing with the smallest count, of equal ones the first. least_score: gives the
    least score of forms, and its count. read: the validation part as it is read with each placing."""
    tried = [(*least_score(sheets), placing) for placing, sheets in read.items()]
    least, _, placing = min(tried, key=lambda own: own[1])
    return least, placing


def placings_of(settings: FormsConfig) -> list[Placing]:
    """Returns the ways to place found words that are tried on the validation part, of equal ones the first is taken."""
    own = settings.forms
    return [Placing(own.most_shared, edges) for edges in (EDGES if own.edges == "auto" else (own.edges,))]


def keep(settings: FormsConfig, data: HandwrittenForms, reader: Reader, error: float, here: Study) -> str:
    """Keeps the reader, or its recogniser where true boxes are given, logged as `tracking.log_model` says. Returns
    words about it."""
    from pipeline.systems.forms.reading.servable import trained_model
    from pipeline.tracking.model import kept_in_words

    kept = trained_model(reader, data, error, given=boxes_given(settings))
    return kept_in_words(here.run, kept, settings.tracking, FORMS, path="FOLDER")
