"""`recipe=psrnn`: load, features, two-stage regression (or the fit of another model), BPTT, readout, evaluate,
report."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from models.runtime.collectives import rank
from pipeline.host.torchrun import refuse_unlike, settings_of_rank
from pipeline.job.clock import Clock
from pipeline.job.study import Study, opened, said_before, set_up
from pipeline.settings.job import Job
from pipeline.systems.psrnn.baselines import Beside, baselines_stage
from pipeline.systems.psrnn.close import close
from pipeline.systems.psrnn.config import PsrnnConfig
from pipeline.systems.psrnn.evaluate import evaluate_stage, say_left_out
from pipeline.systems.psrnn.first_model import Initialised
from pipeline.systems.psrnn.joined import joined_models
from pipeline.systems.psrnn.labels import name_of
from pipeline.systems.psrnn.load import Parts, load_stage, log_dataset, scored_settings
from pipeline.systems.psrnn.members import train_members
from pipeline.systems.psrnn.naming import request_of
from pipeline.systems.psrnn.readout_stage import parameters_of, readout_stage
from pipeline.systems.psrnn.refine import Listener, Trained, refine_stage, unwatched
from pipeline.systems.psrnn.refit import refit_stage, with_refitted
from pipeline.systems.psrnn.stages import Stages, stages_of
from pipeline.systems.psrnn.windows import check_windows
from pipeline.tracking.run_request import fingerprint
from pipeline.tracking.session import finished_before


def first_model(stages: Stages, parts: Parts, study: Study) -> Initialised:
    """Returns the model before refinement; what was chosen for it on validation is tagged."""
    first = stages.first_model(parts, study)
    study.run.tags(
        {key: f"{value:g}" if isinstance(value, float) else str(value) for key, value in first.chosen.items()}
    )
    return first


def trained_model(settings: PsrnnConfig, stages: Stages, parts: Parts, study: Study, watch: Listener) -> Trained:
    """Returns one model after all its stages, each of which is logged."""
    first = first_model(stages, parts, study)
    trained = refine_stage(settings, stages, parts, first, study, watch)
    return readout_stage(settings, parts, trained, study) if settings.readout.fitted_last else trained


def member(parts: Parts, settings: PsrnnConfig, study: Study) -> Trained:
    """Returns one member of an ensemble, by settings of its own."""
    return trained_model(settings, stages_of(settings), parts, study, unwatched)


def train(settings: PsrnnConfig, job: Job, *, watch: Listener = unwatched) -> float:
    """Runs the whole recipe and returns the validation error of the model that is kept. `watch` is told of every epoch.

    Of several ranks rank 0 alone evaluates; the others are done with the validation error.
    """
    settings = settings_of_rank(settings)
    device, stages, clock = set_up(settings, job), stages_of(settings), Clock()
    with clock.stage("load"):
        loaded = load_stage(settings, device, span=stages.span, shared=job.multirun)
    dataset, parts = loaded.dataset, loaded.parts
    request = request_of(settings, job, dataset, device, psrnn=stages.drawn, trained=stages.method.trained)
    refuse_unlike(fingerprint(request.settings, request.checksum))
    done = finished_before(settings.tracking, request, resume=settings.resume, requeued=job.requeued)
    if done is not None:
        print(said_before(request, str(done.info.run_name)))
        return float(done.data.tags["validation_mse"])
    if rank() == 0:
        check_windows(parts.test, settings.evaluate.window)
        say_left_out(parts.test, scored_settings(settings))
    with opened(settings, job, dataset, request, clock) as study:
        log_dataset(study.run, dataset)
        seasonal = settings.readout.fitted_last or name_of(stages.method) != "seasonal_naive"
        rivals = baselines_stage(settings, parts, study, seasonal=seasonal) if rank() == 0 else None
        if settings.members > 1:
            trained = train_members(settings, parts, study, partial(member, parts))
        else:
            trained = trained_model(settings, stages, parts, study, watch)
        study.run.metric("model/parameters", parameters_of(trained.model))
        shown = study.full and settings.members == 1
        joined = joined_models(trained.first.model, parts, settings.evaluate.ridges) if shown else {}
        refitted = refit_stage(settings, loaded, trained, study)
        if rivals is None:
            return trained.validation_mse
        beside = Beside({**joined, **rivals.models}, rivals.season)
        evaluated = evaluate_stage(settings, loaded, trained, beside, study)
        evaluated = with_refitted(evaluated, refitted, loaded)
        lowered = job.lowered_but(request.passed_over)
        closing = close(settings, replace(job, lowered=lowered), dataset, trained, evaluated, study)
    print(closing)
    return trained.validation_mse
