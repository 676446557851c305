"""`recipe=experts`: one translator for several pairs of languages: load, tokenise, fit, evaluate, report."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import NamedTuple

import torch
from tqdm import tqdm

from data.text_pairs import TextPairs
from models.runtime.collectives import rank
from models.sequence.vocabulary import Vocabulary
from pipeline.host.torchrun import refuse_unlike, settings_of_rank
from pipeline.job.clock import Clock
from pipeline.job.study import Named, Study, set_up, study
from pipeline.settings.job import Job
from pipeline.systems.experts.arms import idle, tag_of
from pipeline.systems.experts.comparison import TRANSLATION
from pipeline.systems.experts.config import ExpertsConfig
from pipeline.systems.experts.evaluate import evaluate, predictor_of
from pipeline.systems.experts.fitting import Fitted, fit_network, network_of
from pipeline.systems.experts.load import Encoded, encoded, load, vocabulary_of
from pipeline.systems.experts.report import log_fitted, log_pairs, low_resource, said
from pipeline.systems.experts.validation import Validation
from pipeline.tracking.run_request import fingerprint


class Loaded(NamedTuple):
    """Holds the data, the vocabulary of their training texts, and the data as numbers."""

    data: TextPairs
    vocabulary: Vocabulary
    encoded: Encoded


def names_of_run(settings: ExpertsConfig, job: Job, data: TextPairs) -> Named:
    """Returns what the run is called and tagged with."""
    own = settings.experts
    names, low = [task.name for task in data.tasks], low_resource(data)
    tags = {"arm": own.arm, "tag": tag_of(settings), "tasks": " ".join(names), "low": " ".join(low)}
    experiment = str(job.choices.get("experiment") or settings.recipe)
    return Named(experiment, words=[own.arm], tags=tags, passed_over=idle(own.arm))


def keep(settings: ExpertsConfig, loaded: Loaded, fitted: Fitted, here: Study) -> str:
    """The model, logged as `tracking.log_model` says; returns words about it."""
    from pipeline.systems.experts.servable import trained_model
    from pipeline.tracking.model import keep_model

    predictor = predictor_of(settings, fitted.network, loaded.data, loaded.vocabulary)
    uri = keep_model(here.run, trained_model(predictor, loaded.data, fitted.validation), settings.tracking, TRANSLATION)
    if uri is None:
        return ""
    return f"\n\npredict: python -m pipeline {shlex.join(['recipe=predict', f'model={uri}', 'data.path=new.csv'])}"


def stages(settings: ExpertsConfig, loaded: Loaded, here: Study, device: torch.device) -> float:
    """Fit, evaluation and report; returns nats for each validation token. Of several processes the first alone
    evaluates and reports."""
    data, vocabulary, numbers = loaded
    network = network_of(settings, data, vocabulary).to(device)
    validation = Validation(data, vocabulary, numbers.parts["validation"], settings.fit.bleu)
    with here.clock.stage("fit"):
        fitted = fit_network(settings, network, numbers, validation, here)
    if rank() > 0:
        return fitted.validation
    here.run.tags({"validation_error": repr(fitted.validation)})
    with here.clock.stage("evaluate"):
        evaluated = evaluate(predictor_of(settings, network, data, vocabulary), data, numbers)
    with here.clock.stage("report"):
        log_fitted(here, data, fitted, evaluated)
        kept = keep(settings, loaded, fitted, here)
    close(here, said(evaluated, data) + kept, fitted.validation)
    return fitted.validation


def close(here: Study, words: str, validation: float) -> None:
    """Says what came out."""
    here.run.describe(f"{here.title}\n\n{words}\n")
    short = f"{here.title}: {validation:.4g} nats a token on validation"
    print(f"\n{here.title}\n\n{words}" if here.full else short)


def train(settings: ExpertsConfig, job: Job) -> float:
    """The whole recipe; returns −log p of a validation token in nats, mean over tasks, of the model that is kept."""
    settings = settings_of_rank(settings)
    device, clock = set_up(settings, job), Clock()
    with clock.stage("load"):
        data = load(settings)
    refuse_unlike(fingerprint(asdict(settings), data.checksum))
    with clock.stage("tokenise"):
        vocabulary = vocabulary_of(settings, data)
        numbers = encoded(settings, data, vocabulary)
    tqdm.write(f"{data.name}: {numbers.parts['train'].count} training pairs of {len(data.tasks)} tasks")
    with study(settings, job, data, device, clock, names_of_run(settings, job, data)) as here:
        log_pairs(here, data, numbers)
        return stages(settings, Loaded(data, vocabulary, numbers), here, device)
