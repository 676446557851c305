"""The settings of `recipe=forms`, and what the rest of the pipeline knows of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from models.choices import EDGES
from pipeline.settings.fields import setting
from pipeline.settings.schema import CommonConfig
from pipeline.systems.forms.comparison import FORMS
from pipeline.systems.registry import System

GROUPS = {  # what a stage trains
    "segmentation": ("detector",),
    "recognition": ("recogniser",),
    "pipeline": ("detector", "recogniser"),
    "data": (),
}
BOXES = ("found", "truth")
SCORED = ("words", "classes")
AUGMENTS = ("none", "noise", "shape", "affine", "thesis", "flip")
ALPHABETS = ("texts", "alphanumeric")


@dataclass
class FormsSettings:
    stage: str = setting(choices=tuple(GROUPS))
    scored: str = setting(choices=SCORED)
    boxes: str = setting(choices=BOXES)
    edges: str = setting(choices=("auto", *EDGES))
    most_shared: float = setting(at_least=0, at_most=1)
    augment: str = setting(choices=AUGMENTS)
    moved: float = setting(at_least=0, at_most=1)
    moved_after: float = setting(at_least=0, below=1)
    components: bool = MISSING
    tuned_on: int = setting(above=0, cap="sequences")
    alphabet: str = setting(choices=ALPHABETS)
    corrected_within: int = setting(at_least=0)
    vocabulary: str | None = None
    retrieval: bool = MISSING
    variant: str | None = None


@dataclass
class FormsFit:
    epochs: int = setting(at_least=0, cap="epochs")
    batch: int = setting(above=0)
    learning_rate: float = setting(above=0)
    warmup: float = setting(at_least=0, at_most=1)
    weight_decay: float = setting(at_least=0)
    patience: int | None = setting(None, at_least=1)


@dataclass
class FormsConfig(CommonConfig):
    """Holds the settings of `recipe=forms`.

    fit: of detectors. recognition: the same of recognisers. refiner: null without one. reader: of whole forms at once;
    null where a detector and a recogniser read them.
    """

    data: Any = MISSING
    detector: Any = MISSING
    recogniser: Any = MISSING
    refiner: Any = MISSING
    reader: Any = MISSING
    forms: FormsSettings = field(default_factory=FormsSettings)
    fit: FormsFit = field(default_factory=FormsFit)
    recognition: FormsFit = field(default_factory=FormsFit)


SYSTEM = System(
    settings=FormsConfig,
    entry="pipeline.systems.forms.recipe:train",
    check="pipeline.systems.forms.checks:check",
    comparison=FORMS,
    redraw="pipeline.systems.forms.multirun:multirun_from",
    data=("data.form_images:HandwrittenForms", "data.word_images:HandwrittenWords"),
    servable="pipeline.systems.forms.servable:servable",
)
