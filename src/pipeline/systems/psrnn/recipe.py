"""`recipe=psrnn`: load, features, two-stage regression (or the fit of another model), BPTT, evaluate, report."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tqdm import tqdm

from data.files.download import data_root
from models.forecasting.burn_in import settle
from models.forecasting.intervals import Intervals
from models.forecasting.recurrent import Recurrent, trained_parameters
from models.runtime.collectives import rank
from pipeline.compare.labels import name_of
from pipeline.host.devices import DTYPES
from pipeline.host.threads import threads_for
from pipeline.host.torchrun import refuse_unlike, settings_of_rank
from pipeline.job import checkpoint
from pipeline.job.clock import Clock
from pipeline.job.fit import EpochRow, Progress
from pipeline.job.study import prepare, title_of
from pipeline.settings.build import build
from pipeline.settings.job import Job, refuse_other_data
from pipeline.systems.psrnn import report
from pipeline.systems.psrnn.baselines import Season, baselines, season_of
from pipeline.systems.psrnn.config import PsrnnConfig
from pipeline.systems.psrnn.evaluate import Evaluation, evaluate
from pipeline.systems.psrnn.features import Features, draw_features
from pipeline.systems.psrnn.first_model import Initialised, fit_method, one_step_mse
from pipeline.systems.psrnn.intervals import intervals_of, log_forecast, log_intervals
from pipeline.systems.psrnn.joined import joined
from pipeline.systems.psrnn.load import Loaded, forecaster_of, load
from pipeline.systems.psrnn.naming import request_of
from pipeline.systems.psrnn.parts import Parts, exchangeable_parts
from pipeline.systems.psrnn.refine import Listener, errors_when_rounded, refine, unrefined, unwatched
from pipeline.systems.psrnn.remarks import advice, reading, remarks
from pipeline.systems.psrnn.two_stage import DECOMPOSITION_ERROR, TwoStageSettings, empty_model, initialise
from pipeline.tracking.run import Run, keeps_models, where_to_look
from pipeline.tracking.session import fingerprint, finished_before, open_run


def first_scored(settings: PsrnnConfig) -> int:
    """The step from which on every model of the run is scored: none before the readout has the lags asked for.

    Where the lags are still to be chosen, the steps that have fewer than were chosen are those of the start-up.
    """
    return max(settings.evaluate.first_step, settings.readout.lags or 0)


def said_if_moved(settings: PsrnnConfig) -> None:
    first = first_scored(settings)
    if first > settings.evaluate.first_step:
        tqdm.write(
            f"scored from step {first} on, for every model: readout.lags={settings.readout.lags} "
            f"(evaluate.first_step={settings.evaluate.first_step})"
        )


def load_stage(settings: PsrnnConfig, parts: Parts, device: torch.device) -> Loaded:
    return load(
        lambda: build("data", settings.data, settings.extensions),
        sequences=settings.size.sequences,
        steps=settings.size.steps,
        window=parts.method.window if parts.psrnn else 0,
        first_step=first_scored(settings),
        dtype=DTYPES[settings.dtype],
        device=device,
    )


class SharedLoad:
    """The data of the job before, kept for the next job of the same multirun when it asks for the same."""

    def __init__(self, settings: PsrnnConfig, parts: Parts, device: torch.device) -> None:
        self.arguments = settings, parts, device
        window = parts.method.window if parts.psrnn else 0
        sections = [settings.data, asdict(settings.size), window, first_scored(settings), settings.dtype]
        self.key = json.dumps([*sections, str(device), str(data_root(None))], sort_keys=True, default=str)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SharedLoad) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@lru_cache(maxsize=1)
def load_shared(request: SharedLoad) -> Loaded:
    return load_stage(*request.arguments)


def two_stage_settings(settings: PsrnnConfig, parts: Parts) -> TwoStageSettings:
    return TwoStageSettings(
        settings.initialise, settings.readout, settings.update, settings.features.projection,
        settings.refine.learn_frequencies, parts.method.terms, settings.seed,
    )  # fmt: skip


def two_stage_stage(settings: PsrnnConfig, loaded: Loaded, parts: Parts, features: Features, path: Path) -> Initialised:
    """The model from its checkpoint, or made and kept there."""
    stage = two_stage_settings(settings, parts)
    saved = checkpoint.find(path)
    if saved is not None:
        with checkpoint.fitting(path):
            model = empty_model(features, stage, saved.values["chosen"])
            model.load_state_dict(saved.tensors)
            return Initialised(model, **saved.values)
    found = initialise(loaded, features, stage)
    checkpoint.save(path, found.model.state_dict(), {k: v for k, v in found._asdict().items() if k != "model"})
    return found


def psrnn_stages(settings: PsrnnConfig, loaded: Loaded, parts: Parts, run: Run, folder: Path, clock: Clock) -> Any:
    """Features and two-stage regression, each logged before the next begins."""
    with clock.stage("features"):
        features = draw_features(
            loaded, settings.features, kernel=parts.kernel, sampler=parts.sampler, window=parts.method.window,
            seed=settings.seed,
        )  # fmt: skip
        if settings.tracking.detail == "full":
            report.log_features(run, features, parts.kernel, title=clock.title)
    with clock.stage("two_stage"):
        found = two_stage_stage(settings, loaded, parts, features, folder / "two_stage.npz")
        run.metric("two_stage/train_mse", found.train_mse)
        run.metric("two_stage/test_mse", found.test_mse)
        if DECOMPOSITION_ERROR in found.chosen:
            run.metric("two_stage/decomposition_error", found.chosen[DECOMPOSITION_ERROR])
    return found


def first_model(
    settings: PsrnnConfig, loaded: Loaded, parts: Parts, run: Run, folder: Path, clock: Clock
) -> Initialised:
    """The model before refinement, with its parameter count and what was chosen on validation."""
    if parts.psrnn:
        found = psrnn_stages(settings, loaded, parts, run, folder, clock)
    else:
        with clock.stage("fit"):
            found = fit_method(
                parts.method, loaded, readout=settings.readout, seed=settings.seed, kept=keeps_models(settings.tracking)
            )
    run.metric("model/parameters", trained_parameters(found.model))
    chosen = {key: f"{value:g}" if isinstance(value, float) else str(value) for key, value in found.chosen.items()}
    run.tags(chosen)
    return found


def refine_stage(
    settings: PsrnnConfig, loaded: Loaded, parts: Parts, found: Initialised, run: Run, path: Path, watch: Listener
) -> Progress:
    def log(row: EpochRow) -> None:
        for part in ("train", "validation", "test"):
            run.metric(f"bptt/{part}_mse", getattr(row, f"{part}_mse"), row.epoch)
        run.metric("bptt/learning_rate", row.learning_rate, row.epoch)
        run.metric("bptt/accepted", float(row.accepted), row.epoch)
        watch(row)

    if not parts.method.trained or settings.refine.epochs == 0:
        return unrefined(found, on_epoch=log)
    return refine(found, loaded, settings.refine, readout=settings.readout, seed=settings.seed, path=path, on_epoch=log)


def log_dataset(run: Run, loaded: Loaded) -> None:
    """The first training sequence stands for the data set in MLflow; the digest is that of all of it."""
    from pipeline.tracking.model import example_frame

    dataset = loaded.dataset
    frame = example_frame(dataset.train.to_arrays(1)[0], dataset.feature_names)
    run.dataset(frame, name=dataset.name, source=dataset.source, digest=dataset.checksum, context="training")


class Trained(NamedTuple):
    """What the stages leave: the first model, refined in place, its validation error, the errors of all models, the
    season of one of them, and the intervals of the run's own."""

    initialised: Initialised
    validation_mse: float
    evaluation: Evaluation
    season: Season | None
    intervals: Intervals | None


