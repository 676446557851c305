"""What a run of `recipe=mctn` draws of its network, and the numbers that stand beside the picture of encodings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch

from data.utterances import Utterances, words_of
from models.mctn.arms import MODALITIES, Plan
from models.mctn.objective import attention_of
from models.mctn.samples import Samples
from pipeline.job.curve_report import epoch_table
from pipeline.job.study import Study, log_metrics
from pipeline.plotting import spread
from pipeline.systems.mctn import figures
from pipeline.systems.mctn.evaluate import Evaluated, prediction_table
from pipeline.systems.mctn.figures import Attended
from pipeline.systems.mctn.fitting import FittedSentimentNetwork
from pipeline.systems.mctn.joint import Encodings, metrics_of, separation
from pipeline.systems.mctn.report import encoding_arrays, translation_table

SHOWN = 4  # samples whose attention is drawn
UNITS = {"score": "mean absolute error", "binary": "share of wrong classes", "class": "share of wrong classes"}


def named(stream: str) -> str:
    """Returns the names of the modalities of a stream."""
    return ", ".join(MODALITIES[letter] for letter in stream)


def log_pictures(
    here: Study, data: Utterances, fitted: FittedSentimentNetwork, evaluated: Evaluated, test: Samples
) -> None:
    """Logs how far kinds are apart, and, with all details, the figures of training, predictions, translations and
    encodings."""
    log_separation(here, encoding_arrays(data, evaluated))
    if here.full:
        log_training(here, data, epoch_table(fitted.progress), fitted.progress.kept.epoch)
        log_predictions(here, data, prediction_table(data.test, evaluated.outputs))
        log_translations(here, translation_table(evaluated))
        log_attention(here, data, fitted, test)


def log_separation(here: Study, arrays: dict[str, Any]) -> None:
    """Logs how far kinds are apart in the encodings of the test part, where there are any, and, with all details, their
    picture."""
    own = Encodings.of(arrays)
    if not len(own.kind):
        return
    log_metrics(here.run, {f"evaluate/{name}": value for name, value in metrics_of(separation(own)).items()})
    if here.full:
        title = f"{here.title}: encodings of the test part"
        here.run.figure(figures.joint({"E averaged over steps": own}, title=title), "figures/joint")


def log_training(here: Study, data: Utterances, curve: pd.DataFrame, kept: int) -> None:
    """Logs a figure of the learning curve, where there was an epoch."""
    if len(curve) > 1:
        unit = UNITS[data.label_kind]
        here.run.figure(figures.learning(curve, kept, unit=unit, title=f"{here.title}: training"), "figures/learning")


def log_predictions(here: Study, data: Utterances, table: pd.DataFrame) -> None:
    """Logs a figure of predictions against labels, or of how often each class is taken for which. Without a prediction
    there is none."""
    title, known = f"{here.title}: predictions of the test part", table.dropna(subset=["prediction"])
    if not len(known):
        return
    scores = data.label_kind == "score"
    drawn = (
        figures.against_labels(known, title=title) if scores else figures.confusion(known, data.classes, title=title)
    )
    here.run.figure(drawn, "figures/predictions")


def log_translations(here: Study, table: pd.DataFrame) -> None:
    """Logs a figure of R² of each feature of each translation, where there is one."""
    if len(table):
        streams = table.assign(stream=[named(stream) for stream in table["stream"]])
        title = f"{here.title}: translations of the test part by feature"
        here.run.figure(figures.by_feature(streams, title=title), "figures/translations")


def log_attention(here: Study, data: Utterances, fitted: FittedSentimentNetwork, test: Samples) -> None:
    """Logs what the first translation of some test samples attended to, as arrays by name and as a picture, where there
    is a translation."""
    plan = fitted.network.plan
    rows = both_there(test, plan)
    if not len(rows) or "translation" not in fitted.terms:
        return
    weights = attention_of(fitted.network, test, torch.from_numpy(rows))
    maps = [
        Attended(data.test.names[row], own, steps_read(data, plan, row)) for row, own in zip(rows, weights, strict=True)
    ]
    arrays = {f"attention_{place}": own.weights for place, own in enumerate(maps)}
    arrays |= {f"steps_{place}": np.array(own.steps) for place, own in enumerate(maps) if own.steps}
    here.run.arrays({**arrays, "names": np.array([own.name for own in maps])}, "attention.npz")
    read, written = named(plan.source), named(plan.targets[0])
    title = f"{here.title}: attention of the translation into {written}"
    here.run.figure(figures.attention(maps, read=read, written=written, title=title), "figures/attention")


def both_there(test: Samples, plan: Plan) -> np.ndarray:
    """Returns the numbers of up to `SHOWN` samples, spread over all, that have steps to read and to write."""
    if not plan.targets:
        return np.zeros(0, np.int64)
    there = (test.lengths(plan.source) > 0) & (test.lengths(plan.targets[0]) > 0)
    return spread(np.flatnonzero(there.numpy()), SHOWN)


def steps_read(data: Utterances, plan: Plan, row: int) -> tuple[str, ...]:
    """Returns the words of a sample whose text is read word by word; none where they are not known."""
    if plan.source != "t" or data.words is None or data.test.texts is None:
        return ()
    length = int(data.test.modalities[MODALITIES["t"]].lengths[row])
    return tuple(words_of(data.test.texts[row])[:length])
