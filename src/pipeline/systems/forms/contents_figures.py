"""Figures of what the data hold: forms with their boxes, or images of words, of each part, and changed copies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from data.base import spread
from data.form_images import HandwrittenForms
from data.forms.augment import Augmentation
from data.word_images import HandwrittenWords
from models.forms.detect.boxes import Detections, Truth
from pipeline.job.study import Study
from pipeline.systems.forms.changes import log_changes, log_form_changes
from pipeline.systems.forms.config import FormsConfig
from pipeline.systems.forms.recognition.figures import with_texts
from pipeline.systems.forms.segmentation.figures import pages
from pipeline.systems.forms.segmentation.load import Copies, Shown, shown

SHOWN_FORMS, SHOWN_WORDS = 2, 12
CHANGED = "train_changed"
KEY = "true boxes"


def log_figures(settings: FormsConfig, data: HandwrittenForms | HandwrittenWords, here: Study) -> None:
    """Logs some forms or words of each part, changed copies of those of training, and the first before and after each
    change."""
    augmentation, every = Augmentation(settings.forms.augment, settings.seed), Augmentation("flip", settings.seed)
    if isinstance(data, HandwrittenForms):
        log_all_forms(here, data, augmentation)
        log_form_changes(here, data.parts["train"], every)
    else:
        log_all_words(here, data, augmentation)
        shown = augmentation if augmentation.kind == "affine" else every
        log_changes(here, "word", data.parts["train"].image(0), None, shown)


def log_all_forms(here: Study, data: HandwrittenForms, augmentation: Augmentation) -> None:
    """Logs the first forms of each part with their boxes, and changed copies of the first training forms."""
    for name, part in data.parts.items():
        log_forms(here, shown(part, range(min(SHOWN_FORMS, len(part)))), name)
    train = data.parts["train"]
    change = Copies(train, augmentation)
    inks, truths = zip(*(change(number, 0) for number in range(min(SHOWN_FORMS, len(train)))), strict=True)
    log_forms(here, Shown(list(inks), list(truths)), CHANGED)


def log_forms(here: Study, forms: Shown, name: str) -> None:
    """Logs a figure of forms with their true boxes."""
    found = [as_found(own) for own in forms.truths]
    here.run.figure(pages(forms, found, title=titled(here, name), key=KEY), f"figures/{name}")


def as_found(truth: Truth) -> Detections:
    """Returns true boxes as a detector without a fault would give them."""
    return Detections(truth.boxes, truth.classes, torch.ones(len(truth.boxes)))


def log_all_words(here: Study, data: HandwrittenWords, augmentation: Augmentation) -> None:
    """Logs images of words of each part with their texts, spread evenly over the part, and changed copies of those of
    training."""
    for name, part in data.parts.items():
        few = part.at(spread(len(part), SHOWN_WORDS))
        log_words(here, list(few.images()), few.texts, name)
    train = data.parts["train"]
    rows = spread(len(train), SHOWN_WORDS).tolist()
    copies = [augmentation.word(train.image(number), epoch=0, number=number) for number in rows]
    log_words(here, copies, [train.texts[number] for number in rows], CHANGED)


def log_words(here: Study, images: Sequence[np.ndarray], texts: Sequence[str], name: str) -> None:
    """Logs a figure of images of words with their texts."""
    here.run.figure(with_texts(images, texts, title=titled(here, name)), f"figures/{name}")


def titled(here: Study, name: str) -> str:
    """Returns the title of the figure of a part."""
    return f"{here.title}: {name.replace('_', ' ')}"
