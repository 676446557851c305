"""`recipe=ssgp`: one model of a table of points, a Gaussian process or a control: load, inputs, fit, evaluate, keep."""

from __future__ import annotations

from typing import NamedTuple

import torch
from tqdm import tqdm

from data.points import Points
from models.features.samplers import check_pair
from models.numerics.standardisation import varies_by_rounding
from models.ssgp.method import PointModel, arm_of
from models.ssgp.predictor import Predictor
from pipeline.compare.arms import MEASURED
from pipeline.host.devices import DTYPES
from pipeline.host.errors import PipelineError
from pipeline.host.torchrun import refuse_several
from pipeline.job.clock import Clock
from pipeline.job.study import Named, Study, set_up, study
from pipeline.settings.build import build
from pipeline.settings.job import Job
from pipeline.systems.ssgp.clusters import log_clusters
from pipeline.systems.ssgp.comparison import PROCESSES
from pipeline.systems.ssgp.config import SsgpConfig
from pipeline.systems.ssgp.curves import FittedCurve, StandardisedPoints, standardised_points
from pipeline.systems.ssgp.evaluate import predictor_of
from pipeline.systems.ssgp.fits import Draw, fit
from pipeline.systems.ssgp.inputs import checkpoint_of_fit, inputs_for
from pipeline.systems.ssgp.results import log_curve, log_predictions, log_scores, score_report
from pipeline.systems.ssgp.streamed import log_stream


def load_points(settings: SsgpConfig) -> Points:
    """Returns the points that data= names. Raises PipelineError where data= names sequences, which this recipe cannot
    take, and for a target that is constant but for rounding."""
    points = build("data", settings.data, settings.extensions)
    if not isinstance(points, Points):
        raise PipelineError(
            "recipe=ssgp takes tables of points; choose data=points (your own), abalone, gas_turbine or precipitation"
        )
    learned = points.targets[points.train]
    if bool(varies_by_rounding(*learned.aminmax())):
        raise PipelineError(
            f"{points.name}: {points.target_name} is constant in the training rows, so that there is nothing to learn; "
            "choose another data.target, or more rows"
        )
    return points


class Chosen(NamedTuple):
    """Holds the model, and by what its frequencies are drawn; None for a model that draws none."""

    model: PointModel
    draw: Draw | None


def chosen_in(settings: SsgpConfig) -> Chosen:
    """Returns the model that the settings name, and by what its frequencies are drawn. Raises ValueError for a sampler
    that cannot draw for the kernel."""
    model: PointModel = build("model", settings.model, settings.extensions)
    if not model.draws:
        return Chosen(model, None)
    draw = Draw(*(build(name, getattr(settings, name), settings.extensions) for name in Draw._fields))
    check_pair(draw.kernel, draw.sampler)
    return Chosen(model, draw)


def passed_over(settings: SsgpConfig, model: PointModel, rows: int) -> tuple[str, ...]:
    """Returns the settings that change nothing in this fit. rows: of the training part, of which the full process draws
    some where there are more than it takes."""
    seeded = model.random or (model.name == "full_gp" and rows > settings.gpytorch.points)
    matters = {
        "sampler": model.draws, "features.count": model.counted, "seed": seeded, "gpytorch": model.peer,
        "ssgp.iterations": not model.linear, "autoencoder": model.inputs != "given",
        "ssgp.picture": model.inputs == "autoencoder", "stream": bool(settings.stream.rows),
    }  # fmt: skip
    return tuple(name for name, does in matters.items() if not does)


def names_of_run(settings: SsgpConfig, job: Job, model: PointModel, points: Points, rows: int) -> Named:
    """Returns what the run is called and tagged with."""
    choices = {name: str(value).rpartition("/")[2] for name, value in job.choices.items() if value}
    arm = arm_of(model.name, choices.get("sampler", ""))
    words = [arm.replace("/", "-"), *([f"m{settings.features.count}"] if model.counted else [])]
    scored = len(points.validation[: settings.size.steps])
    tags = {"model": model.name, "arm": arm, "target": points.target_name, MEASURED: f"{scored} validation rows"}
    tags |= {name: choices.get(name, "") if model.draws else "" for name in ("sampler", "kernel")}
    idle = passed_over(settings, model, rows)
    tags["ssgp.seeded"] = str("seed" not in idle).lower()
    return Named(words=words, tags=tags, passed_over=idle)


