"""`forms.stage=segmentation`: load, detector, evaluate, report."""

from __future__ import annotations

import torch
from tqdm import tqdm

from data.form_images import HandwrittenForms
from data.forms.augment import Augmentation
from models.forms.detect.boxes import WORD
from models.forms.detect.components import Components
from models.forms.detect.detector import Detector
from pipeline.job.study import Study, log_metrics
from pipeline.systems.forms.changes import log_form_changes
from pipeline.systems.forms.comparison import FORMS
from pipeline.systems.forms.config import FormsConfig
from pipeline.systems.forms.segmentation.fitting import FittedDetector, fit
from pipeline.systems.forms.segmentation.load import Inks, load, shown
from pipeline.systems.forms.segmentation.report import Tested, log_data, log_fitted, score_report
from pipeline.systems.forms.segmentation.scores import GRID, detected, least_score_of, scored_kinds

__all__ = ["load", "stages"]


def tests_of(settings: FormsConfig, data: HandwrittenForms, fitted: FittedDetector) -> list[Tested]:
    """Returns every test part with what was found on it, by the detector and, where asked for, as connected ink."""
    simple = connected_ink(settings, data, fitted)
    parts = [(name, shown(data.parts[name])) for name in data.tests]
    kinds = fitted.detector.settings.kinds
    return [
        Tested(
            name,
            forms,
            detected(fitted.detector, forms),
            kinds,
            None if simple is None else detected(simple, forms),
            data.writers.get(name, ()),
        )
        for name, forms in parts
    ]


def connected_ink(settings: FormsConfig, data: HandwrittenForms, fitted: FittedDetector) -> Detector | None:
    """Returns connected ink, tuned on the first training forms, where it is asked for beside a trained detector; None
    where it is not, and, which is said, where these forms have no word."""
    train = data.parts["train"]
    if not settings.forms.components or fitted.curve is None:
        return None
    rows = range(min(settings.forms.tuned_on, len(train)))
    truths = shown(train, rows).truths
    if not any((truth.classes == WORD).any() for truth in truths):
        tqdm.write(f"components: none of {len(truths)} training forms has a word, so connected ink is left out")
        return None
    return Components().prepared(Inks(train, rows, channel=True), truths).network()


def stages(settings: FormsConfig, data: HandwrittenForms, device: torch.device, here: Study) -> float:
    """Trains, evaluates and reports; returns the validation error."""
    log_data(here, data)
    with here.clock.stage("detector"):
        fitted = fit(settings, data, here, device)
    here.run.tags({"validation_error": repr(fitted.validation)})
    with here.clock.stage("evaluate"):
        tests = tests_of(settings, data, fitted)
        least, rate = least_score(settings, data, fitted)
    with here.clock.stage("report"):
        log_fitted(here, fitted, tests, settings.forms.scored)
        if fitted.curve is not None:
            log_form_changes(here, data.parts["train"], Augmentation(settings.forms.augment, settings.seed))
        log_metrics(here.run, {"evaluate/least_score": least})
        kept = keep(settings, data, fitted, least, here)
    words = score_report(tests, data) + least_score_in_words(settings, least, rate) + kept
    here.close(words, f"{fitted.validation:.4g} on the validation part")
    return fitted.validation


def least_score(settings: FormsConfig, data: HandwrittenForms, fitted: FittedDetector) -> tuple[float, float]:
    """Returns the score from which on boxes of what is scored have the best F1 on the validation part, and that F1."""
    held = shown(data.parts["validation"])
    found = detected(fitted.detector, held) if fitted.found is None else fitted.found
    return least_score_of(found, held.truths, scored_kinds(fitted.detector.settings.kinds, settings.forms.scored))


def least_score_in_words(settings: FormsConfig, least: float, rate: float) -> str:
    """Returns from which score on the kept detector finds boxes, in words."""
    what = "words" if settings.forms.scored == "words" else "boxes"
    return (f"\n\nThe detector is kept with a least score of {least:g}, with which {what} have the best F1 on the "
            f"validation part ({rate:.3g}). Average precision is over all boxes from {GRID[0]:g} on.")  # fmt: skip


def keep(settings: FormsConfig, data: HandwrittenForms, fitted: FittedDetector, least: float, here: Study) -> str:
    """Keeps the model with its least score, logged as `tracking.log_model` says. Returns words about it."""
    from pipeline.systems.forms.segmentation.servable import trained_model
    from pipeline.tracking.model import kept_in_words

    kept = trained_model(fitted.detector, data, fitted.validation, least)
    return kept_in_words(here.run, kept, settings.tracking, FORMS, path="FOLDER")
