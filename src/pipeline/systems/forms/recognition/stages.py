"""`forms.stage=recognition`: load, refiner where there is one, recogniser, evaluate, report."""

from __future__ import annotations

import pandas as pd
import torch

from data.forms.augment import Augmentation
from data.word_images import HandwrittenWords
from models.forms.recognise.error_rates import character_error_rate
from pipeline.job.study import Study
from pipeline.systems.forms.changes import log_changes
from pipeline.systems.forms.comparison import FORMS
from pipeline.systems.forms.config import FormsConfig
from pipeline.systems.forms.recognition.attention import attention_of
from pipeline.systems.forms.recognition.fitting import FittedRecogniser, fit, say_what_vocabulary_loses, untrained
from pipeline.systems.forms.recognition.load import load, spelt
from pipeline.systems.forms.recognition.refining import refined
from pipeline.systems.forms.recognition.remarks import advice
from pipeline.systems.forms.recognition.report import log_attention, log_data, log_fitted, log_language, score_report
from pipeline.systems.forms.recognition.scores import FAULTS_NEAREST, faults, metrics_of, nearest_texts, read_table

__all__ = ["load", "stages"]


def stages(settings: FormsConfig, data: HandwrittenWords, device: torch.device, here: Study) -> float:
    """Trains, evaluates and reports; returns the character error rate of the validation part, in %."""
    log_data(here, data)
    begun = untrained(settings, data, device)
    say_what_vocabulary_loses(settings, begun.recogniser.alphabet)
    data = refined(settings, data, here, device)
    with here.clock.stage("recogniser"):
        fitted = fit(settings, begun, data, here)
    here.run.tags({"validation_error": repr(fitted.validation)})
    with here.clock.stage("evaluate"):
        read, nearest = evaluated(settings, data, fitted), nearest_error(settings, data, fitted)
        attention = attention_of(fitted.recogniser, data.parts["test"])
    metrics = metrics_of(read)
    augmentation = Augmentation(settings.forms.augment, settings.seed)
    with here.clock.stage("report"):
        log_fitted(here, data, fitted, read)
        log_language(here, fitted.recogniser, settings)
        log_changes(here, "word", data.parts["train"].image(0), None, augmentation)
        if attention is not None:
            log_attention(here, data, fitted, attention)
        kept = keep(settings, data, fitted, here)
    words = "\n\n".join(
        [score_report(metrics, data, fitted), *advice(fitted.validation, nearest, fitted.curve, settings.recognition)]
    )
    here.close(words + kept, f"{fitted.validation:.4g} on the validation part")
    return fitted.validation


def evaluated(settings: FormsConfig, data: HandwrittenWords, fitted: FittedRecogniser) -> pd.DataFrame:
    """Returns every reading of the test part, with the text of the nearest training image, and its faults, where that
    is asked for."""
    test = data.parts["test"]
    read = read_table(fitted, test, "test")
    if not settings.forms.retrieval:
        return read
    nearest = nearest_texts(fitted.recogniser.alphabet, data.parts["train"], test)
    return read.assign(nearest=nearest, **{FAULTS_NEAREST: faults(nearest, read["true"].tolist())})


def nearest_error(settings: FormsConfig, data: HandwrittenWords, fitted: FittedRecogniser) -> float | None:
    """Returns the error rate of characters on the validation part of the texts of the nearest training images, in %;
    None where nothing is asked of these."""
    if not settings.forms.retrieval:
        return None
    held, alphabet = data.parts["validation"], fitted.recogniser.alphabet
    return character_error_rate(nearest_texts(alphabet, data.parts["train"], held), spelt(alphabet, held))


def keep(settings: FormsConfig, data: HandwrittenWords, fitted: FittedRecogniser, here: Study) -> str:
    """Keeps the model, logged as `tracking.log_model` says. Returns words about it."""
    from pipeline.systems.forms.recognition.servable import trained_model
    from pipeline.tracking.model import kept_in_words

    kept = trained_model(fitted, data)
    return kept_in_words(here.run, kept, settings.tracking, FORMS, path="FOLDER")
