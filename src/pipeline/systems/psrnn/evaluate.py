"""Errors on the test part, over the same scored steps for every model, and intervals of the run's own."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from data.tables.sequences import SOURCE as TABLE
from models.forecasting.filtering import MaskedSequences, SequenceModel, filter_sequences, with_padding_observed
from models.forecasting.horizons import horizon_errors
from models.runtime.threads import threads_for
from pipeline.host.progress import progress_bar
from pipeline.job.study import Study
from pipeline.systems.psrnn import report
from pipeline.systems.psrnn.baselines import Beside
from pipeline.systems.psrnn.config import PsrnnConfig
from pipeline.systems.psrnn.divergence import NAIVE, diverged_models, diverged_tags
from pipeline.systems.psrnn.evaluation import Evaluated, Evaluation
from pipeline.systems.psrnn.intervals import (
    Calibration,
    calibrated_horizons,
    intervals_of,
    log_forecast,
    log_intervals,
    own_from,
    scored_behind,
)  # fmt: skip
from pipeline.systems.psrnn.load import Loaded, forecaster_of, scored_settings
from pipeline.systems.psrnn.refine import Trained
from pipeline.systems.psrnn.windows import log_windows, rows_of_day


def reachable_horizons(part: MaskedSequences, settings: Any) -> list[int]:
    """Returns 1 and the horizons asked for in order, without those that no sequence is long enough for."""
    reach = longest_reach(part, settings)
    return sorted({1, *(h for h in settings.horizons if h <= reach)})


def longest_reach(part: MaskedSequences, settings: Any) -> int:
    """Returns the longest horizon for which a step of the part is scored."""
    return part.values.shape[1] - settings.first_step


def say_left_out(part: MaskedSequences, settings: Any) -> None:
    """Warns, before a model is trained, of the horizons of `evaluate` that no test sequence is long enough for, and
    names those that are left."""
    reach = longest_reach(part, settings)
    too_long = [h for h in settings.horizons if h > reach]
    if too_long:
        named, left = ", ".join(map(str, too_long)), ",".join(map(str, reachable_horizons(part, settings)))
        warnings.warn(
            f"evaluate.horizons: no test sequence is long enough for {named}, so errors are measured at the others "
            f"alone (the longest possible is {reach}); 'evaluate.horizons=[{left}]' asks for just these",
            stacklevel=2,
        )


@torch.no_grad()
def evaluate(
    models: Mapping[str, SequenceModel], part: MaskedSequences, lengths: Tensor, settings: Any, *, every: int = 0
) -> Evaluation:
    """Filters a part with every model, and forecasts from each of its steps by feeding predictions back, or directly.

    lengths (sequence,): of its sequences. settings: `evaluate`. Horizons that the part is too short for are left out.
    every: the first model has errors at all horizons up to this as well.
    """
    mask = with_padding_observed(part.mask, lengths)
    asked = reachable_horizons(part, settings)
    of_first = sorted({*asked, *range(1, every + 1)})
    squared: dict[str, dict[int, Tensor]] = {}
    predictions: list[Tensor] = []
    rows = part.scored[..., 0].numel() * (len(models) * (1 + max(asked)) + max(of_first) - max(asked))
    with progress_bar("evaluate", rows):
        for name, model in models.items():
            horizons = asked if predictions else of_first
            with threads_for(model):
                filtered = filter_sequences(model, part.values, mask)
                squared[name] = horizon_errors(model, filtered, part, horizons, first_step=settings.first_step)
            predictions = predictions or [filtered.predictions]
    return Evaluation(squared, predictions[0])


def validate(
    models: Mapping[str, SequenceModel], loaded: Loaded, scoring: Any
) -> tuple[dict[str, list[int]], Calibration]:
    """Returns two results of forecasts on the validation part. The first names the models that diverge there, with
    their horizons; the naive models are not looked at. The second holds the intervals of the run's model, which is the
    first of the models, or why it has none (`intervals_of`). They are calibrated on its own forecasts, see
    `own_from`."""
    part, own_table = loaded.parts.validation, loaded.dataset.source.startswith(TABLE)
    main, asked = next(iter(models)), reachable_horizons(part, scoring)
    wants = own_from(models[main])
    longest, most = calibrated_horizons(part, scoring, further=own_table, wants=wants)
    forecast = {name: model for name, model in models.items() if name == main or name not in NAIVE}
    validated = evaluate(forecast, part, loaded.dataset.validation.lengths, scoring, every=most)
    checked = {name: {h: errors[h] for h in asked} for name, errors in validated.squared.items() if name not in NAIVE}
    of_main = scored_behind({h: validated.squared[main][h] for h in range(1, most + 1)}, part, wants)
    calibration = intervals_of([*of_main.values()], loaded.own, longest=longest, wants=wants)
    return diverged_models(checked, part), calibration


def evaluate_stage(settings: PsrnnConfig, loaded: Loaded, trained: Trained, beside: Beside, study: Study) -> Evaluated:
    """Returns the errors of the run's model and of the models `beside` it on the test part, and logs them all."""
    run, name, model = study.run, trained.name, trained.model
    scoring = scored_settings(settings)
    with study.clock.stage("evaluate"):
        models = {name: model, **beside.models}
        evaluation = evaluate(models, loaded.parts.test, loaded.dataset.test.lengths, scoring)
        report.log_metrics(run, evaluation, loaded.own)
        log_windows(run, model, loaded.parts.test, scoring.window, day=rows_of_day(loaded.dataset.test))
        diverged, calibration = validate(models, loaded, scoring)
        run.tags(diverged_tags(diverged, main=name))
        own = scored_behind(evaluation.squared[name], loaded.parts.test, own_from(model))
        log_intervals(run, calibration, evaluation._replace(squared={name: own}), loaded.own, full=study.full)
        forecaster = forecaster_of(model, loaded.own, calibration.intervals)
        evaluated = Evaluated(evaluation, beside.season, forecaster, diverged)
        if study.full:
            report.log_evaluation(run, evaluated, loaded.dataset, loaded.own, title=study.title)
            log_forecast(run, forecaster, loaded.dataset, most=max(scoring.horizons), title=study.title)
    return evaluated
