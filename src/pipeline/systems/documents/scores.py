"""Scores of documents: F1 of entities, accuracy of classes, nats a hidden token; each from sums over documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch

from data.documents.values import normalised
from data.pages import OUTSIDE, Document
from models.documents.chunks import Chunk, Reading
from models.documents.guessing import guess_scores, hidden_in
from models.documents.network import DocumentNetwork
from models.documents.predictor import CLASSES, LEAST, TAGS, DocumentPredictor, tagged
from models.sequence.entities import Counts, entity_counts, set_counts, values_in
from models.sequence.masking import Hidden, Masking
from models.sequence.scores import f1
from pipeline.host.errors import PipelineError
from pipeline.systems.documents.config import ReadingConfig
from pipeline.systems.documents.load import Loaded, Piece, chunks_by_document, outputs_of

HEADS = {"entities": TAGS, "classes": CLASSES}
SCORES = {"entities": "entity_f1", "classes": "accuracy", "mlm": "mlm_loss"}
LEAST_WORDS = (0, 512, 1024, 2048)  # of documents that are scored apart (thesis, figure 2.17)
MOST_WORDS = (*(least - 1 for least in LEAST_WORDS[1:]), "more")
LENGTHS = tuple(f"words_{least}_{most}" for least, most in zip(LEAST_WORDS, MOST_WORDS, strict=True))
SUMS = {"entities": ("true", "named", "right"), "classes": ("documents", "right"), "mlm": ("tokens", "nats")}


class Scored(NamedTuple):
    """Holds the error of a part, a row a document of the sums that it is made of, and the predictions."""

    error: float
    by_document: pd.DataFrame
    scores: dict[str, float]
    predictions: pd.DataFrame


def error_of(task: str, sums: Any) -> Any:
    """Returns 1 − F1, 1 − accuracy, or nats a hidden token, of sums (…, 2 or 3) in the order of `SUMS`; NaN where there
    is nothing to score."""
    with np.errstate(invalid="ignore", divide="ignore"):
        if task == "entities":
            return 1 - 2 * sums[..., 2] / (sums[..., 0] + sums[..., 1])
        return sums[..., 1] / sums[..., 0] if task == "mlm" else 1 - sums[..., 1] / sums[..., 0]


def predictor_of(own: ReadingConfig, network: DocumentNetwork, loaded: Loaded) -> DocumentPredictor:
    """Returns a network as what says tags or classes, ready for that."""
    outputs = outputs_of(own.task, loaded.data)
    return DocumentPredictor(network.eval(), loaded.reading, HEADS[own.task], outputs, own.repeated)


@torch.inference_mode()
def score_of_part(predictor: DocumentPredictor, loaded: Loaded, part: str) -> Scored:
    """Returns the scores of a part in tags or classes."""
    documents = loaded.data.parts[part]
    found = {place: predictor.joined(chunks) for place, chunks in chunks_by_document(loaded.parts[part])}
    shares = [found[place].probabilities for place in range(len(documents))]
    answers = [own.tags if predictor.head == TAGS else [own.label] for own in documents]
    loss = {"log_loss": log_loss(shares, answers, predictor.outputs)}
    if predictor.head == TAGS:
        said = [
            tagged(predictor.outputs, found[place], document.words, predictor.repeated)
            for place, document in enumerate(documents)
        ]
        scored = scored_tags(documents, [own.labels for own in said], [own.probabilities for own in said])
    else:
        every = np.concatenate(shares)
        scored = scored_classes(documents, [predictor.outputs[i] for i in every.argmax(1)], every.max(1))
    return scored._replace(scores=scored.scores | loss)


def log_loss(shares: Sequence[np.ndarray], answers: Sequence[Sequence[Any]], outputs: Sequence[str]) -> float:
    """Returns the mean of −log p of the answers, nats a word or a document; at most 690. shares: probabilities by
    document, (word or 1, output); words behind the last, which are not read, have no part. answers: tags or classes;
    one that is no output has a probability of 0."""
    number = {name: place for place, name in enumerate(outputs)}
    given = [
        row[number[answer]] if answer in number else 0.0
        for own, said in zip(shares, answers, strict=True)
        for row, answer in zip(own, said)  # noqa: B905 (words that are not read)
    ]
    return float(-np.log(np.maximum(given, LEAST)).mean())


def scored_tags(
    documents: Sequence[Document], labels: Sequence[Sequence[str]], shares: Sequence[np.ndarray] | None = None
) -> Scored:
    """Returns the scores of tags of the words of documents. Words behind the last tag, which documents.overflow=cut
    leaves out, count as not tagged. shares: the probabilities of the tags, (word,) each, where there are any."""
    named = [[*own, *[OUTSIDE] * (len(each.words) - len(own))] for own, each in zip(labels, documents, strict=True)]
    rows = pd.DataFrame([tag_row(*own) for own in zip(documents, named, strict=True)])
    words = pd.concat([word_rows(*own) for own in zip(documents, named, strict=True)], ignore_index=True)
    if shares is not None:
        words["probability"] = np.concatenate([padded(*own) for own in zip(shares, documents, strict=True)])
    error = float(error_of("entities", rows[list(SUMS["entities"])].sum().to_numpy(float)))
    return Scored(error, rows, entity_scores(rows, words) | value_scores(documents, named), words)


def tag_row(document: Document, named: Sequence[str]) -> dict[str, Any]:
    """Returns the counts of a document's entities."""
    counts = entity_counts([document.tags], [named])
    row = {"document": document.name, "words": len(document.words), **sum(counts.values(), Counts())._asdict()}
    return row | {f"{side}_{kind}": value for kind, own in counts.items() for side, value in own._asdict().items()}


