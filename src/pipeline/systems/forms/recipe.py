"""`recipe=forms`: a model that finds the boxes of handwritten forms: load, detector, evaluate, report."""

from __future__ import annotations

import re

import torch
from tqdm import tqdm

from data.form_images import HandwrittenForms
from models.forms.detect.components import Components
from pipeline.host.torchrun import refuse_several
from pipeline.job.clock import Clock
from pipeline.job.study import Named, Study, set_up, study
from pipeline.settings.job import Job
from pipeline.systems.forms.comparison import FORMS
from pipeline.systems.forms.config import FormsConfig
from pipeline.systems.forms.fitting import Fitted, fit
from pipeline.systems.forms.load import load, shown
from pipeline.systems.forms.report import Tested, log_data, log_fitted, said
from pipeline.systems.forms.scores import detected

WORDS = re.compile(r"[\w+]+")
USUAL = "thesis"


def arm_of(settings: FormsConfig, job: Job) -> str:
    """Returns what tables call a run: its variant, or its detector and how its images are changed."""
    own = settings.forms
    if own.variant:
        return own.variant
    detector = str(job.choices.get("detector"))
    return detector if own.augment == USUAL or detector == "components" else f"{detector}, {own.augment}"


def names_of_run(settings: FormsConfig, job: Job) -> Named:
    """Returns what the run is called and tagged with."""
    arm, own = arm_of(settings, job), settings.forms
    tags = {"arm": arm, "scored": own.scored, "augment": own.augment}
    return Named(str(job.choices.get("experiment") or settings.recipe), words=["-".join(WORDS.findall(arm))], tags=tags)


def tests_of(settings: FormsConfig, data: HandwrittenForms, fitted: Fitted) -> list[Tested]:
    """Returns every test part with what was found on it, by the detector and, where asked for, as connected ink."""
    simple = None
    if settings.forms.components and fitted.curve is not None:
        tuning = shown(data.parts["train"], range(min(settings.forms.tuned_on, len(data.parts["train"]))))
        simple = Components().prepared([ink[None] for ink in tuning.inks], tuning.truths).network()
    parts = [(name, shown(data.parts[name])) for name in data.tests]
    return [Tested(name, forms, detected(fitted.detector, forms), None if simple is None else detected(simple, forms))
            for name, forms in parts]  # fmt: skip


def stages(settings: FormsConfig, data: HandwrittenForms, device: torch.device, here: Study) -> float:
    """Training, evaluation and report; returns the validation error."""
    with here.clock.stage("detector"):
        fitted = fit(settings, data, here, device)
    here.run.tags({"validation_error": repr(fitted.validation)})
    with here.clock.stage("evaluate"):
        tests = tests_of(settings, data, fitted)
    with here.clock.stage("report"):
        log_fitted(here, fitted, tests, settings.forms.scored)
        kept = keep(settings, data, fitted, here)
    here.close(said(tests, data) + kept, f"{fitted.validation:.4g} on the validation part")
    return fitted.validation


def keep(settings: FormsConfig, data: HandwrittenForms, fitted: Fitted, here: Study) -> str:
    """The model, logged as `tracking.log_model` says; returns words about it."""
    from pipeline.systems.forms.servable import trained_model
    from pipeline.tracking.model import how_to_predict, keep_model

    kept = trained_model(fitted.detector, data.parts["test"], fitted.validation)
    uri = keep_model(here.run, kept, settings.tracking, FORMS)
    return "" if uri is None else f"\n\n{how_to_predict(uri, path='FOLDER')}"


def train(settings: FormsConfig, job: Job) -> float:
    """The whole recipe; returns the error on the validation part: 1 − average precision of words, or 1 − its mean over
    classes."""
    refuse_several("recipe=forms")
    device, clock = set_up(settings, job), Clock()
    with clock.stage("load"):
        data = load(settings)
    sizes = ", ".join(f"{row['forms']} {row['part']}" for row in data.sizes())
    tqdm.write(f"{data.name}: {sizes} forms")
    with study(settings, job, data, device, clock, names_of_run(settings, job)) as here:
        log_data(here, data)
        return stages(settings, data, device, here)
