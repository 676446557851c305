"""`recipe=psrnn`: load, features, two-stage regression, BPTT, evaluate, report."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tqdm import tqdm

from models.features.samplers import check_pair
from models.forecaster import Forecaster
from models.psrnn.cell import PSRNN
from models.psrnn.initialise import Frequencies
from pipeline import checkpoint
from pipeline.build import DTYPES, build, pick_device, set_threads
from pipeline.config import PsrnnConfig
from pipeline.fit import EpochRow, Progress
from pipeline.job import Job
from pipeline.stages import report
from pipeline.stages.bptt import refine
from pipeline.stages.evaluate import Evaluation, baselines, evaluate
from pipeline.stages.features import Features, draw_features
from pipeline.stages.load import Loaded, load
from pipeline.stages.two_stage import Initialised, initialise
from pipeline.tracking.model import example_frame, keep_model, where_to_look
from pipeline.tracking.run import Run
from pipeline.tracking.session import RunRequest, open_run


class Parts(NamedTuple):
    """What the config groups `kernel` and `sampler` name."""

    kernel: Any
    sampler: Any


@dataclass
class Clock:
    """Seconds per stage, logged as `<stage>/seconds` when a stage ends (those before the run began, at its begin)."""

    run: Run | None = None
    title: str = ""
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.monotonic()
        tqdm.write(f"{name} …")
        yield
        self.seconds[name] = time.monotonic() - start
        self.log()

    def begin(self, run: Run, title: str) -> None:
        self.run, self.title = run, title
        self.log()

    def log(self) -> None:
        if self.run is None:
            return
        for name, value in self.seconds.items():
            self.run.metric(f"{name}/seconds", value)
        self.run.flush()


def load_stage(settings: PsrnnConfig, device: torch.device) -> Loaded:
    return load(
        lambda: build("data", settings.data, settings.extensions),
        sequences=settings.size.sequences,
        steps=settings.size.steps,
        window=settings.model.window,
        first_step=settings.evaluate.first_step,
        dtype=DTYPES[settings.dtype],
        device=device,
    )


def exchangeable_parts(settings: PsrnnConfig) -> Parts:
    """Raises ValueError for a sampler that cannot draw for the kernel."""
    kernel = build("kernel", settings.kernel, settings.extensions)
    sampler = build("sampler", settings.sampler, settings.extensions)
    check_pair(kernel, sampler)
    return Parts(kernel, sampler)


def feature_stage(settings: PsrnnConfig, loaded: Loaded, parts: Parts) -> Features:
    return draw_features(loaded, settings.features, **parts._asdict(), window=settings.model.window, seed=settings.seed)


def two_stage_stage(settings: PsrnnConfig, loaded: Loaded, features: Features, path: Path) -> Initialised:
    """The model from its checkpoint, or made and kept there."""
    if path.exists():
        saved = checkpoint.load(path)
        model = empty_model(settings, features.frequencies)
        model.load_state_dict(saved.tensors)
        return Initialised(model, **saved.values)
    found = initialise(
        loaded, features, settings.initialise, readout=settings.readout, update=settings.update, seed=settings.seed
    )
    checkpoint.save(path, found.model.state_dict(), {k: v for k, v in found._asdict().items() if k != "model"})
    return found


def empty_model(settings: PsrnnConfig, frequencies: Frequencies) -> PSRNN:
    count, dimension = frequencies.observation.shape
    model = PSRNN(
        frequencies=count,
        dimension=dimension,
        state=2 * count,
        lags=settings.readout.lags,
        keep_sign=settings.update == "bayes",
    )
    return model.to(dtype=frequencies.observation.dtype, device=frequencies.observation.device)


def refine_stage(settings: PsrnnConfig, loaded: Loaded, found: Initialised, run: Run, path: Path) -> Progress:
    def log(row: EpochRow) -> None:
        for part in ("train", "validation", "test"):
            run.metric(f"bptt/{part}_mse", getattr(row, f"{part}_mse"), row.epoch)
        run.metric("bptt/learning_rate", row.learning_rate, row.epoch)
        run.metric("bptt/accepted", float(row.accepted), row.epoch)
        run.flush()

    return refine(
        found.model, loaded, settings.refine, readout=settings.readout, readout_ridge=found.readout_ridge,
        seed=settings.seed, path=path, on_epoch=log,
    )  # fmt: skip


def run_request(settings: PsrnnConfig, job: Job, loaded: Loaded, device: torch.device) -> RunRequest:
    dataset = loaded.dataset
    experiment = job.choices.get("experiment") or dataset.name
    group = job.choices.get("experiment") or job.choices.get("data") or dataset.name
    parts = [
        experiment,
        job.choices.get("sampler", ""),
        job.choices.get("kernel", ""),
        f"m{settings.features.count}",
        f"seed{settings.seed}",
    ]
    name = settings.run_name or "-".join(part for part in parts if part)
    tags = {
        "experiment": experiment,
        "sampler": job.choices.get("sampler", ""),
        "kernel": job.choices.get("kernel", ""),
        "data.source": dataset.source,
        "device": str(device),
        "hydra.overrides": " ".join(job.overrides),
    }
    name = f"STAND-IN-{name}" if dataset.stand_in else name
    return RunRequest(asdict(settings), settings.tracking.experiment or group, name, dataset.checksum, tags)


def log_dataset(run: Run, loaded: Loaded) -> None:
    """The first training sequence stands for the data set in MLflow; the digest is that of all of it."""
    dataset = loaded.dataset
    frame = example_frame(dataset.train.to_arrays()[0], dataset.feature_names)
    run.dataset(frame, name=dataset.name, source=dataset.source, digest=dataset.checksum, context="training")


def forecaster_of(model: PSRNN, loaded: Loaded) -> Forecaster:
    standardiser = loaded.standardiser
    return Forecaster(
        model, mean=standardiser.mean, scale=standardiser.scale, feature_names=loaded.dataset.feature_names
    )


class Trained(NamedTuple):
    """What the stages leave: the initialised model, refined in place, its learning curve, the errors of all models."""

    initialised: Initialised
    progress: Progress
    evaluation: Evaluation

    @property
    def validation_mse(self) -> float:
        return self.progress.rows[self.progress.best_epoch].validation_mse


def log_initialised(run: Run, found: Initialised) -> None:
    run.metric("two_stage/train_mse", found.train_mse)
    run.metric("two_stage/test_mse", found.test_mse)
    run.tags({"stability": "stable" if found.stable else "unstable", "readout.ridge": f"{found.readout_ridge:g}"})


def run_stages(settings: PsrnnConfig, loaded: Loaded, parts: Parts, run: Run, folder: Path, clock: Clock) -> Trained:
    """Features, two-stage regression, BPTT, evaluation; each logs what it found before the next begins."""
    title = clock.title
    with clock.stage("features"):
        features = feature_stage(settings, loaded, parts)
        report.log_features(run, features, parts.kernel, title=title)
    with clock.stage("two_stage"):
        found = two_stage_stage(settings, loaded, features, folder / "two_stage.npz")
        log_initialised(run, found)
    with clock.stage("bptt"):
        progress = refine_stage(settings, loaded, found, run, folder / "bptt.npz")
        report.log_refinement(run, progress, title=title)
    with clock.stage("evaluate"):
        models = {"psrnn": found.model, **baselines(loaded, settings.evaluate)}
        evaluation = evaluate(models, loaded, settings.evaluate)
        report.log_evaluation(run, evaluation, loaded, title=title)
    return Trained(found, progress, evaluation)


def model_line(settings: PsrnnConfig) -> str:
    """The model in a line of words."""
    return (
        f"PSRNN, {settings.features.count} frequencies, update={settings.update}, {settings.initialise.method}, "
        f"readout with {settings.readout.lags} lags, {settings.refine.epochs} epochs of {settings.refine.optimizer}"
    )


def close(settings: PsrnnConfig, loaded: Loaded, trained: Trained, run: Run, clock: Clock) -> str:
    """Description and model; returns what is printed at the end."""
    before = trained.initialised.test_mse
    model = model_line(settings)
    run.describe(report.description(clock.title, model, loaded, trained.evaluation, before, clock.seconds))
    run.tags({"validation_mse": repr(trained.validation_mse)})
    forecaster = forecaster_of(trained.initialised.model, loaded)
    example = loaded.dataset.test.to_arrays()[0]
    uri = keep_model(run, forecaster, settings.tracking, example=example, error=trained.validation_mse)
    return report.printed(clock.title, trained.evaluation, before) + "\n" + where_to_look(run, clock.title, uri)


def train(settings: PsrnnConfig, job: Job) -> float:
    """The whole recipe; returns the validation error of the model that is kept, for searches."""
    set_threads(settings.threads)
    device = pick_device(settings.device, job=job.number)
    parts = exchangeable_parts(settings)
    clock = Clock()
    with clock.stage("load"):
        loaded = load_stage(settings, device)
    request = run_request(settings, job, loaded, device)
    with open_run(settings.tracking, request, resume=settings.resume) as (run, folder):
        clock.begin(run, report.heading(request.name, loaded))
        log_dataset(run, loaded)
        trained = run_stages(settings, loaded, parts, run, folder, clock)
        closing = close(settings, loaded, trained, run, clock)
    print(closing)
    return trained.validation_mse