def word_rows(document: Document, named: Sequence[str]) -> pd.DataFrame:
    """Returns a row for each word of a document, with its tag and the one that it was given."""
    return pd.DataFrame({"document": document.name, "word": range(len(named)), "tag": document.tags, "named": named})


def padded(shares: np.ndarray, document: Document) -> np.ndarray:
    """Returns the probabilities of a document's tags, (word,), NaN for words that are not read."""
    return np.pad(shares, (0, len(document.words) - len(shares)), constant_values=np.nan)


def worth_a_row(predictions: Any) -> pd.DataFrame:
    """Returns the predictions that a table shows: of words those that have a tag or were given one, of classes all."""
    if "tag" not in predictions:
        return predictions
    return predictions[(predictions["tag"] != OUTSIDE) | (predictions["named"] != OUTSIDE)]


def confusion_of(predictions: Any, outputs: Sequence[str]) -> pd.DataFrame:
    """Returns how often what is one kind or class, a row each, was taken for another, a column each. Words count by the
    kind of their entity, "O" for those in none. outputs: the tags or classes, in the order of the rows."""
    side, name = ("tag", kind_of) if "tag" in predictions else ("label", str)
    names = list(dict.fromkeys(map(name, outputs)))
    counts: Any = pd.crosstab(predictions[side].map(name), predictions["named"].map(name))
    return counts.reindex(index=names, columns=names, fill_value=0).rename_axis(index="true", columns="named")


def kind_of(tag: str) -> str:
    """Returns the kind of entity that a tag is of, "O" for the tag "O"."""
    return tag.partition("-")[2] or tag


def value_scores(documents: Sequence[Document], named: Sequence[Sequence[str]]) -> dict[str, float]:
    """Returns F1 over the values that documents are known to give, whether or not their words say them, each once a
    document; nothing where no values are known."""
    if not any(own.values for own in documents):
        return {}
    said = [values_in(own.words, tags, normalised) for own, tags in zip(documents, named, strict=True)]
    counts = set_counts(zip([set(own.values) for own in documents], said, strict=True))
    return {"value_f1": sum(counts.values(), Counts()).f1 or 0.0}


def scored_classes(documents: Sequence[Document], named: Sequence[str], shares: np.ndarray | None = None) -> Scored:
    """Returns the scores of the classes of documents. shares: their probabilities, where there are any."""
    own = {"document": [each.name for each in documents], "label": [each.label for each in documents], "named": named}
    table = pd.DataFrame(own | ({} if shares is None else {"probability": shares}))
    words = [len(each.words) for each in documents]
    right = (table["label"] == table["named"]).astype(int)
    rows = pd.DataFrame({"document": table["document"], "words": words, "documents": 1, "right": right})
    return Scored(1 - float(right.mean()), rows, class_scores(table), table)


