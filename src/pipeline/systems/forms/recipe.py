"""`recipe=forms`: a model that finds the boxes of handwritten forms, one that reads images of words, or both together,
which read forms."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pandas as pd
import torch
from tqdm import tqdm

from data.forms.vocabulary import read_vocabulary
from pipeline.compare.arms import MEASURED
from pipeline.host.torchrun import refuse_several
from pipeline.job.clock import Clock
from pipeline.job.study import Named, Study, set_up, study
from pipeline.settings.job import Job
from pipeline.systems.forms import contents
from pipeline.systems.forms.checks import boxes_given
from pipeline.systems.forms.config import GROUPS, FormsConfig
from pipeline.systems.forms.labels import GIVEN, UNCHANGED
from pipeline.systems.forms.reading import stages as reading
from pipeline.systems.forms.recognition import stages as recognition
from pipeline.systems.forms.recognition.starting import start_digest
from pipeline.systems.forms.segmentation import stages as segmentation

WORDS = re.compile(r"[\w+]+")
USUAL = "thesis"
WITHOUT = {"crnn_best_path": "crnn"}  # a recogniser of conf/ that is another one without its language model
IDLE = {  # sections that change nothing in a stage
    "segmentation": ("recogniser", "recognition"),
    "recognition": ("detector", "fit"),
    "pipeline": (),
    "data": ("detector", "recogniser"),
}
MEASURED_BY = {  # settings of `forms` by which errors of a stage are of other things
    "segmentation": ("scored",),
    "recognition": ("alphabet",),
    "pipeline": ("boxes", "alphabet"),
    "data": (),
}


class Stage(NamedTuple):
    """Holds what a value of `forms.stage` means: how data are loaded, and the stages after that, which return the
    validation error, None where nothing is trained."""

    load: Callable[..., Any]
    stages: Callable[[FormsConfig, Any, torch.device, Study], float | None]


STAGES = {
    "segmentation": Stage(segmentation.load, segmentation.stages),
    "recognition": Stage(recognition.load, recognition.stages),
    "pipeline": Stage(reading.load, reading.stages),
    "data": Stage(contents.load, contents.stages),
}


def arm_of(settings: FormsConfig, job: Job) -> str:
    """Returns what tables call a run: its variant, or its model and how its images are changed."""
    own, model = settings.forms, model_of(settings, job)
    if own.variant:
        return own.variant
    return model if own.augment == USUAL or model == UNCHANGED else f"{model}, {own.augment}"


def model_of(settings: FormsConfig, job: Job) -> str:
    """Returns what finds boxes and what reads, as they are chosen."""
    groups = GROUPS[settings.forms.stage] if settings.reader is None else ("reader",)
    names = [WITHOUT.get(name, name) for name in (str(job.choices.get(group)) for group in groups)]
    if boxes_given(settings):
        names[0] = GIVEN
    model = " + ".join(names) or settings.forms.stage
    return model + language_in_words(settings) + ("" if settings.refiner is None else ", refined ink")


def language_in_words(settings: FormsConfig) -> str:
    """Returns what is said of a recogniser that reads with a language model; "" where none takes part."""
    takes_part = settings.reader is None and "recogniser" in GROUPS[settings.forms.stage]
    return ", language model" if takes_part and settings.recogniser.get("language") is not None else ""


def measured(settings: FormsConfig) -> str:
    """Returns what an error of a run is of, as the settings that say it: boxes of words or of classes, or characters of
    an alphabet, in images of words or in forms, whose boxes are found or given."""
    names = ("stage", *MEASURED_BY[settings.forms.stage])
    return " ".join(f"forms.{name}={getattr(settings.forms, name)}" for name in names)


def names_of_run(settings: FormsConfig, job: Job, unit: str) -> Named:
    """Returns what the run is called and tagged with, and what its files say. unit: what one of the data is called, in
    the plural. Raises PipelineError for a word model to start from that is not there."""
    arm, own = arm_of(settings, job), settings.forms
    tags = {"arm": arm, "stage": own.stage, "scored": own.scored, "augment": own.augment,
            "model": model_of(settings, job), MEASURED: measured(settings)}  # fmt: skip
    words = ["-".join(WORDS.findall(arm))]
    idle = passed_over(settings, unit)
    known = "" if own.vocabulary is None else repr(read_vocabulary(own.vocabulary, where="forms.vocabulary"))
    start = "" if "recogniser" in idle else start_digest(settings)
    return Named(words=words, tags=tags, passed_over=idle, content=known + start)


def passed_over(settings: FormsConfig, unit: str) -> tuple[str, ...]:
    """Returns the sections that change nothing in a run. unit: as of `names_of_run`."""
    without = tuple(name for name in ("refiner", "reader") if getattr(settings, name) is None)
    idle = (*IDLE[settings.forms.stage], *without)
    if settings.forms.stage == "data":
        return ("recognition" if unit == "forms" else "fit", *idle)
    if settings.reader is not None:
        return ("detector", "fit", "recogniser", *idle)
    return ("detector", "fit", *idle) if boxes_given(settings) else idle


def log_files(here: Study, data: Any, unit: str) -> None:
    """Logs the file behind the number of each form or image, where there are files. unit: as of `names_of_run`."""
    rows = [(part, number, file) for part, own in data.files.items() for number, file in enumerate(own)]
    if rows:
        here.run.table(pd.DataFrame(rows, columns=["part", unit.removesuffix("s"), "file"]), "files.csv")


def train(settings: FormsConfig, job: Job) -> float | None:
    """Runs the whole recipe and returns the error on the validation part, as `evaluate/test_error` is of the test part;
    None where nothing is trained."""
    refuse_several("recipe=forms")
    own = STAGES[settings.forms.stage]
    device, clock = set_up(settings, job), Clock()
    with clock.stage("load"):
        data = own.load(settings, shared=job.multirun)
    sizes = ", ".join(f"{row[data.unit]} {row['part']}" for row in data.sizes())
    tqdm.write(f"{data.name}: {sizes} {data.unit}")
    with study(settings, job, data, device, clock, names_of_run(settings, job, data.unit)) as here:
        log_files(here, data, data.unit)
        return own.stages(settings, data, device, here)
