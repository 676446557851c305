"""`recipe=documents`: a model that reads long documents: load, tokenise, plan, pretrain, fine-tune, evaluate."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any

import pandas as pd
from tqdm import tqdm

from data.pages import Documents
from models.sequence.vocabulary import Vocabulary
from pipeline.compare.arms import MEASURED, of_vocabulary
from pipeline.host.torchrun import refuse_several
from pipeline.job.clock import Clock
from pipeline.job.study import Named, Study, set_up, study
from pipeline.job.vocabulary import refuse_another
from pipeline.settings.job import Job
from pipeline.systems.documents.baselines import baselines_of
from pipeline.systems.documents.comparison import DOCUMENTS
from pipeline.systems.documents.config import DocumentsConfig
from pipeline.systems.documents.drawn import with_interval
from pipeline.systems.documents.fitting import FittedDocumentNetwork, fit, guessed_of
from pipeline.systems.documents.load import Loaded, Read, load, prepare, unlearned, vocabulary_of
from pipeline.systems.documents.report import (
    cut_of,
    log_attention,
    log_data,
    log_fitted,
    log_pictures,
    refuse_taken_kinds,
    score_report,
)
from pipeline.systems.documents.scores import Scored, guessing_accuracy, guessing_loss, predictor_of, score_of_part

WORDS = re.compile(r"[\w@]+")
USUAL_ENCODERS = ("small", "shallow")  # of the experiments and of the recipe


def arm_of(settings: DocumentsConfig, job: Job) -> str:
    """Returns what tables call a run: its variant, or its attention and what is unlike the usual: boxes, whole
    documents, a usual encoder, and hidden words guessed before."""
    own = settings.documents
    unguessed = "" if settings.pretrain.steps else "no pretraining"
    attention = attention_of(settings, job)
    if own.variant:
        return " ".join(word for word in (attention, noise_of(settings), unguessed) if word)
    words = [attention, "" if own.layout == "boxes" else own.layout]
    encoder = str(job.choices.get("encoder"))
    words += [noise_of(settings), f"@{own.max_length}" if own.overflow == "cut" else ""]
    words += ["" if encoder in USUAL_ENCODERS else encoder, unguessed]
    return " ".join(word for word in words if word)


def attention_of(settings: DocumentsConfig, job: Job) -> str:
    """Returns what the attention is called: by the run's variant, else by its choice; where each layer has one of its
    own, by how many layers have which, one after the other."""
    own, name = settings.attention, settings.documents.variant
    if "patterns" not in own:
        return called(name or str(job.choices.get("attention")), own)
    runs = ((kind, len(list(layers))) for kind, layers in groupby(own["per_layer"]))
    words = [f"{count} {called(kind, own['patterns'][kind])}" for kind, count in runs]
    return ", ".join([name, *words] if name else words)


def called(name: str, section: Mapping[str, Any]) -> str:
    """Returns the name of an attention, with a word where no token of it is global."""
    return f"{name} no global token" if section.get("global_tokens") == [] else name


def noise_of(settings: DocumentsConfig) -> str:
    """Returns how documents are read worse than they are, "" where they are not."""
    own = settings.documents
    words = [f"jitter {own.jitter}" if own.jitter else "", "shuffled" if own.shuffle else ""]
    return " ".join(word for word in words if word)


def measured(settings: DocumentsConfig, vocabulary: Vocabulary) -> str:
    """Returns what an error of a run is of: its task, and, where hidden tokens are guessed, the vocabulary that has
    them."""
    task = settings.documents.task
    return f"documents.task={task}" + (f" {of_vocabulary(vocabulary.digest)}" if task == "mlm" else "")


def names_of_run(settings: DocumentsConfig, job: Job, read: Read, vocabulary: Vocabulary) -> Named:
    """Returns what the run is called and tagged with, and what other data that hidden words are learned from have."""
    arm, cue = arm_of(settings, job), str(settings.data.get("cue", "")) if isinstance(settings.data, dict) else ""
    tags = {"arm": arm, "task": settings.documents.task, "cue": cue, MEASURED: measured(settings, vocabulary)}
    content = "" if read.guessed.checksum == read.data.checksum else read.guessed.checksum
    words = ["-".join(WORDS.findall(arm)), *([cue] if cue else [])]
    idle = () if settings.pretrain.steps else ("pretrain.evaluate_every",)
    return Named(words=words, tags=tags, passed_over=idle, content=content)


def tested_of(settings: DocumentsConfig, loaded: Loaded, fitted: FittedDocumentNetwork) -> Scored:
    """Returns the scores of the test part."""
    if settings.documents.task != "mlm":
        return score_of_part(predictor_of(settings.documents, fitted.network, loaded), loaded, "test")
    rows = guessed_of(loaded, fitted.network, "test")
    loss = guessing_loss(rows)
    return Scored(loss, rows, {"mlm_loss": loss, "mlm_accuracy": guessing_accuracy(rows)}, pd.DataFrame())


def stages(settings: DocumentsConfig, job: Job, loaded: Loaded, here: Study) -> float:
    """Fits simple models, trains, evaluates and reports; returns the validation error."""
    with here.clock.stage("baselines"):  # before what takes hours, which a simple model that cannot be fitted would end
        simple = baselines_of(settings, loaded.data)
    task = settings.documents.task
    fitted = fit(settings, loaded, here)
    here.run.tags({"validation_error": repr(fitted.validation)})
    with here.clock.stage("evaluate"):
        tested = with_interval(task, tested_of(settings, loaded, fitted))
        others = {name: with_interval(task, own) for name, own in simple.items()}
    with here.clock.stage("report"):
        log_fitted(here, fitted, tested, others, task, noise_of(settings))
        log_pictures(here, tested, loaded.data, task)
        kept = keep(settings, job, loaded, fitted, here)
    here.close(score_report(tested, others, loaded.data) + kept, f"{tested.error:.4g} on the test part")
    return fitted.validation


def keep(settings: DocumentsConfig, job: Job, loaded: Loaded, fitted: FittedDocumentNetwork, here: Study) -> str:
    """Keeps the model, logged as `tracking.log_model` says. Returns words about it. A model that only guesses is not
    kept."""
    from pipeline.systems.documents.servable import trained_model
    from pipeline.tracking.model import NOT_KEPT, kept_in_words, read_as

    if settings.documents.task == "mlm":
        here.run.tags({NOT_KEPT: "a network that guesses hidden words has no answers to give"})
        return ""
    predictor = predictor_of(settings.documents, fitted.network, loaded)
    kept = trained_model(predictor, loaded.data.parts["test"], fitted.validation)
    return kept_in_words(here.run, kept, settings.tracking, DOCUMENTS, read_as(job.overrides))


def described(task: str, data: Documents) -> str:
    """Returns how much there is to learn from, and what is in other parts alone."""
    counts = f"{data.name}: " + ", ".join(f"{row['documents']} {row['part']}" for row in data.sizes()) + " documents"
    missing = unlearned(task, data)
    said = f"; no training document has {', '.join(missing)}, which count as missed in the others" if missing else ""
    return counts + said


def say_cut(settings: DocumentsConfig, loaded: Loaded) -> None:
    """Prints how many documents are not read to their end; nothing where all are."""
    count, there = cut_of(loaded), sum(map(len, loaded.data.parts.values()))
    if count:
        tqdm.write(
            f"{loaded.data.name}: {count} of {there} documents are read to their first {settings.documents.max_length} "
            "tokens alone (documents.overflow=cut); documents.overflow=chunk reads all"
        )


def data_of_run(read: Read) -> Documents:
    """Returns the data as a run tells of them: they are a stand-in where those that hidden words are learned from are
    one, too."""
    return replace(read.data, stand_in=read.data.stand_in or read.guessed.stand_in)


def train(settings: DocumentsConfig, job: Job) -> float:
    """Runs the whole recipe and returns the error on the validation part of the model that is kept: 1 − F1 of entities,
    1 − accuracy of classes, or nats a hidden token."""
    refuse_several("recipe=documents")
    device, clock = set_up(settings, job), Clock()
    with clock.stage("load"):
        read = load(settings)
    refuse_taken_kinds(settings, read.data)
    tqdm.write(described(settings.documents.task, read.data))
    with clock.stage("tokenise"):
        vocabulary = vocabulary_of(settings, read)
    with clock.stage("plan"):
        loaded = prepare(settings, read, vocabulary, device)
    say_cut(settings, loaded)
    named = names_of_run(settings, job, read, vocabulary)
    with study(settings, job, data_of_run(read), device, clock, named) as here:
        refuse_another(vocabulary, here.folder)
        log_data(here, loaded)
        log_attention(here, loaded, settings)
        return stages(settings, job, loaded, here)