def history_of(model: Any) -> int:
    """See `Forecaster.history`."""
    return int(getattr(model, "history", 0))


def settled(model: Any, loaded: Loaded, run: Run) -> bool:
    """Let the start-up of the trained model last as long as it has to; whether that is longer than its lags."""
    if not isinstance(model, Recurrent):
        return False
    with threads_for(model):
        worse = settle(model, loaded.train)
    if worse:
        run.tags({"history.still_worse": "true"})
        tqdm.write(
            f"WARNING: {model.history - 1} rows after a start the readout is still worse than the last value; it is "
            "read from the next row on, as it was watched no longer"
        )
    elif model.history > model.lags:
        tqdm.write(f"the state is read from {model.history} rows on; before, an autoregression is better")
    return model.history > model.lags


def run_stages(
    settings: PsrnnConfig, loaded: Loaded, parts: Parts, run: Run, folder: Path, clock: Clock, watch: Listener
) -> Trained | float:
    """First model, BPTT, evaluation; each logs what it found before the next begins.

    Of several ranks rank 0 alone evaluates; the others are done with the validation error.
    """
    full = settings.tracking.detail == "full"
    found = first_model(settings, loaded, parts, run, folder, clock)
    with clock.stage("bptt"):
        progress = refine_stage(settings, loaded, parts, found, run, folder / "bptt.npz", watch)
        kept = progress.kept_errors
        if settings.dtype == "bfloat16":
            kept = errors_when_rounded(found.model, loaded)
            run.metric("bptt/rounded_validation_mse", kept[1])
        own: Any = found.model
        if settled(own, loaded, run):
            kept = one_step_mse(own, loaded.train), one_step_mse(own, loaded.validation)
        run.tags({"scored.first_step": str(first_scored(settings)), "history": str(history_of(found.model))})
        run.tags({"stability": "stable" if found.stable(*kept) else "unstable"})
        report.log_refinement(run, progress, title=clock.title, figure=full)
    beside = joined(found.model, loaded, settings.evaluate.ridges) if full else {}
    if rank() > 0:
        return kept[1]
    with clock.stage("evaluate"):
        name = name_of(parts.method)
        season = None if name == "seasonal_naive" else season_of(loaded, settings.evaluate)
        models: dict[str, Any] = {name: found.model, **beside, **baselines(loaded, settings.evaluate, season)}
        scoring = replace(settings.evaluate, first_step=first_scored(settings))
        evaluation = evaluate(models, loaded, scoring)
        report.log_metrics(run, evaluation, loaded)
        if full:
            report.log_evaluation(run, evaluation, loaded, models[name], title=clock.title)
        intervals = intervals_of(models[name], loaded, scoring)
        log_intervals(run, intervals, evaluation, loaded, full=full)
        if full and intervals is not None:
            log_forecast(run, models[name], loaded, intervals, title=clock.title)
    return Trained(found, kept[1], evaluation, season, intervals)


