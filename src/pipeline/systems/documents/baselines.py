"""What a network that reads documents has to beat: rules and linear models, made once for the runs of a data set."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from tqdm import tqdm

from data.pages import Document, Documents
from models.documents.clause_rule import NamedState
from models.documents.text_classifier import TextClassifier, commonest
from models.documents.window_tagger import WindowTagger
from models.sequence.entities import entity_f1
from models.sequence.scores import accuracy
from pipeline.job.shared import made_once
from pipeline.systems.documents.config import DocumentsConfig
from pipeline.systems.documents.scores import Scored, scored_classes, scored_tags

FILE = "answers.json"
ALPHAS, PENALTIES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7), (1.0, 10.0, 100.0)
OTHER, JURISDICTION = "other", "jurisdiction"
Answers = Mapping[str, Sequence[Any]]


def baselines_of(settings: DocumentsConfig, data: Documents) -> dict[str, Scored]:
    """Returns the scores of simple models on the test part, by name; none where the task has none, or where
    `documents.baselines` is false. Penalties are chosen on the validation part."""
    task, test = settings.documents.task, data.parts["test"]
    if task == "mlm" or not settings.documents.baselines:
        return {}
    found = answers_of(task, data, kept=settings.tracking.enabled)
    scored = scored_tags if task == "entities" else scored_classes
    return {name: scored(test, answers) for name, answers in found.items()}


def answers_of(task: str, data: Documents, *, kept: bool) -> Answers:
    """Returns what each simple model says of the test part; with `kept` it is made once for all runs that want it."""
    made: Callable[[Documents], Answers] = tagged_by_all if task == "entities" else classified_by_all
    if not kept:
        return made(data)
    mark = hashlib.sha256(repr((data.checksum, task)).encode()).hexdigest()
    return json.loads(made_once("baselines", mark, FILE, lambda: json.dumps(made(data))))


def tagged_by_all(data: Documents) -> Answers:
    """Returns the tags of linear models of the words around a word, and where boxes are known of those around it on the
    page too."""
    names = {"window tagger": False}
    if any(own.without_box < len(own.words) for own in data.parts["train"]):
        names["window tagger, layout"] = True
    return {name: tags_of(data, layout=layout) for name, layout in names.items()}


def tags_of(data: Documents, *, layout: bool) -> list[tuple[str, ...]]:
    """Returns the tags of the test part by the tagger whose penalty is best on the validation part."""
    learned, held = data.parts["train"], data.parts["validation"]
    true, best, most = [own.tags for own in held], None, -np.inf
    for alpha in tqdm(ALPHAS, desc="window tagger", unit="penalty", leave=False, disable=None):
        tagger = WindowTagger(layout=layout, alpha=alpha).fit(learned, [own.tags for own in learned])
        score = entity_f1(true, tagger.tags(held)) or 0.0
        if score > most:
            best, most = tagger, score
    return best.tags(data.parts["test"]) if best is not None else []


def classified_by_all(data: Documents) -> Answers:
    """Returns the classes by the commonest one, by a linear model of words, and by a rule where the class of a document
    is the state whose law governs it."""
    test = data.parts["test"]
    labels = [str(own.label) for own in data.parts["train"]]
    found: dict[str, Sequence[str]] = {"majority": [commonest(labels)] * len(test), "TF-IDF": classes_of(data)}
    if any(state_of(own) for own in test):
        found["clause rule"] = ruled(data)
    return found


def classes_of(data: Documents) -> list[str]:
    """Returns the classes of the test part by the linear model whose penalty is best on the validation part."""
    words = {part: [own.words for own in documents] for part, documents in data.parts.items()}
    labels = {part: [str(own.label) for own in documents] for part, documents in data.parts.items()}
    least = 1 if len(words["train"]) < 2 * len(data.classes) else 2
    fitted = [TextClassifier(own, least=least).fit(words["train"], labels["train"]) for own in PENALTIES]
    scores = [accuracy(labels["validation"], own.classes(words["validation"])) for own in fitted]
    return fitted[int(np.argmax(scores))].classes(words["test"])


def state_of(document: Document) -> str | None:
    """Returns the state whose law governs a contract, None where it is not known."""
    return next((value.replace("_", " ") for kind, value in document.values if kind == JURISDICTION), None)


def ruled(data: Documents) -> list[str]:
    """Returns the classes of the test part by the state that clauses name most often; what is no class is "other"."""
    learned = (*data.parts["train"], *data.parts["validation"])
    rule = NamedState(tuple(sorted({state for own in learned if (state := state_of(own))})))
    named = [rule.state(own.words) or OTHER for own in data.parts["test"]]
    return [name if name in data.classes else OTHER for name in named]
