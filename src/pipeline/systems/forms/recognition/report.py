"""What a run leaves: curves, every reading, scores and figures, and words."""

from __future__ import annotations

import pandas as pd

from data.word_images import HandwrittenWords
from models.forms.recognise.frames import FrameRecogniser
from models.forms.recognise.recogniser import Recogniser
from pipeline.compare.markdown import markdown_table
from pipeline.job.curve_report import log_curve
from pipeline.job.study import Study, log_metrics
from pipeline.systems.forms.config import FormsConfig
from pipeline.systems.forms.recognition.attention import ATTENTION, Attention
from pipeline.systems.forms.recognition.attention_figures import maps_figure
from pipeline.systems.forms.recognition.figures import LABELS, error_rates, samples
from pipeline.systems.forms.recognition.fitting import FittedRecogniser
from pipeline.systems.forms.recognition.load import alphabet_in_words, alphabet_metrics
from pipeline.systems.forms.recognition.scores import SUFFIXES, confusion, metrics_of

READ = "read.csv"
NAMES = {"cer": "character error rate (%)", "cer_mean": "its mean over images (%)", "word_accuracy": "word accuracy"}


def log_data(here: Study, data: HandwrittenWords) -> None:
    """Logs the sizes of the parts, which stand for the data set in MLflow, with the digest of all images and texts."""
    sizes = pd.DataFrame(data.sizes())
    here.run.dataset(sizes, name=data.name, source=data.source, digest=data.checksum, context="training")
    here.run.table(sizes, "words.csv")
    images = float(sum(map(len, data.parts.values())))
    log_metrics(here.run, {"data/images": images, "data/words_unseen": data.unseen})
    log_metrics(here.run, {f"data/{name}": float(value) for name, value in data.counts.items()})


def log_fitted(here: Study, data: HandwrittenWords, fitted: FittedRecogniser, read: pd.DataFrame) -> None:
    """Logs metrics and tables; with all details the curve and figures too."""
    metrics, alphabet = metrics_of(read), fitted.recogniser.alphabet
    log_metrics(here.run, {"evaluate/test_error": metrics["test_cer"]})
    log_metrics(here.run, {f"evaluate/{name}": value for name, value in metrics.items()})
    log_metrics(here.run, alphabet_metrics(alphabet, data.parts["test"].texts))
    parameters = sum(parameter.numel() for parameter in fitted.recogniser.parameters())
    log_metrics(here.run, {"model/parameters": float(parameters)})
    here.run.table(read, READ)
    here.run.table(confusion(read["read"].tolist(), read["true"].tolist()), "confusion.csv")
    if here.full:
        log_figures(here, data, fitted, read)


def log_language(here: Study, recogniser: Recogniser, settings: FormsConfig, *, found: bool = False) -> None:
    """Tags whether the language model that was asked for takes part in reading. found: whether another run trained the
    recogniser; then it is said that the model was left out, as the training says it else."""
    if not isinstance(recogniser, FrameRecogniser) or settings.recogniser.get("language") is None:
        return
    out = recogniser.settings.language is None
    here.run.tags({"language": "left out" if out else "used"})
    if out and found:
        print(
            "language model: left out, as the validation part was read worse with it where this recogniser was trained"
        )


def log_figures(here: Study, data: HandwrittenWords, fitted: FittedRecogniser, read: pd.DataFrame) -> None:
    """Logs the curve, error rates by length, writer and height of ink, and images with what was read."""
    if fitted.curve is not None:
        log_curve(here, fitted.curve, LABELS, "recogniser")
    here.run.figure(error_rates(read, title=here.title), "figures/error_rates")
    here.run.figure(samples(data.parts["test"], read, title=here.title), "figures/samples")


def log_attention(here: Study, data: HandwrittenWords, fitted: FittedRecogniser, attention: Attention) -> None:
    """Logs where a decoder looks, by position; with all details two maps too."""
    log_metrics(here.run, {"evaluate/attention_near": attention.near})
    here.run.table(attention.table, ATTENTION)
    if here.full:
        figure = maps_figure(attention, data.parts["test"], fitted.recogniser, title=here.title)
        here.run.figure(figure, "figures/attention")


def score_report(metrics: dict[str, float], data: HandwrittenWords, fitted: FittedRecogniser) -> str:
    """Returns the scores of the test part as a table, what was kept, and where the data come from."""
    columns = {
        column: [metrics[f"test_{name}{suffix}"] for name in NAMES]
        for column, suffix in SUFFIXES.items() if f"test_cer{suffix}" in metrics
    }  # fmt: skip
    table = pd.DataFrame({data.name: list(NAMES.values()), **columns})
    unseen = f"{data.unseen:.0%} of test images say what no training image says"
    lost = alphabet_in_words(fitted.recogniser.alphabet, data.parts["test"].texts)
    sentences = f"{kept_epoch_sentence(fitted)}{unseen}. {lost}Data: {data.name}, source {data.source}"
    return f"{markdown_table(table, digits=4)}\n\n{sentences}"


def kept_epoch_sentence(fitted: FittedRecogniser) -> str:
    """Returns which epoch a recogniser was kept of, as a sentence; nothing for one that was not trained."""
    if fitted.curve is None:
        return ""
    own, last = fitted.curve.kept, fitted.curve.rows[-1]
    untrained = ", that is before training" if own.epoch == 0 else ""
    return (f"Kept: epoch {own.epoch} of {last.epoch}{untrained}, the least wrong characters on the validation part "
            f"at a glance ({own.values['validation_cer']:.4g} %). ")  # fmt: skip
