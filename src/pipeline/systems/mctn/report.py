"""What a run leaves: its curve, predictions, encodings, translations and attention as data, its figures, and words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from data.utterances import Utterances
from pipeline.compare.markdown import markdown_table
from pipeline.job.curve_report import epoch_table
from pipeline.job.study import Study, log_metrics
from pipeline.systems.mctn.evaluate import Evaluated, Simple, prediction_table
from pipeline.systems.mctn.fitting import FittedSentimentNetwork
from pipeline.systems.mctn.roles import Roles
from pipeline.systems.mctn.scores import lacking, scores_of, unread

WORDS = {
    "test_mae": "mean absolute error", "test_correlation": "correlation", "test_accuracy": "accuracy",
    "test_f1": "F1, weighted", "bar_mae": "mean absolute error of the simple baseline, mctn.bar",
    "bar_accuracy": "accuracy of the simple baseline, mctn.bar",
    "missing_mae": "mean absolute error, modalities missing", "missing_correlation": "correlation, modalities missing",
    "missing_accuracy": "accuracy, modalities missing", "missing_f1": "F1, weighted, modalities missing",
    "missing_equal": "predictions the same bit by bit whatever these hold: 1, else 0",
}  # fmt: skip


def encoding_arrays(data: Utterances, evaluated: Evaluated) -> dict[str, Any]:
    """Returns arrays by name: E averaged over steps of the test samples, float32 (sample, unit), and label, group and
    kind of each sample. kinds: the names of the kinds."""
    test, scores = data.test, data.label_kind == "score"
    kind = data.positive(test).long() if scores else test.labels
    return {
        "encoding": evaluated.measured.encodings.numpy(), "label": test.labels.numpy(), "group": np.array(test.groups),
        "kind": kind.numpy(), "kinds": np.array(("negative", "positive") if scores else data.classes),
    }  # fmt: skip


def translation_table(evaluated: Evaluated) -> pd.DataFrame:
    """Returns R² of each number of a step of each translation, NaN for one that is constant."""
    tables = [
        pd.DataFrame({"term": term, "stream": stream, "feature": np.arange(1, len(shares) + 1), "r2": shares})
        for name, shares in evaluated.measured.by_feature.items()
        for term, stream in [name.split(" ")]
    ]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def log_samples(here: Study, data: Utterances) -> None:
    """Logs the training samples by name, which stand for the data set in MLflow; the digest is that of all of it."""
    train = data.train
    frame = pd.DataFrame({"name": train.names, "group": train.groups, "label": train.labels.numpy()})
    here.run.dataset(frame, name=data.name, source=data.source, digest=data.checksum, context="training")


def log_network(here: Study, data: Utterances, fitted: FittedSentimentNetwork, evaluated: Evaluated) -> None:
    """Logs scores, sizes, predictions and encodings of a network, and, with all details, its curve and its translations
    too."""
    network = fitted.network
    sizes = {
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "parameters_at_test": network.parameters_at_test(),
    }
    log_metrics(here.run, {f"evaluate/{name}": value for name, value in evaluated.scores.items()})
    log_metrics(here.run, {f"model/{name}": value for name, value in sizes.items()})
    here.run.table(prediction_table(data.test, evaluated.outputs, evaluated.missing), "predictions.csv")
    here.run.arrays(encoding_arrays(data, evaluated), "encodings.npz")
    if here.full:
        here.run.table(epoch_table(fitted.progress), "curves/fit.csv")
        here.run.table(translation_table(evaluated), "translation.csv")


def log_baseline(here: Study, data: Utterances, fitted: Simple) -> dict[str, float]:
    """Logs scores and predictions of a simple baseline, and returns the scores."""
    scores: dict[str, float] = {"unread": unread(fitted.outputs)}
    scores |= {f"test_{name}": value for name, value in scores_of(data, data.test, fitted.outputs).items()}
    log_metrics(here.run, {f"evaluate/{name}": value for name, value in scores.items()})
    log_metrics(here.run, {f"model/{name}": fitted.model.parameters for name in ("parameters", "parameters_at_test")})
    here.run.table(prediction_table(data.test, fitted.outputs), "predictions.csv")
    return scores


def score_report(scores: dict[str, float], data: Utterances, roles: Roles) -> str:
    """Returns the scores of the test part as a table, how much its translations explain, and where data come from."""
    rows = [(word, scores[name]) for name, word in WORDS.items() if name in scores]
    rows += [(name.replace("_r2", " R²").replace("_", " "), value) for name, value in scores.items() if "_r2" in name]
    table = pd.DataFrame(rows, columns=pd.Index([f"{data.name}, test part", "value"]))
    read = ", ".join(roles.sources) or "nothing"
    parts = [markdown_table(table, digits=4), f"Read to predict: {read}. Data: {data.name}, source {data.source}"]
    if scores["unread"]:
        parts.append(lacking(int(scores["unread"]), data, read))
    return "\n\n".join(parts)
