"""What `recipe=forms` refuses before anything is loaded."""

from __future__ import annotations

from models.forms.detect.detector import Settings
from pipeline.host.errors import PipelineError, said_of
from pipeline.settings.build import build
from pipeline.systems.forms.config import FormsConfig

WORDS_ALONE = ("East", "PixelLink", "Craft", "Components")  # these find words and no other class


def check(settings: FormsConfig) -> None:
    """Raises PipelineError for a detector that cannot be, and for scores that it cannot have."""
    own = detector_of(settings)
    if settings.dtype != "float32":
        raise PipelineError(f"recipe=forms computes with dtype=float32, got {settings.dtype}; leave it out")
    if settings.forms.scored == "classes" and type(own).__name__ in WORDS_ALONE:
        raise PipelineError(f"forms.scored=classes: {type(own).__name__} finds words alone; take forms.scored=words")


def detector_of(settings: FormsConfig) -> Settings:
    """Returns the settings of the detector. Raises PipelineError for one that cannot be."""
    with said_of("detector"):
        own = build("detector", settings.detector, settings.extensions)
    if not isinstance(own, Settings):
        raise PipelineError(f"detector: {type(own).__name__} is no detector; choose one of conf/detector")
    return own
