"""`recipe=psrnn`: load, features, two-stage regression (or the fit of another model), BPTT, evaluate, report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, NamedTuple, cast

import torch
from tqdm import tqdm

from data.files.download import data_root
from data.tables.sequences import SOURCE as TABLE
from models.forecasting.burn_in import settle_start_up
from models.forecasting.filtering import SequenceModel
from models.forecasting.intervals import Intervals
from models.forecasting.recurrent import Recurrent, trained_parameters
from models.runtime.collectives import rank
from models.runtime.threads import threads_for
from pipeline.compare.labels import name_of
from pipeline.host.devices import DTYPES
from pipeline.host.torchrun import refuse_unlike, settings_of_rank
from pipeline.job.clock import Clock
from pipeline.job.study import Study, opened, set_up
from pipeline.settings.build import build
from pipeline.settings.job import Job, refuse_other_data
from pipeline.systems.psrnn import report
from pipeline.systems.psrnn.baselines import Season, baselines, season_of
from pipeline.systems.psrnn.comparison import FORECASTS
from pipeline.systems.psrnn.config import EvaluateConfig, PsrnnConfig
from pipeline.systems.psrnn.evaluate import Evaluation, evaluate, say_left_out
from pipeline.systems.psrnn.first_model import Initialised, one_step_mse
from pipeline.systems.psrnn.intervals import intervals_of, log_forecast, log_intervals
from pipeline.systems.psrnn.joined import joined
from pipeline.systems.psrnn.load import Loaded, cut, forecaster_of, load, load_once
from pipeline.systems.psrnn.naming import request_of
from pipeline.systems.psrnn.refine import (
    Listener,
    errors_when_rounded,
    kept_errors,
    logged,
    refine,
    unrefined,
    unwatched,
)
from pipeline.systems.psrnn.remarks import advice, reading, remarks
from pipeline.systems.psrnn.stages import Stages, stages_of
from pipeline.tracking.run import Run, where_to_look
from pipeline.tracking.session import fingerprint, finished_before


def first_scored(settings: PsrnnConfig) -> int:
    """The step from which on every model of the run is scored: none before the readout has the lags asked for.

    Where the lags are still to be chosen, the steps that have fewer than were chosen are those of the start-up.
    """
    return max(settings.evaluate.first_step, settings.readout.lags or 0)


def scored_settings(settings: PsrnnConfig) -> EvaluateConfig:
    """The settings `evaluate`, from the step on that every model is scored from."""
    return replace(settings.evaluate, first_step=first_scored(settings))


def said_if_moved(settings: PsrnnConfig) -> None:
    first = first_scored(settings)
    if first > settings.evaluate.first_step:
        tqdm.write(
            f"scored from step {first} on, for every model: readout.lags={settings.readout.lags} "
            f"(evaluate.first_step={settings.evaluate.first_step})"
        )


def load_stage(settings: PsrnnConfig, stages: Stages, device: torch.device, *, shared: bool) -> Loaded:
    """Returns the data of the run; with `shared` those of the job before, where they are the same."""

    first, dtype = first_scored(settings), DTYPES[settings.dtype]

    def work() -> Loaded:
        dataset = build("data", settings.data, settings.extensions)
        dataset = cut(dataset, sequences=settings.size.sequences, steps=settings.size.steps)
        return load(dataset, window=stages.window, first_step=first, dtype=dtype, device=device)

    if not shared:
        return work()
    asked = [settings.data, asdict(settings.size), stages.window, first, dtype, device, data_root(None)]
    return load_once(json.dumps(asked, sort_keys=True, default=str), work)


def first_model(stages: Stages, loaded: Loaded, study: Study) -> Initialised:
    """The model before refinement, with its parameter count and what was chosen on validation."""
    first = stages.first_model(loaded, study)
    study.run.metric("model/parameters", trained_parameters(first.model))
    study.run.tags(
        {key: f"{value:g}" if isinstance(value, float) else str(value) for key, value in first.chosen.items()}
    )
    return first


class Trained(NamedTuple):
    """The first model, refined in place, with its name in tables and a line of words; the validation error of what is
    kept; and the test error before refinement, None where there was none."""

    first: Initialised
    name: str
    line: str
    validation_mse: float
    before: float | None


def refine_stage(
    settings: PsrnnConfig, stages: Stages, loaded: Loaded, first: Initialised, study: Study, watch: Listener
) -> Trained:
    """BPTT, then what the model that is kept is like: rounded, with its history, stable or not."""
    model: Any = first.model
    trained = stages.method.trained and settings.refine.epochs > 0
    with study.clock.stage("bptt"):
        if trained:
            progress = refine(settings, loaded, first, study, watch)
        else:
            progress = unrefined(first, on_epoch=logged(study, watch))
        errors = kept_errors(progress)
        if settings.dtype == "bfloat16":
            errors = errors_when_rounded(model, loaded)
            study.run.metric("bptt/rounded_validation_mse", errors[1])
        if settled(model, loaded, study.run):
            errors = one_step_mse(model, loaded.train), one_step_mse(model, loaded.validation)
        study.run.tags({"scored.first_step": str(first_scored(settings)), "history": str(history_of(model))})
        study.run.tags({"stability": "stable" if first.stable(*errors) else "unstable"})
        report.log_refinement(study.run, progress, title=study.title, figure=study.full)
    line = report.model_line(stages.words(), model, settings.refine if trained else None)
    return Trained(first, name_of(stages.method), line, errors[1], first.test_mse if trained else None)


def log_dataset(run: Run, loaded: Loaded) -> None:
    """The first training sequence stands for the data set in MLflow; the digest is that of all of it."""
    from pipeline.systems.psrnn.servable import example_frame

    dataset = loaded.dataset
    frame = example_frame(dataset.train.to_arrays(1)[0], dataset.feature_names)
    run.dataset(frame, name=dataset.name, source=dataset.source, digest=dataset.checksum, context="training")


def history_of(model: Any) -> int:
    """See `Forecaster.history`."""
    return int(getattr(model, "history", 0))


def settled(model: Any, loaded: Loaded, run: Run) -> bool:
    """Let the start-up of the trained model last as long as it has to; whether that is longer than its lags."""
    if not isinstance(model, Recurrent):
        return False
    with threads_for(model):
        worse = settle_start_up(model, loaded.train)
    if worse:
        run.tags({"history.still_worse": "true"})
        tqdm.write(
            f"WARNING: {model.history - 1} rows after a start the readout is still worse than the last value; it is "
            "read from the next row on, as it was watched no longer"
        )
    elif model.history > model.lags:
        tqdm.write(f"the state is read from {model.history} rows on; before, an autoregression is better")
    return model.history > model.lags


class Evaluated(NamedTuple):
    """The errors of all models, the season of one of them, and the intervals of the run's own."""

    evaluation: Evaluation
    season: Season | None
    intervals: Intervals | None


