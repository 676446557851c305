"""Forms as a detector learns from them: ink and true boxes, changed anew in each epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from data.base import spread
from data.form_images import WORD, Form, FormImages, HandwrittenForms
from data.forms.augment import Augmentation
from models.forms.detect.boxes import Truth
from models.forms.reader import ink_of
from models.forms.scale import Scale
from pipeline.host.errors import PipelineError
from pipeline.systems.forms.config import FormsConfig
from pipeline.systems.forms.load import data_of

SCALED = 20  # forms, spread over all, whose ink is measured


class Inks(Sequence[Tensor]):
    """Gives the ink of some forms, made from their images when it is asked for: it takes four times their memory.
    channel: (1, height, width) of each in place of (height, width)."""

    def __init__(self, forms: FormImages, rows: Sequence[int], *, channel: bool = False) -> None:
        self.forms, self.rows, self.channel = forms, rows, channel

    def __len__(self) -> int:
        """Returns how many forms there are."""
        return len(self.rows)

    def __getitem__(self, place: Any) -> Any:
        """Returns the ink of a form; of a slice, that of some."""
        if isinstance(place, slice):
            return Inks(self.forms, self.rows[place], channel=self.channel)
        ink = ink_of(self.forms.image(self.rows[place]))
        return ink[None] if self.channel else ink


class Shown(NamedTuple):
    """Holds forms as a network takes them: ink (height, width) of each, and its boxes."""

    inks: Sequence[Tensor]
    truths: list[Truth]


def load(settings: FormsConfig, *, shared: bool) -> HandwrittenForms:
    """Returns the forms, cut as `size` says. shared: as of `data_of`. Raises PipelineError where data= names none."""
    said = "recipe=forms takes images of forms; choose data=forms_folder (your own) or composed_forms"
    data = data_of(settings, HandwrittenForms, said, shared=shared)
    check_boxes(data, settings.forms.scored)
    return data


def check_boxes(data: HandwrittenForms, scored: str) -> None:
    """Raises PipelineError for a part without what is scored: its score would say nothing."""
    for name, part in data.parts.items():
        counts = part.counts()
        if not (counts["word"] if scored == "words" else sum(counts.values())):
            what = "word" if scored == "words" else "box"
            raise PipelineError(
                f"{data.name}: no form of the {name} part has a {what}; give some, or another data.seed"
            )


def scale_of(forms: FormImages) -> Scale | None:
    """Returns how large training forms, their words and the ink of `SCALED` of them are; None without a word."""
    words = forms.boxes[forms.classes == WORD]
    inks = Inks(forms, spread(len(forms), SCALED).tolist())
    return Scale.of((words[:, 3] - words[:, 1]).tolist(), inks, float(forms.shapes.max()))


def truth_of(form: Form, boxes: np.ndarray | None = None) -> Truth:
    """Returns the true boxes of a form; boxes: where they have been moved to, which characters have not been."""
    own = torch.from_numpy(np.array(form.boxes if boxes is None else boxes, np.float32))
    known = form.characters if boxes is None else None
    characters = None if known is None else tuple(torch.from_numpy(np.array(each, np.float32)) for each in known)
    return Truth(own, torch.from_numpy(np.array(form.classes, np.int64)), characters)


def shown(forms: FormImages, rows: Sequence[int] | None = None) -> Shown:
    """Returns some forms, or all, as they are."""
    own = range(len(forms)) if rows is None else rows
    return Shown(Inks(forms, own), [truth_of(forms.form(row)) for row in own])


class Copies:
    """Gives training forms, changed by an augmentation; the same form in the same turn is changed in the same way."""

    def __init__(self, forms: FormImages, augmentation: Augmentation) -> None:
        self.forms, self.augmentation = forms, augmentation

    def __call__(self, number: int, turn: int) -> tuple[Tensor, Truth]:
        """Returns the ink and the boxes of a form in a turn."""
        form = self.forms.form(number)
        grey, boxes = self.augmentation.form(form.image, form.boxes, epoch=turn, number=number)
        return ink_of(grey), truth_of(form, None if boxes is form.boxes else boxes)
