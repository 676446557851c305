"""A detector and a recogniser for forms: found where another run with the same settings trained them, else trained."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tqdm import tqdm

from data.form_images import HandwrittenForms
from data.forms.moved_boxes import MovedBoxes
from data.word_images import HandwrittenWords
from models.forms.detect.detector import Detector
from models.forms.detect.saved import load_detector, save_detector
from models.forms.recognise.correction import Correction
from models.forms.recognise.recogniser import Recogniser
from models.forms.recognise.saved import load_recogniser, save_recogniser
from pipeline.host.atomic import written_whole
from pipeline.job.curve import Progress
from pipeline.job.shared import forget_states, seconds_of, timed, versioned
from pipeline.job.study import Study
from pipeline.systems.forms.checks import page_reader_of
from pipeline.systems.forms.config import FormsConfig
from pipeline.systems.forms.reading.load import pages_of, words_of
from pipeline.systems.forms.recognition import fitting as recognition
from pipeline.systems.forms.recognition.load import Moved
from pipeline.systems.forms.recognition.starting import start_digest
from pipeline.systems.forms.segmentation import fitting as segmentation

KEPT, SCORE = "model", "validation.json"


ROUNDING = 1e-9  # of a share of epochs that is a whole number
VERSIONS = {"detector": 3, "recogniser": 4}  # of how each is trained and read, raised where equal settings give others


class TrainedPart(NamedTuple):
    """Holds a trained part: what writes it into a new folder, its validation error, and the curve of its training."""

    save: Callable[[Path], None]
    validation: float
    curve: Progress | None


class Part(NamedTuple):
    """Holds a model of forms, its error on the validation part of what it learned, the curve of its training where this
    run trained it, the name by which runs find it, and whether it was there already."""

    model: Any
    validation: float
    curve: Progress | None
    mark: str
    found: bool


def detector_for(settings: FormsConfig, data: HandwrittenForms, here: Study, device: torch.device) -> Part:
    """Returns a detector of the settings, whose model is a `Detector`."""
    sections = (settings.detector, asdict(settings.fit), settings.forms.scored)

    def make(study: Study) -> TrainedPart:
        fitted = segmentation.fit(settings, data, study, device)
        return TrainedPart(lambda folder: save_detector(fitted.detector, folder), fitted.validation, fitted.curve)

    def find(folder: Path) -> Detector:
        return load_detector(folder)[0].to(device)

    return part_of("detector", mark_of(settings, data, device, sections), here, make, find)


def page_reader_for(settings: FormsConfig, data: HandwrittenForms, here: Study, device: torch.device) -> Part:
    """Returns a reader of whole forms, trained as a recogniser is, with forms in place of words; without correction."""
    own = replace(settings.forms, corrected_within=0, vocabulary=None, moved=0.0)
    alike = replace(settings, recogniser=settings.reader, forms=own)
    characters = page_reader_of(settings).characters
    return trained_on(lambda: pages_of(data, characters), alike, data, here, device)


def recogniser_for(settings: FormsConfig, data: HandwrittenForms, here: Study, device: torch.device) -> Part:
    """Returns a recogniser of the settings, trained on the words of the forms at their true boxes, moved as
    `forms.moved` and `forms.moved_after` say."""
    return trained_on(lambda: words_of(data), settings, data, here, device)


def trained_on(
    cut: Callable[[], HandwrittenWords],
    settings: FormsConfig,
    data: HandwrittenForms,
    here: Study,
    device: torch.device,
) -> Part:
    """Returns a recogniser of images that are cut out of the forms, where none is found. Its model is the pair of
    `Recogniser` and `Correction`, None without one; as nothing is trained for that, it is made anew for each run."""
    own = settings.forms
    sections = (
        settings.recogniser,
        asdict(settings.recognition),
        own.alphabet,
        *([own.moved, own.moved_after] if own.moved else []),
        start_digest(settings),
    )

    def make(study: Study) -> TrainedPart:
        words = cut()
        begun = recognition.untrained(settings, words, device)
        model, _, curve, validation = recognition.fit(settings, begun, words, study, moved_of(settings, data))
        return TrainedPart(lambda folder: save_recogniser(model, folder), validation, curve)

    def find(folder: Path) -> tuple[Recogniser, Correction | None]:
        recogniser, _ = load_recogniser(folder)
        recognition.say_what_vocabulary_loses(settings, recogniser.alphabet)
        texts = [recogniser.alphabet.spelt(text) for text in data.parts["train"].words()]
        return recogniser.to(device), recognition.correction_of(settings, recogniser.alphabet, texts)

    return part_of("recogniser", mark_of(settings, data, device, sections), here, make, find)


def moved_of(settings: FormsConfig, data: HandwrittenForms) -> Moved | None:
    """Returns words at moved boxes, those of training from the epoch on that `forms.moved_after` says, at least in the
    last one; None where none is moved."""
    own, epochs = settings.forms, settings.recognition.epochs
    if not own.moved:
        return None
    train, held = (MovedBoxes(data.parts[part], deviation=own.moved, seed=settings.seed)
                   for part in ("train", "validation"))  # fmt: skip
    return Moved(train, held, min(int(own.moved_after * epochs + ROUNDING), max(0, epochs - 1)))


def mark_of(settings: FormsConfig, data: HandwrittenForms, device: torch.device, sections: Any) -> str:
    """Returns the fingerprint of all that a part follows from."""
    threads = torch.get_num_threads()  # sums are rounded by them
    parts = (data.checksum, sections, settings.forms.augment, settings.seed, settings.dtype, device.type, threads)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def part_of(
    name: str, mark: str, here: Study, make: Callable[[Study], TrainedPart], find: Callable[[Path], Any]
) -> Part:
    """Returns a part as it is read from its folder, which is made first where it is not there. A training that was
    stopped goes on there. The stage that runs counts the seconds of the making, whichever run made the part, and not
    those in which it waited for that run."""
    asked = time.monotonic()
    with here.place_of(f"forms-{name}", mark, version=VERSIONS[name]) as folder:
        here.clock.spent_before(asked - time.monotonic())
        found, curve, begun = (folder / KEPT).exists(), None, any(folder.glob("*.npz"))
        if found:
            tqdm.write(f"{name}: found, trained before ({folder})")
        else:
            with timed(folder, begun=begun):
                own = make(here._replace(folder=folder))
            curve = write_part(folder, own)
        forget_states(folder)
        if found or begun:
            here.clock.spent_before(seconds_of(folder))
        validation = float(json.loads((folder / SCORE).read_text(encoding="utf-8")))
        return Part(find(folder / KEPT), validation, curve, versioned(mark, VERSIONS[name]), found)


def write_part(folder: Path, own: TrainedPart) -> Progress | None:
    """Writes a part; its error goes before the model, whose folder says that all is there. Returns its curve."""
    with written_whole(folder / SCORE) as temporary:
        temporary.write_text(json.dumps(own.validation), encoding="utf-8")
    own.save(folder / KEPT)
    return own.curve
