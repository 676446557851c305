"""`forms.stage=data`: what forms, or images of words, hold, counted by part."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import torch

from data.form_images import FormImages, HandwrittenForms
from data.greys import unseen_share
from data.word_images import HandwrittenWords, WordImages
from pipeline.compare.markdown import markdown_table
from pipeline.host.errors import PipelineError
from pipeline.job.study import Study, log_metrics
from pipeline.systems.forms.checks import MIRRORS_NOTHING, SLANTS_NOTHING
from pipeline.systems.forms.config import FormsConfig
from pipeline.systems.forms.contents_figures import log_figures
from pipeline.systems.forms.load import Data, data_of
from pipeline.systems.forms.recognition.report import log_data as log_words
from pipeline.systems.forms.segmentation.load import check_boxes
from pipeline.systems.forms.segmentation.report import log_data as log_forms

COUNTS, COPIES = "counts.csv", "train, changed copies"
KEPT = ("writers", "different", "unseen")  # of what is learned from, however many copies there are


def load(settings: FormsConfig, *, shared: bool) -> Data:
    """Returns the data, cut as `size` says. shared: as of `data_of`. Raises PipelineError where data= names neither
    forms nor images of words, for a part of forms without what is scored, for mirrored words and for slanted forms."""
    said = (
        "forms.stage=data takes images of forms or of words; choose data=forms_folder or words_folder (your own), "
        "composed_forms, dhsd or composed_words"
    )
    data, augment = data_of(settings, Data, said, shared=shared), settings.forms.augment
    if isinstance(data, HandwrittenWords) and augment == "flip":
        raise PipelineError(MIRRORS_NOTHING)
    if isinstance(data, HandwrittenForms):
        if augment == "affine":
            raise PipelineError(SLANTS_NOTHING)
        check_boxes(data, settings.forms.scored)
    return data


def stages(settings: FormsConfig, data: Data, device: torch.device, here: Study) -> None:  # noqa: ARG001
    """Logs counts and figures. Nothing is trained, so that there is no error to return."""
    if isinstance(data, HandwrittenForms):
        log_forms(here, data)
    else:
        log_words(here, data)
    with here.clock.stage("count"):
        counts = counts_of(data, copies_of(settings, data))
    here.run.table(counts, COUNTS)
    unseen = dict(zip(counts["part"], counts["unseen"], strict=True))
    shares = {f"data/{name}_words_unseen": float(unseen[name]) for name in data.tests}
    log_metrics(here.run, {name: share for name, share in shares.items() if math.isfinite(share)})
    if here.full:
        log_figures(settings, data, here)
    words = f"{markdown_table(counts, digits=4)}\n\nData: {data.name}, source {data.source}"
    here.close(words, f"{sum(map(len, data.parts.values()))} {data.unit}")


def copies_of(settings: FormsConfig, data: Data) -> int:
    """Returns how many changed copies of each training image a training with these settings sees."""
    fit = settings.fit if isinstance(data, HandwrittenForms) else settings.recognition
    return fit.epochs if settings.forms.augment != "none" else 0


def counts_of(data: Data, copies: int) -> pd.DataFrame:
    """Returns a row a part: its forms and their boxes by class, or its images of words with their writers and
    characters; different texts of words, and the share of its words that the training part does not say, nan without a
    word; then, where there are any, what is learned from in so many changed copies of the training part."""
    known = words_of(data.parts["train"])
    rows = [row_of(name, data.unit, part, known) for name, part in data.parts.items()]
    whole = {name: value if name in KEPT else copies * value for name, value in rows[0].items() if name != "part"}
    return pd.DataFrame([*rows, *([{"part": COPIES, **whole}] if copies else [])])


def row_of(name: str, unit: str, part: FormImages | WordImages, known: Sequence[str]) -> dict[str, Any]:
    """Returns the row of a part. unit: what one of it is called, in the plural. known: what the training part says."""
    words = words_of(part)
    own = {"different": len(set(words)), "unseen": unseen_share(words, known)}
    return {"part": name, unit: len(part), **part.counts(), **own}


def words_of(part: FormImages | WordImages) -> Sequence[str]:
    """Returns the texts of all words."""
    return part.texts if isinstance(part, WordImages) else part.words()
