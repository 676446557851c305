"""The stage that trains: a detector learns boxes of forms, or is tuned on them."""

from __future__ import annotations

from typing import NamedTuple

import torch

from data.form_images import HandwrittenForms
from data.forms.augment import Augmentation
from models.forms.detect.boxes import Detections
from models.forms.detect.detector import Detector, Settings
from models.forms.detect.objective import DetectionObjective
from models.forms.detect.two_stage import TooManyBoxes
from pipeline.job.curve import Progress
from pipeline.job.study import Study
from pipeline.settings.messages import of_section
from pipeline.systems.forms.checks import detector_of
from pipeline.systems.forms.config import FormsConfig
from pipeline.systems.forms.learning import Lesson, learn
from pipeline.systems.forms.segmentation.load import Copies, Inks, Shown, shown
from pipeline.systems.forms.segmentation.scores import detected, error_of, metrics_of


class FittedDetector(NamedTuple):
    """Holds a detector, the curve of its training where there was one, its error on the validation part, and what it
    finds there, None where that is not at hand."""

    detector: Detector
    curve: Progress | None
    validation: float
    found: list[Detections] | None = None


def fit(settings: FormsConfig, data: HandwrittenForms, here: Study, device: torch.device) -> FittedDetector:
    """Returns the detector, fitted to the training part."""
    held = shown(data.parts["validation"])
    made = prepared(detector_of(settings), data)
    detector = made.network(seed=settings.seed).to(device)
    if not made.trained:
        found = detected(detector, held)
        return FittedDetector(detector, None, validation_of(detector, found, held, settings)["validation_error"], found)
    progress = learnt(settings, detector, data, held, here)
    return FittedDetector(detector.eval(), progress, progress.kept.values["validation_error"])


def prepared(made: Settings, data: HandwrittenForms) -> Settings:
    """Returns the settings of a detector with what it takes from the training forms. Raises PipelineError where these
    do not go with it, naming the form and its file."""
    train = data.parts["train"]
    images = Inks(train, range(len(train)), channel=True)
    with of_section("detector"):
        try:
            return made.prepared(images, shown(train).truths)
        except TooManyBoxes as error:
            raise ValueError(error.said(data.called("train", error.form))) from error


def validation_of(detector: Detector, found: list[Detections], held: Shown, settings: FormsConfig) -> dict[str, float]:
    """Returns the scores of what is found on the validation part."""
    scores = metrics_of(found, held.truths, detector.settings.kinds)
    known = {f"validation_{name}": scores[name] for name in ("ap_word", "map") if name in scores}
    return {**known, "validation_error": error_of(scores, settings.forms.scored)}


def learnt(settings: FormsConfig, detector: Detector, data: HandwrittenForms, held: Shown, here: Study) -> Progress:
    """Minimises the losses of a detector, see `learn`."""
    forms = data.parts["train"]
    copies = Copies(forms, Augmentation(settings.forms.augment, settings.seed))
    objective = DetectionObjective(detector, copies, len(forms), batch=settings.fit.batch)

    def measure() -> dict[str, float]:
        return {**objective.noted.taken(), **validation_of(detector, detected(detector, held), held, settings)}

    return learn(
        Lesson(objective, len(forms), measure, "validation_error", "detector"), settings.fit, here, settings.seed
    )
