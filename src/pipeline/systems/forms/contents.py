"""`forms.stage=data`: what the data hold, counted by part, and figures of forms and of their changed copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch

from data.form_images import WORD, FormImages, HandwrittenForms
from data.forms.augment import Augmentation
from models.forms.detect.boxes import Detections, Truth
from pipeline.compare.markdown import markdown_table
from pipeline.job.study import Study, log_metrics
from pipeline.systems.forms.changes import log_form_changes
from pipeline.systems.forms.config import FormsConfig
from pipeline.systems.forms.segmentation.figures import pages
from pipeline.systems.forms.segmentation.load import Copies, Shown, load, shown
from pipeline.systems.forms.segmentation.report import log_data

__all__ = ["load", "stages"]
COUNTS, SHOWN_FORMS, COPIES = "counts.csv", 2, "train, changed copies"
KEY = "true boxes"


def stages(settings: FormsConfig, data: HandwrittenForms, device: torch.device, here: Study) -> None:  # noqa: ARG001
    """Counts and figures; nothing is trained, so that there is no error to return."""
    log_data(here, data)
    with here.clock.stage("count"):
        copies = settings.fit.epochs if settings.forms.augment != "none" else 0
        counts = counts_of(data, copies)
    here.run.table(counts, COUNTS)
    unseen = dict(zip(counts["part"], counts["unseen"], strict=True))
    log_metrics(here.run, {f"data/{name}_words_unseen": float(unseen[name]) for name in data.tests})
    if here.full:
        log_figures(settings, data, here)
    words = f"{markdown_table(counts, digits=4)}\n\nData: {data.name}, source {data.source}"
    here.close(words, f"{sum(map(len, data.parts.values()))} forms")


def counts_of(data: HandwrittenForms, copies: int) -> pd.DataFrame:
    """Returns a row a part: forms, boxes by class, different texts of words, and the share of its words that no
    training form says, nan without a word; then, where there are any, what is learned from in so many changed copies of
    the training part."""
    known = set(words_of(data.parts["train"]))
    rows = [row_of(name, part, known) for name, part in data.parts.items()]
    kept = {"part": COPIES, "different": rows[0]["different"], "unseen": rows[0]["unseen"]}
    whole = {name: copies * value for name, value in rows[0].items() if name not in kept}
    return pd.DataFrame([*rows, *([rows[0] | whole | kept] if copies else [])])


def row_of(name: str, forms: FormImages, known: set[str]) -> dict[str, Any]:
    """Returns the row of a part. known: what training forms say."""
    words = words_of(forms)
    unseen = float(np.mean([text not in known for text in words])) if words else float("nan")
    return {"part": name, "forms": len(forms), **forms.counts(), "different": len(set(words)), "unseen": unseen}


def words_of(forms: FormImages) -> list[str]:
    """Returns the texts of all words."""
    return [text for text, kind in zip(forms.texts, forms.classes.tolist(), strict=True) if kind == WORD]


def log_figures(settings: FormsConfig, data: HandwrittenForms, here: Study) -> None:
    """The first forms of each part with their boxes, changed copies of the first training forms, and one before and
    after each change."""
    for name, part in data.parts.items():
        log_forms(here, shown(part, range(min(SHOWN_FORMS, len(part)))), name)
    train = data.parts["train"]
    change = Copies(train, Augmentation(settings.forms.augment, settings.seed))
    inks, truths = zip(*(change(number, 0) for number in range(min(SHOWN_FORMS, len(train)))), strict=True)
    log_forms(here, Shown(list(inks), list(truths)), "train_changed")
    log_form_changes(here, train, Augmentation("flip", settings.seed))


def log_forms(here: Study, forms: Shown, name: str) -> None:
    """A figure of forms with their true boxes."""
    title = f"{here.title}: {name.replace('_', ' ')}"
    here.run.figure(pages(forms, [as_found(own) for own in forms.truths], title=title, key=KEY), f"figures/{name}")


def as_found(truth: Truth) -> Detections:
    """Returns true boxes as a detector without a fault would give them."""
    return Detections(truth.boxes, truth.classes, torch.ones(len(truth.boxes)))
