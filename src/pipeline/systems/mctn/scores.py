"""Scores of predictions of utterances. A sample without a prediction (NaN) counts for nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from data.utterances import Part, Utterances
from models.mctn.network import SentimentNetwork
from models.mctn.objective import Measured, measure
from models.mctn.samples import Samples
from models.sequence.scores import accuracy, correlation, f1, mean_absolute_error


def outputs_of(network: SentimentNetwork, samples: Samples, *, terms: frozenset[str]) -> tuple[np.ndarray, Measured]:
    """Returns outputs, float64, NaN for a sample without a step to read, and all that was measured."""
    found = measure(network, samples, terms=terms)
    return found.outputs.double().numpy(), found


def unread(outputs: np.ndarray) -> int:
    """Returns how many samples have no prediction, as they have no step to read."""
    return int(np.isnan(predicted(outputs)).sum())


def lacking(count: int, data: Utterances, read: str) -> str:
    """Returns what is said of that many test samples without a prediction. read: the modalities that are read."""
    samples = f"{count} of {len(data.test)} test samples have no step of {read}"
    return f"{samples}: they have no prediction and count for nothing in the scores"


def predicted(outputs: np.ndarray) -> np.ndarray:
    """Returns the prediction of each sample, float64 (sample,): its score, or the number of its most probable class."""
    if outputs.ndim == 1:
        return outputs
    return np.where(np.isnan(outputs).any(1), np.nan, outputs.argmax(1))


def signs(data: Utterances, values: np.ndarray) -> np.ndarray:
    """Returns what accuracy and F1 are of: whether a score is positive, or the number of a class."""
    return values >= data.positive_from if data.label_kind == "score" else values


def scores_of(data: Utterances, part: Part, outputs: np.ndarray) -> dict[str, float]:
    """Returns the scores of outputs, (sample,) scores or (sample, class) probabilities: mae, correlation (of scores
    alone; one that is undefined is left out), accuracy, f1, f1_macro, and error, that of `error_of`. Empty where no
    sample has a prediction."""
    found, true = predicted(outputs), part.labels.double().numpy()
    known = ~np.isnan(found)
    if not known.any():
        return {}
    found, true = found[known], true[known]
    named, wanted = signs(data, found), signs(data, true)
    own: dict[str, Any] = {"accuracy": accuracy(wanted, named), "f1": f1(wanted, named)}
    own["f1_macro"] = f1(wanted, named, average="macro")
    if data.label_kind == "score":
        own |= {"mae": mean_absolute_error(true, found), "correlation": correlation(true, found)}
    own["error"] = own["mae"] if data.label_kind == "score" else 1 - own["accuracy"]
    return {name: value for name, value in own.items() if value is not None}


def error_of(data: Utterances, part: Part, outputs: np.ndarray) -> float:
    """Returns the mean absolute error of scores, or the share of wrong classes; NaN where no sample has a
    prediction."""
    return scores_of(data, part, outputs).get("error", np.nan)