def entity_scores(rows: pd.DataFrame, words: Any) -> dict[str, float]:
    """Returns F1 over all kinds and of each, and the accuracy over tagged words."""
    filled = rows.fillna(0)
    scores = {"entity_f1": 1 - error_of("entities", filled[["true", "named", "right"]].sum().to_numpy(float))}
    for column in filled.columns:
        side, _, kind = str(column).partition("_")
        if side == "true" and kind:
            sums = filled[[f"{name}_{kind}" for name in SUMS["entities"]]].sum().to_numpy(float)
            scores[f"entity_f1_{kind}"] = 1 - error_of("entities", sums)
    own = words[words["tag"] != OUTSIDE]
    return scores | ({"token_accuracy": float((own["tag"] == own["named"]).mean())} if len(own) else {})


def class_scores(predictions: Any) -> dict[str, float]:
    """Returns accuracy, and F1 with equal weight for each class."""
    right = (predictions["label"] == predictions["named"]).mean()
    every = sorted({*predictions["label"], *predictions["named"]})
    number = {name: place for place, name in enumerate(every)}
    true, named = (predictions[side].map(number).to_numpy() for side in ("label", "named"))
    return {"accuracy": float(right), "macro_f1": f1(true, named, average="macro")}


class MaskedDocument(NamedTuple):
    """Holds a document, its chunks, and what is hidden in each of them."""

    document: Document
    chunks: list[Chunk]
    hidden: list[Hidden]


def masked_documents(
    reading: Reading, documents: Sequence[Document], pieces: Sequence[Piece], masking: Masking
) -> list[MaskedDocument]:
    """Returns what is hidden in documents: it follows from a document's place, whatever its chunks, and is the same for
    every network. pieces: the chunks of the documents."""
    found = list[MaskedDocument]()
    for place, chunks in chunks_by_document(pieces):
        tokens, chance = reading.tokens(documents[place]), torch.Generator().manual_seed(place)
        found.append(MaskedDocument(documents[place], chunks, hidden_in(chunks, tokens, masking, chance)))
    return found


def guessed(network: DocumentNetwork, asked: Sequence[MaskedDocument], masking: Masking) -> pd.DataFrame:
    """Returns a row a document: the loss of its hidden tokens, how many these are, and how many are guessed right."""
    network.eval()
    rows = list[dict[str, Any]]()
    for own, chunks, hidden in asked:
        said = guess_scores(network, chunks, hidden, masking)
        row = {"document": own.name, "words": len(own.words), "tokens": said.weight, "nats": float(said.total)}
        rows.append(row | {"right": said.right})
    return pd.DataFrame(rows)


def guessing_loss(rows: pd.DataFrame) -> float:
    """Returns nats a hidden token over documents. rows: as `guessed` gives them. Raises PipelineError where no token
    is hidden."""
    sums = rows[list(SUMS["mlm"])].sum().to_numpy(float)
    if not sums.any():
        raise PipelineError(
            f"no token of {len(rows)} documents, {rows['document'].iloc[0]} first, is hidden, so that there is no loss "
            "of guessing; give longer documents to the validation and test part"
        )
    return float(error_of("mlm", sums))


def guessing_accuracy(rows: pd.DataFrame) -> float:
    """Returns the share of hidden tokens of documents that are guessed right. rows: as `guessed` gives them."""
    return float(rows["right"].sum() / rows["tokens"].sum())


def scores_by_length(task: str, rows: pd.DataFrame) -> dict[str, float]:
    """Returns F1 of entities, accuracy of classes, or nats a hidden token, of documents with so many words: from one of
    `LEAST_WORDS` up to below the next, as `accuracy_words_512_1023`. None of a length that no document has, or where
    nothing is to score, and none at all where all documents are of one length. rows: the sums of each document."""
    found = dict[str, float]()
    for length, own in zip(LENGTHS, split_by_length(rows), strict=True):
        error = float(error_of(task, own[list(SUMS[task])].sum().to_numpy(float)))
        if len(own) and not np.isnan(error):
            found[f"{SCORES[task]}_{length}"] = error if task == "mlm" else 1 - error
    return found if len(found) > 1 else {}


def split_by_length(rows: pd.DataFrame) -> list[Any]:
    """Returns the rows of documents of each length, those of `LEAST_WORDS` and more words, and fewer than the next."""
    place = np.searchsorted(LEAST_WORDS, rows["words"], side="right") - 1
    return [rows[place == own] for own in range(len(LEAST_WORDS))]