def close(
    settings: PsrnnConfig, job: Job, loaded: Loaded, parts: Parts, trained: Trained, run: Run, clock: Clock
) -> str:
    """Description and model; returns what is printed at the end."""
    from pipeline.tracking.model import keep_model

    refined = parts.method.trained and settings.refine.epochs > 0
    before = trained.initialised.test_mse if refined else None
    said = remarks(trained.evaluation, before=before, season=trained.season)
    lags, chosen = getattr(trained.initialised.model, "lags", None), settings.readout.lags is None
    said += advice(trained.evaluation, job.overrides, lags=lags, chosen=chosen)
    model = report.model_line(settings, parts.method, trained.initialised.model)
    run.describe(report.description(clock.title, model, loaded, trained.evaluation, said, clock.seconds))
    run.tags({"validation_mse": repr(trained.validation_mse)})
    forecaster = forecaster_of(trained.initialised.model, loaded, trained.intervals)
    example = loaded.dataset.test.to_arrays(1)[0]
    uri = keep_model(run, forecaster, settings.tracking, example=example, error=trained.validation_mse)
    printed = report.printed(clock.title, trained.evaluation, said)
    if forecaster.history:
        printed += f"wants {forecaster.history} rows of history; with fewer it forecasts by a lower autoregression\n"
    return printed + "\n" + where_to_look(run, clock.title, uri, reading=reading(job.overrides))


def train(settings: PsrnnConfig, job: Job, *, watch: Listener = unwatched) -> float:
    """The whole recipe; returns the validation error of the model that is kept. `watch` is told of every epoch."""
    refuse_other_data(job)
    settings = settings_of_rank(settings)
    device = prepare(settings, job)
    parts = exchangeable_parts(settings)
    said_if_moved(settings)
    clock = Clock()
    with clock.stage("load"):
        request = SharedLoad(settings, parts, device)
        loaded = load_shared(request) if job.multirun else load_stage(settings, parts, device)
    request = request_of(settings, job, loaded, device, psrnn=parts.psrnn)
    refuse_unlike(fingerprint(request.settings, request.checksum))
    done = finished_before(settings.tracking, request, resume=settings.resume, requeued=job.requeued)
    if done is not None:
        return float(done.data.tags["validation_mse"])
    with open_run(settings.tracking, request, resume=settings.resume, requeued=job.requeued) as (run, folder):
        clock.begin(run, title_of(run.name, loaded.dataset))
        log_dataset(run, loaded)
        trained = run_stages(settings, loaded, parts, run, folder, clock, watch)
        if not isinstance(trained, Trained):
            return trained
        closing = close(settings, job, loaded, parts, trained, run, clock)
    if settings.tracking.detail == "full":
        print(closing)
    else:
        test = "" if settings.compare.figure == "trials" else f", {trained.evaluation.mse():.4g} on test"
        print(f"{run.name}: {trained.validation_mse:.4g} on validation{test}")
    return trained.validation_mse