def evaluate_stage(
    settings: PsrnnConfig, loaded: Loaded, trained: Trained, beside: Mapping[str, SequenceModel], study: Study
) -> Evaluated:
    """The errors of the run's model, of the models `beside` it and of the baselines on the test part, all logged."""
    run, model = study.run, cast(SequenceModel, trained.first.model)
    with study.clock.stage("evaluate"):
        season = None if trained.name == "seasonal_naive" else season_of(loaded, settings.evaluate)
        models = {trained.name: model, **beside, **baselines(loaded, settings.evaluate, season)}
        scoring = scored_settings(settings)
        evaluation = evaluate(models, loaded, scoring)
        report.log_metrics(run, evaluation, loaded)
        if study.full:
            report.log_evaluation(run, evaluation, loaded, models[trained.name], title=study.title)
        own_table = loaded.dataset.source.startswith(TABLE)
        intervals = intervals_of(models[trained.name], loaded, scoring, further=own_table)
        log_intervals(run, intervals, evaluation, loaded, full=study.full)
        if study.full and intervals is not None:
            most = max(scoring.horizons)
            log_forecast(run, models[trained.name], loaded, intervals, most=most, title=study.title)
    return Evaluated(evaluation, season, intervals)


def close(settings: PsrnnConfig, job: Job, loaded: Loaded, trained: Trained, evaluated: Evaluated, study: Study) -> str:
    """Description and model; returns what is printed at the end."""
    from pipeline.systems.psrnn.servable import how_to_predict, trained_model
    from pipeline.tracking.model import keep_model

    run, (evaluation, season, intervals) = study.run, evaluated
    model, chosen = trained.first.model, settings.readout.lags is None
    said = remarks(evaluation, before=trained.before, season=season)
    said += advice(evaluation, job.overrides, lags=getattr(model, "lags", None), chosen=chosen)
    run.describe(report.description(study.title, trained.line, loaded, evaluation, said, study.clock.seconds))
    run.tags({"validation_mse": repr(trained.validation_mse)})
    forecaster = forecaster_of(model, loaded, intervals)
    example = loaded.dataset.test.to_arrays(1)[0]
    kept = trained_model(forecaster, example, trained.validation_mse)
    uri = keep_model(run, kept, settings.tracking, FORECASTS)
    if not study.full:
        test = "" if settings.compare.figure == "trials" else f", {evaluation.mse():.4g} on test"
        return f"{run.name}: {trained.validation_mse:.4g} on validation{test}"
    printed = report.printed(study.title, evaluation, said)
    if forecaster.history:
        printed += f"wants {forecaster.history} rows of history; with fewer it forecasts by a lower autoregression\n"
    printed += "\n" + where_to_look(run, study.title)
    return printed if uri is None else f"{printed}\n{how_to_predict(uri, reading(job.overrides))}"


def train(settings: PsrnnConfig, job: Job, *, watch: Listener = unwatched) -> float:
    """The whole recipe; returns the validation error of the model that is kept. `watch` is told of every epoch.

    Of several ranks rank 0 alone evaluates; the others are done with the validation error.
    """
    refuse_other_data(job)
    settings = settings_of_rank(settings)
    device, stages, clock = set_up(settings, job), stages_of(settings), Clock()
    said_if_moved(settings)
    with clock.stage("load"):
        loaded = load_stage(settings, stages, device, shared=job.multirun)
    request = request_of(settings, job, loaded, device, psrnn=stages.drawn)
    refuse_unlike(fingerprint(request.settings, request.checksum))
    done = finished_before(settings.tracking, request, resume=settings.resume, requeued=job.requeued)
    if done is not None:
        return float(done.data.tags["validation_mse"])
    if rank() == 0:
        say_left_out(loaded, scored_settings(settings))
    with opened(settings, job, loaded.dataset, request, clock) as study:
        log_dataset(study.run, loaded)
        first = first_model(stages, loaded, study)
        trained = refine_stage(settings, stages, loaded, first, study, watch)
        beside = joined(first.model, loaded, settings.evaluate.ridges) if study.full else {}
        if rank() > 0:
            return trained.validation_mse
        evaluated = evaluate_stage(settings, loaded, trained, beside, study)
        closing = close(settings, job, loaded, trained, evaluated, study)
    print(closing)
    return trained.validation_mse
