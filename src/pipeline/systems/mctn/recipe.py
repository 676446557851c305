"""`recipe=mctn`: sentiment from one modality, learned with others beside it: load, fit, evaluate, report."""

from __future__ import annotations

from tqdm import tqdm

from data.utterances import Utterances
from pipeline.host.devices import DTYPES
from pipeline.host.errors import PipelineError
from pipeline.host.torchrun import refuse_several
from pipeline.job.clock import Clock
from pipeline.job.study import Named, Study, set_up, study
from pipeline.settings.build import build
from pipeline.settings.job import Job
from pipeline.systems.mctn.config import MctnConfig
from pipeline.systems.mctn.evaluate import bar_of, evaluate, fit_baseline, prediction_table
from pipeline.systems.mctn.fitting import fit_network
from pipeline.systems.mctn.load import Prepared, prepared
from pipeline.systems.mctn.pictures import log_pictures, log_predictions
from pipeline.systems.mctn.report import log_baseline, log_network, log_samples, said
from pipeline.systems.mctn.roles import Roles, roles_of
from pipeline.systems.mctn.scores import error_of


def load_utterances(settings: MctnConfig) -> Utterances:
    """Returns the data, cut as `size` says. Raises PipelineError where data= names no utterances."""
    data = build("data", settings.data, settings.extensions)
    if not isinstance(data, Utterances):
        raise PipelineError("recipe=mctn takes utterances; choose data=utterances (your own), mosi, mmmo or cycles")
    return data.shortened(samples=settings.size.sequences, steps=settings.size.steps)


def names_of_run(settings: MctnConfig, job: Job, data: Utterances, roles: Roles) -> Named:
    """Returns what the run is called and tagged with. A baseline draws nothing, so that its seed changes nothing."""
    experiment = str(job.choices.get("experiment") or settings.recipe)
    arm = settings.mctn.arm
    tags = {
        "arm": arm, "read": roles.letters, "label_kind": data.label_kind,
        "contaminated": str(not data.contaminated.isdisjoint(roles.sources)).lower(),
        "positive_from": repr(data.positive_from) if data.label_kind == "score" else "",
    }  # fmt: skip
    return Named(experiment, words=[arm], tags=tags, passed_over=("seed",) if roles.plan is None else ())


def network_stages(settings: MctnConfig, data: Utterances, samples: Prepared, roles: Roles, here: Study) -> float:
    """Fit, evaluation and report of a network; returns its validation error."""
    own = settings.mctn
    with here.clock.stage("fit"):
        fitted = fit_network(settings, data, samples, here)
    here.run.tags({"validation_error": repr(fitted.validation)})
    with here.clock.stage("evaluate"):
        evaluated = evaluate(fitted, data, samples.parts["test"], missing=own.missing)
        evaluated.scores.update(bar_of(own.bar, data))
    with here.clock.stage("report"):
        log_network(here, data, fitted, evaluated)
        log_pictures(here, data, fitted, evaluated, samples.parts["test"])
        close(here, said(evaluated.scores, data, roles), fitted.validation)
    return fitted.validation


def baseline_stages(settings: MctnConfig, data: Utterances, roles: Roles, here: Study) -> float:
    """Fit, evaluation and report of a simple baseline; returns its validation error."""
    with here.clock.stage("fit"):
        fitted = fit_baseline(settings.mctn.arm, data)
    validation = error_of(data, data.validation, fitted.validation)
    here.run.tags({"validation_error": repr(validation)})
    with here.clock.stage("report"):
        scores = log_baseline(here, data, fitted)
        if here.full:
            log_predictions(here, data, prediction_table(data.test, fitted.outputs))
        close(here, said(scores, data, roles), validation)
    return validation


def close(here: Study, words: str, validation: float) -> None:
    """Says what came out."""
    here.run.describe(f"{here.title}\n\n{words}\n")
    print(f"\n{here.title}\n\n{words}" if here.full else f"{here.title}: error {validation:.4g} on validation")


def train(settings: MctnConfig, job: Job) -> float:
    """The whole recipe; returns the validation error of the model that is kept: the mean absolute error of scores, or
    the share of wrong classes."""
    refuse_several("recipe=mctn")
    device, clock = set_up(settings, job), Clock()
    roles = roles_of(settings.mctn.arm)
    with clock.stage("load"):
        data = load_utterances(settings)
        data.check_roles(roles.sources, roles.targets)
        samples = prepared(data, roles.learned, dtype=DTYPES[settings.dtype])
    tqdm.write(f"{data.name}: {len(data.train)} training samples, {len(data.test)} for test")
    with study(settings, job, data, device, clock, names_of_run(settings, job, data, roles)) as here:
        log_samples(here, data)
        if roles.plan is None:
            return baseline_stages(settings, data, roles, here)
        return network_stages(settings, data, samples, roles, here)
