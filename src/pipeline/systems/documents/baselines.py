"""What a network that reads documents has to beat: rules and linear models, made once for the runs of a data set."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tqdm import tqdm

from data.documents.values import normalised
from data.pages import OUTSIDE, Document, Documents
from models.documents.clause_rule import NamedState
from models.documents.repeated import repeated
from models.documents.text_classifier import TextClassifier, commonest
from models.documents.window_features import WindowFeatures
from models.documents.window_tagger import WindowTagger, joined_tags
from models.sequence.entities import entity_f1
from models.sequence.scores import accuracy
from pipeline.job.shared import made_once
from pipeline.systems.documents.config import DocumentsConfig
from pipeline.systems.documents.scores import Scored, scored_classes, scored_tags

FILE = "answers.json"
VERSION = 7  # of the simple models, raised where they answer otherwise
ALPHAS, PENALTIES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7), (1.0, 10.0, 100.0)
TRIED = 3  # passes over the words after which penalties of the tagger are compared
TAGGERS = ("window tagger", "window tagger, layout")
OTHER, JURISDICTION = "other", "jurisdiction"
Answers = Mapping[str, Sequence[Any]]


def baselines_of(settings: DocumentsConfig, data: Documents) -> dict[str, Scored]:
    """Returns the scores of simple models on the test part, by name; none where the task has none, or where
    `documents.baselines` is false. Penalties are chosen on the validation part."""
    task, test = settings.documents.task, data.parts["test"]
    if task == "mlm" or not settings.documents.baselines:
        return {}
    found = answers_of(task, data, kept=settings.tracking.enabled)
    if task != "entities":
        return {name: scored_classes(test, classes) for name, classes in found.items()}
    least = settings.documents.repeated
    words = [document.words for document in test]
    return {
        name: scored_tags(test, [repeated(*own, least) for own in zip(words, tags, strict=True)])
        for name, tags in found.items()
    }


def answers_of(task: str, data: Documents, *, kept: bool) -> Answers:
    """Returns what each simple model says of the test part; with `kept` it is made once for all runs that want it."""
    made: Callable[[Documents], Answers] = tagged_by_all if task == "entities" else classified_by_all
    mark = hashlib.sha256(repr((data.checksum, task)).encode()).hexdigest()
    text = made_once("baselines", mark, FILE, lambda: json.dumps(made(data)), version=VERSION, kept=kept)
    return json.loads(text)


def tagged_by_all(data: Documents) -> Answers:
    """Returns the tags of linear models of the words around a word, and where boxes are known of those around it on the
    page too."""
    names = {TAGGERS[0]: False}
    if any(own.without_box < len(own.words) for own in data.parts["train"]):
        names[TAGGERS[1]] = True
    return {name: best_tagger(data, layout=layout).tags(data.parts["test"]) for name, layout in names.items()}


def best_tagger(data: Documents, *, layout: bool, most: int | None = None) -> WindowTagger:
    """Returns the tagger whose penalty, of `ALPHAS` at first, is best on the validation part after `TRIED` passes over
    the words, as `best_penalty` says; it has made all passes. most: words of a document that are read; the others count
    as outside."""
    learned, held = [first_words(own, most) for own in data.parts["train"]], data.parts["validation"]
    features = WindowFeatures(layout=layout).fit(learned)
    rows, tags = features.rows(learned), joined_tags(learned, [own.tags for own in learned])
    seen, true = [features.of(first_words(own, most)) for own in held], [own.tags for own in held]

    def score(alpha: float) -> float:
        tried = WindowTagger(layout=layout, alpha=alpha, passes=TRIED).fit_rows(features, rows, tags)
        return entity_f1(true, lengthened([tried.tags_of_rows(own) for own in seen], held)) or 0.0

    best = best_penalty(ALPHAS, score, called="window tagger")
    return WindowTagger(layout=layout, alpha=best).fit_rows(features, rows, tags)


def best_penalty(penalties: Sequence[float], score: Callable[[float], float], *, called: str) -> float:
    """Returns the penalty of the highest score, of equals the first. Where it is the largest or the smallest of
    several, others are tried beyond it, each by a factor of ten, as long as the score rises."""
    scores = {own: score(own) for own in tqdm(penalties, desc=called, unit="penalty", leave=False, disable=None)}
    best = max(scores, key=lambda own: scores[own])
    factor = {min(penalties): 0.1, max(penalties): 10.0}.get(best, 1.0) if len(penalties) > 1 else 1.0
    while factor != 1.0 and (further := score(best * factor)) > scores[best]:
        best *= factor
        scores[best] = further
    return best


def first_words(document: Document, most: int | None) -> Document:
    """Returns the document with so many of its words."""
    return document._replace(
        words=document.words[:most], boxes=document.boxes[:most], pages=document.pages[:most], tags=document.tags[:most]
    )


def lengthened(found: Sequence[Sequence[str]], documents: Sequence[Document]) -> list[tuple[str, ...]]:
    """Returns a tag of every word, outside behind the last one that was found."""
    return [(*tags, *[OUTSIDE] * (len(own.words) - len(tags))) for tags, own in zip(found, documents, strict=True)]


def classified_by_all(data: Documents) -> Answers:
    """Returns the classes by the commonest one, by a linear model of words, and by a rule where the class of a document
    is the state whose law governs it."""
    test = data.parts["test"]
    labels = [str(own.label) for own in data.parts["train"]]
    least = 1 if len(labels) < 2 * len(data.classes) else 2
    linear = best_classifier(data, least=least).classes([own.words for own in test])
    found: dict[str, Sequence[str]] = {"majority": [commonest(labels)] * len(test), "TF-IDF": linear}
    if any(state_of(own) for own in test):
        rule, classes = NamedState(states_of(data)), {normalised(JURISDICTION, name): name for name in data.classes}
        named = [normalised(JURISDICTION, rule.state(own.words) or OTHER) for own in test]
        found["clause rule"] = [classes.get(name, OTHER) for name in named]
    return found


def best_classifier(data: Documents, *, least: int = 2, most: int | None = None) -> TextClassifier:
    """Returns the linear model of words whose penalty, of `PENALTIES` at first, is best on the validation part, as
    `best_penalty` says. least, most: as of `TextClassifier`."""
    words, labels = (
        {part: [take(own) for own in documents] for part, documents in data.parts.items()}
        for take in (lambda own: own.words, lambda own: str(own.label))
    )
    fitted = dict[float, TextClassifier]()

    def score(penalty: float) -> float:
        own = fitted[penalty] = TextClassifier(penalty, least=least, most=most).fit(words["train"], labels["train"])
        return accuracy(labels["validation"], own.classes(words["validation"]))

    return fitted[best_penalty(PENALTIES, score, called="TF-IDF")]


def state_of(document: Document) -> str | None:
    """Returns the state whose law governs a contract, None where it is not known."""
    return next((value.replace("_", " ") for kind, value in document.values if kind == JURISDICTION), None)


def states_of(data: Documents) -> tuple[str, ...]:
    """Returns the states that are known of the training and the validation part."""
    learned = (*data.parts["train"], *data.parts["validation"])
    return tuple(sorted({state for own in learned if (state := state_of(own))}))