def evaluate(points: Points, predictor: Predictor, fitted: FittedCurve, here: Study, *, rows: int | None) -> str:
    """Logs scores, curve, predictions and figures, and returns words about them. rows: of each part at most."""
    log_curve(here, fitted, points)
    scores = log_scores(here, fitted)
    if here.full:
        scores |= log_predictions(here, predictor, points, rows=rows)
    return score_report(scores, points)


def keep(settings: SsgpConfig, job: Job, predictor: Predictor, points: Points, fitted: FittedCurve, here: Study) -> str:
    """Logs the model as the setting `tracking.log_model` says, and returns words about it."""
    from pipeline.systems.ssgp.servable import trained_model
    from pipeline.tracking.model import kept_in_words, read_as

    kept = trained_model(predictor, points, fitted.best.validation.rmse)
    return kept_in_words(here.run, kept, settings.tracking, PROCESSES, read_as(job.overrides))


class Loaded(NamedTuple):
    """Holds the points in their own units, and standardised."""

    points: Points
    standardised: StandardisedPoints


def stages(settings: SsgpConfig, job: Job, chosen: Chosen, loaded: Loaded, here: Study) -> float:
    """Makes the inputs, fits and evaluates the model, keeps what is to be kept, and returns the validation RMSE."""
    (model, draw), (points, standardised) = chosen, loaded
    learnt = inputs_for(settings, model, standardised, here)
    with here.clock.stage("fit"):
        fitted = fit(settings, model, learnt, draw, checkpoint_of_fit(settings, model, standardised, here.folder))
    validation, ended = fitted.best.validation.rmse, fitted.ended_at(settings.ssgp.iterations)
    stopped = "" if ended is None else f"iteration {ended}"
    here.run.tags({"validation_rmse": repr(validation), "ssgp.stopped": stopped})
    predictor = predictor_of(points, learnt, fitted)
    with here.clock.stage("evaluate"):
        words = evaluate(points, predictor, fitted, here, rows=settings.size.steps)
        if model.name == "revisited":
            log_clusters(settings, standardised, learnt, here)
    if settings.stream.rows and draw is not None:
        with here.clock.stage("stream"):
            log_stream(settings, draw, here)
    here.run.describe(f"{here.title}\n\n{words}\n")
    words += keep(settings, job, predictor, points, fitted, here)
    print(f"\n{here.title}\n\n{words}" if here.full else f"{here.title}: RMSE {validation:.4g} on validation")
    return validation


def rows_in_words(rows: int, there: int, most: int | None) -> str:
    """Returns how many training rows a run learns from, and how many `size.steps` leaves out. there: rows of the
    training part. most: the limit."""
    return f"{rows} training rows" + (f"; size.steps={most} leaves out {there - rows}" if rows < there else "")


def train(settings: SsgpConfig, job: Job) -> float:
    """Runs the whole recipe, and returns the validation RMSE of the point of the curve that is kept."""
    refuse_several("recipe=ssgp")
    device, clock = set_up(settings, job), Clock()
    chosen = chosen_in(settings)
    with clock.stage("load"):
        points = load_points(settings)
        dtype: torch.dtype = DTYPES[settings.dtype]
        standardised = standardised_points(points, rows=settings.size.steps, dtype=dtype, device=device)
    rows = len(standardised.train.targets)
    tqdm.write(f"{points.name}: {rows_in_words(rows, len(points.train), settings.size.steps)}")
    with study(settings, job, points, device, clock, names_of_run(settings, job, chosen.model, points, rows)) as here:
        return stages(settings, job, chosen, Loaded(points, standardised), here)
