"""`recipe=mctn`: sentiment from one modality, learned with others beside it: load, fit, evaluate, report."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from tqdm import tqdm

from data.utterances import Utterances
from pipeline.host.devices import DTYPES
from pipeline.host.errors import PipelineError
from pipeline.host.torchrun import refuse_several
from pipeline.job.clock import Clock
from pipeline.job.study import Named, Study, set_up, study
from pipeline.settings.build import build
from pipeline.settings.job import Job
from pipeline.settings.messages import of_section
from pipeline.systems.mctn.comparison import SENTIMENT
from pipeline.systems.mctn.config import MctnConfig
from pipeline.systems.mctn.evaluate import bar_of, evaluate, fit_baseline, prediction_table
from pipeline.systems.mctn.fitting import FittedSentimentNetwork, fit_network
from pipeline.systems.mctn.labels import idle
from pipeline.systems.mctn.load import Prepared, prepared
from pipeline.systems.mctn.pictures import log_pictures, log_predictions
from pipeline.systems.mctn.report import log_baseline, log_network, log_samples, score_report
from pipeline.systems.mctn.roles import Roles, arms_advised, roles_of
from pipeline.systems.mctn.scores import error_of


class Loaded(NamedTuple):
    """Holds the data in their own units, as a network takes them, and what is read and learned from."""

    data: Utterances
    samples: Prepared
    roles: Roles


def load(settings: MctnConfig) -> Loaded:
    """Returns the data, cut as `size` says. Raises PipelineError where data= names no utterances, and DataError for an
    arm that they cannot teach."""
    roles = roles_of(settings.mctn.arm)
    data = build("data", settings.data, settings.extensions)
    if not isinstance(data, Utterances):
        raise PipelineError("recipe=mctn takes utterances; choose data=utterances (your own), mosi, mmmo or cycles")
    with of_section("data"):
        data.check_modalities((*roles.sources, *roles.targets), advice=arms_advised(data, settings.mctn.arm))
        data.check_roles(roles.sources, roles.targets)
        data.check_sources(roles.needed)
    data = data.shortened(samples=settings.size.sequences, steps=settings.size.steps)
    return Loaded(data, prepared(data, roles.learned, dtype=DTYPES[settings.dtype]), roles)


def passed_over(settings: MctnConfig, roles: Roles) -> tuple[str, ...]:
    """Returns the settings that change nothing in this fit."""
    section = [f"mctn.{name}" for name in vars(settings.mctn) if name != "arm"]
    own = [key for key in section if idle(settings.mctn.arm, key)]
    return ("seed", "fit", "dtype", *own) if roles.plan is None else tuple(own)


def names_of_run(settings: MctnConfig, loaded: Loaded) -> Named:
    """Returns what the run is called and tagged with."""
    data, _, roles = loaded
    tags = {
        "arm": settings.mctn.arm, "read": roles.letters, "label_kind": data.label_kind,
        "contaminated": str(not data.contaminated.isdisjoint(roles.sources)).lower(),
        "positive_from": repr(data.positive_from) if data.label_kind == "score" else "",
    }  # fmt: skip
    return Named(words=[settings.mctn.arm], tags=tags, passed_over=passed_over(settings, roles))


def network_stages(settings: MctnConfig, job: Job, loaded: Loaded, here: Study) -> float:
    """Fits, evaluates and reports a network, and returns its validation error."""
    data, samples, roles = loaded
    with here.clock.stage("fit"):
        fitted = fit_network(settings, data, samples, here)
    here.run.tags({"validation_error": repr(fitted.validation)})
    with here.clock.stage("evaluate"):
        evaluated = evaluate(fitted, data, samples.parts["test"], missing=settings.mctn.missing)
        evaluated.scores.update(bar_of(settings.mctn.bar, data))
    with here.clock.stage("report"):
        log_network(here, data, fitted, evaluated)
        log_pictures(here, data, fitted, evaluated, samples.parts["test"])
        kept = keep(settings, job, loaded, fitted, here)
    here.close(score_report(evaluated.scores, data, roles) + kept, f"error {fitted.validation:.4g} on validation")
    return fitted.validation


def keep(settings: MctnConfig, job: Job, loaded: Loaded, fitted: FittedSentimentNetwork, here: Study) -> str:
    """Logs the model as the setting `tracking.log_model` says, and returns words about it."""
    from pipeline.systems.mctn.servable import trained_model
    from pipeline.tracking.model import kept_in_words, read_as

    kept = trained_model(fitted.network, loaded.data, loaded.samples, fitted.validation)
    return kept_in_words(here.run, kept, settings.tracking, SENTIMENT, read_as(job.overrides))


def baseline_stages(settings: MctnConfig, loaded: Loaded, here: Study) -> float:
    """Fits, evaluates and reports a simple baseline, which is not kept, and returns its validation error."""
    from pipeline.tracking.model import NOT_KEPT

    data, _, roles = loaded
    with here.clock.stage("fit"):
        fitted = fit_baseline(settings.mctn.arm, data)
    validation, reason = error_of(data, data.validation, fitted.validation), "simple baselines are not kept"
    here.run.tags({"validation_error": repr(validation), NOT_KEPT: reason})
    with here.clock.stage("report"):
        scores = log_baseline(here, data, fitted)
        if here.full:
            log_predictions(here, data, prediction_table(data.test, fitted.outputs))
    here.close(f"{score_report(scores, data, roles)}\n\n{reason}", f"error {validation:.4g} on validation")
    return validation


def train(settings: MctnConfig, job: Job) -> float:
    """Runs the whole recipe, and returns the validation error of the fitted model: the mean absolute error of scores,
    or the share of wrong classes."""
    refuse_several("recipe=mctn")
    device, clock = set_up(replace(settings, device="cpu"), job), Clock()
    with clock.stage("load"):
        loaded = load(settings)
    data = loaded.data
    tqdm.write(f"{data.name}: {len(data.train)} training samples, {len(data.test)} for test")
    with study(settings, job, data, device, clock, names_of_run(settings, loaded)) as here:
        log_samples(here, data)
        if loaded.roles.plan is None:
            return baseline_stages(settings, loaded, here)
        return network_stages(settings, job, loaded, here)
