"""The stages that train: a network learns to guess hidden tokens, then to tag words or to tell classes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from tqdm import tqdm

from models.documents.network import DocumentNetwork, network_over
from models.documents.objective import GuessingObjective, Prepared, ReadingObjective
from models.documents.training import tokens_for
from models.runtime.saved import read_tensors
from models.runtime.seeding import generator
from models.runtime.threads import threads_for
from models.sequence.masking import Masking
from models.sequence.vocabulary import UNKNOWN, Vocabulary
from pipeline.host.atomic import written_whole
from pipeline.host.devices import DTYPES
from pipeline.host.errors import PipelineError
from pipeline.job.curve import Decision, Measures, Progress
from pipeline.job.curve_report import log_row
from pipeline.job.fit import Fit
from pipeline.job.fit_settings import FitSettings
from pipeline.job.pace import Paced
from pipeline.job.shared import seconds_of, timed
from pipeline.job.study import Study
from pipeline.systems.documents.checks import architecture_of
from pipeline.systems.documents.config import DocumentsConfig
from pipeline.systems.documents.load import Loaded, outputs_of
from pipeline.systems.documents.scores import (
    HEADS,
    SCORES,
    Scored,
    guessed,
    guessing_accuracy,
    guessing_loss,
    masked_documents,
    predictor_of,
    score_of_part,
)

WEIGHTS, FINETUNE = "weights.npz", "finetune"
CLIP = 1.0
MOST_TOKENS = 8192  # of a batch that nobody chose
VERSION = 5  # of how hidden tokens are learned, raised where the same settings give other weights
ALL_EPOCHS = 10**9  # as many as the steps want


class FittedDocumentNetwork(NamedTuple):
    """Holds a network, the curves of its stages, and its validation error."""

    network: DocumentNetwork
    curves: dict[str, Progress]
    validation: float


def masking_of(settings: DocumentsConfig, vocabulary: Vocabulary) -> Masking:
    """Returns how tokens of the training part are hidden: behind the sign for what is unknown, which no text has."""
    own = settings.pretrain
    whole_words = own.masking == "whole_word"
    return Masking(UNKNOWN, vocabulary.first, vocabulary.size, share=own.share, whole_words=whole_words)


def scored_masking(vocabulary: Vocabulary) -> Masking:
    """Returns how tokens are hidden that networks are scored by: 15 %, each by itself, whatever training hides."""
    return Masking(UNKNOWN, vocabulary.first, vocabulary.size)


def guessed_of(loaded: Loaded, network: DocumentNetwork, part: str) -> pd.DataFrame:
    """Returns the losses of the hidden tokens of a part, a row a document."""
    masking = scored_masking(loaded.reading.vocabulary)
    return guessed(
        network, masked_documents(loaded.reading, loaded.data.parts[part], loaded.parts[part], masking), masking
    )


def network_of(settings: DocumentsConfig, loaded: Loaded) -> DocumentNetwork:
    """Returns the network with its first weights."""
    outputs = len(outputs_of(settings.documents.task, loaded.data))
    vocabulary = loaded.reading.vocabulary
    architecture = architecture_of(settings, vocabulary=vocabulary.size, outputs=outputs)
    return network_over(vocabulary, architecture, seed=settings.seed).to(DTYPES[settings.dtype]).to(loaded.device)


def pretrain(settings: DocumentsConfig, loaded: Loaded, network: DocumentNetwork, here: Study) -> Progress | None:
    """Has the network learn to guess hidden tokens of the training part, or takes weights that a run with the same
    settings learned before; returns the curve of a training. The seconds of learning them are those of the stage."""
    if not settings.pretrain.steps:
        return None
    with here.place_of("pretrained", mark_of(settings, loaded), version=VERSION) as folder:
        path = folder / WEIGHTS
        if path.exists():
            tqdm.write(f"pretrain: found, learned before ({folder})")
            with here.clock.stage("pretrain", said=False):
                here.clock.spent_before(seconds_of(folder))
                put_weights(path, network)
            return None
        with timed(folder, begun=(here.folder / "pretrain.npz").exists()):
            progress = learn_to_guess(settings, loaded, network, here)
        keep_weights(path, network)
        return progress


def mark_of(settings: DocumentsConfig, loaded: Loaded) -> str:
    """Returns the fingerprint of all that pretraining follows from."""
    own = settings.documents
    parts = (
        loaded.guessed_data.checksum, loaded.reading.vocabulary.to_json(), asdict(settings.encoder),
        asdict(settings.pretrain), settings.attention, own.layout, own.max_length, own.overflow, own.stride,
        own.lower_case, settings.seed, settings.dtype, loaded.device.type,
        own.overflow == "cut" and own.task == "mlm",  # then the validation part is scored whole
        torch.get_num_threads(),  # sums are rounded by them
    )  # fmt: skip
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def shared_state(network: DocumentNetwork) -> dict[str, torch.Tensor]:
    """Returns the weights that pretraining learns: all but those of the head."""
    return {name: value for name, value in network.state_dict().items() if not name.startswith("head.")}


def keep_weights(path: Path, network: DocumentNetwork) -> None:
    """Writes the weights of a network but for its head to a file, which appears only when it is whole."""
    arrays = {name: value.cpu().numpy() for name, value in shared_state(network).items()}
    with written_whole(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def put_weights(path: Path, network: DocumentNetwork) -> None:
    """Puts weights into a network, whose head stays as it is."""
    own = network.state_dict()
    network.load_state_dict(
        read_tensors(path) | {name: own[name] for name in own.keys() - shared_state(network).keys()}
    )


def refuse_too_few(share: float, documents: Sequence[Prepared]) -> None:
    """Raises PipelineError where not one token of the training part is hidden in an epoch, by expectation."""
    tokens = sum(len(own.tokens.ids) for own in documents)
    if share * tokens < 1:
        raise PipelineError(
            f"pretrain.share={share:g} hides less than one of {tokens} training tokens in an epoch, so that nothing is "
            "learned; raise it, or leave hidden words out by pretrain.steps=0"
        )


def learn_to_guess(settings: DocumentsConfig, loaded: Loaded, network: DocumentNetwork, here: Study) -> Progress:
    """Trains a network to guess hidden tokens; the weights with the least loss on the validation part are kept."""
    own, masking = settings.pretrain, masking_of(settings, loaded.reading.vocabulary)
    documents = [piece.chunk.document for piece in loaded.guessed["train"]]
    refuse_too_few(own.share, documents)
    once = own.masking == "static"
    objective = GuessingObjective(network, documents, tokens=own.max_tokens, masking=masking, once=once)
    held_out = loaded.guessed_data.parts["validation"], loaded.guessed["validation"]
    scored = scored_masking(loaded.reading.vocabulary)
    asked = masked_documents(loaded.reading, *held_out, scored)
    fit = FitSettings(
        ALL_EPOCHS, "adamw", own.learning_rate, CLIP, steps=own.steps, accept="always", schedule="warmup_linear",
        warmup=own.warmup, weight_decay=own.weight_decay, evaluate_every=own.evaluate_every, title="pretrain",
        seed=settings.seed,
    )  # fmt: skip
    return fitted(
        settings, Paced(objective, lambda batch: objective.tokens_in(batch.rows)), fit, here,
        Decision("validation_loss"), lambda: validation_guesses(guessed(network, asked, scored)),
    )  # fmt: skip


def validation_guesses(rows: pd.DataFrame) -> dict[str, float]:
    """Returns what a row of the curve of guessing holds of the validation part."""
    return {"validation_loss": guessing_loss(rows), "validation_accuracy": guessing_accuracy(rows)}


def fitted(
    settings: DocumentsConfig, objective: Paced, fit: FitSettings, here: Study, decides: Decision,
    evaluate: Callable[[], dict[str, float]],
) -> Progress:  # fmt: skip
    """Runs the loop of a stage; one that was stopped goes on from its checkpoint to the same numbers."""
    stage = fit.title

    def measured() -> dict[str, float]:
        pace = objective.pace()  # before the validation part, which takes its own time
        values = evaluate() | pace
        objective.begin()
        return values

    loop = Fit(
        objective, fit, generator=draws_of(settings, stage), path=here.folder / f"{stage}.npz",
        measures=Measures(measured, lambda row: log_row(here.run, row, stage, by_step=True), decides),
    )  # fmt: skip
    with threads_for(objective.model), here.clock.stage(stage):
        return loop.run()


def draws_of(settings: DocumentsConfig, stage: str) -> torch.Generator:
    """Returns what the batches of a stage are drawn by, as at its beginning."""
    return generator(settings.seed, f"documents/{stage}")


def updates_of(objective: ReadingObjective, epochs: int, draws: torch.Generator) -> int:
    """Returns how many batches so many epochs have: their number changes from epoch to epoch, as documents of unlike
    lengths fill them in the order in which they are drawn."""
    return sum(1 for _ in range(epochs) for _ in objective.batches(draws))


def finetune(settings: DocumentsConfig, loaded: Loaded, network: DocumentNetwork, here: Study) -> Progress | None:
    """Trains a network to tag words or tell classes; the epoch with the best validation score is kept, of equals the
    one whose answers have the least log loss there."""
    own, task = settings.finetune, settings.documents.task
    if task == "mlm":
        return None
    says = partial(predictor_of, settings.documents, network, loaded)
    documents = [piece.chunk.document for piece in loaded.parts["train"]]
    tokens = tokens_for(documents, most=MOST_TOKENS) if own.max_tokens is None else own.max_tokens
    objective = ReadingObjective(network, documents, tokens=tokens, head=HEADS[task], power=own.class_weight)
    steps = updates_of(objective, own.epochs, draws_of(settings, FINETUNE)) + 1
    fit = FitSettings(
        own.epochs, "adamw", own.learning_rate, CLIP, steps=steps, accept="always", schedule="warmup_linear",
        warmup=own.warmup, weight_decay=own.weight_decay, patience=own.patience, title=FINETUNE, seed=settings.seed,
        from_start=False,  # names at random find an entity now and then; a network that learns first names nothing
    )  # fmt: skip
    return fitted(
        settings, Paced(objective, objective.tokens_in), fit, here,
        Decision("validation_error", ties="validation_log_loss"),
        lambda: validation_scores(score_of_part(says(), loaded, "validation")),
    )  # fmt: skip


def validation_scores(scored: Scored) -> dict[str, float]:
    """Returns what a row of the curve of tags or classes holds of the validation part: the error, the score that it is
    made of, and the log loss."""
    names = {f"validation_{name}": scored.scores[name] for name in SCORES.values() if name in scored.scores}
    return {"validation_error": scored.error, "validation_log_loss": scored.scores["log_loss"], **names}


def fit(settings: DocumentsConfig, loaded: Loaded, here: Study) -> FittedDocumentNetwork:
    """Returns the network after both stages, with its error on the validation part."""
    network = network_of(settings, loaded)
    curves = {stage.__name__: stage(settings, loaded, network, here) for stage in (pretrain, finetune)}
    known = {stage: progress for stage, progress in curves.items() if progress is not None}
    if settings.documents.task == "mlm":
        error = guessing_loss(guessed_of(loaded, network, "validation"))
    else:
        error = known["finetune"].kept.values["validation_error"]
    return FittedDocumentNetwork(network, known, error)
