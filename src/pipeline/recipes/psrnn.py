"""`recipe=psrnn`: load, features, two-stage regression, BPTT, evaluate, report."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

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


@dataclass
class Clock:
    """Seconds per stage; each is logged when its stage ends."""

    run: Run | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.monotonic()
        tqdm.write(f"{name} …")
        yield
        self.seconds[name] = time.monotonic() - start
        if self.run:
            self.log()

    def log(self) -> None:
        for name, value in self.seconds.items():
            if self.run:
                self.run.metric(f"{name}/seconds", value)


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


def feature_stage(settings: PsrnnConfig, loaded: Loaded, kernel: Any) -> Features:
    sampler = build("sampler", settings.sampler, settings.extensions)
    return draw_features(
        loaded, settings.features, kernel=kernel, sampler=sampler, window=settings.model.window, seed=settings.seed
    )


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
    return RunRequest(asdict(settings), settings.tracking.experiment or experiment, name, dataset.checksum, tags)


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


def log_everything(run: Run, title: str, loaded: Loaded, progress: Progress, evaluation: Evaluation) -> None:
    report.log_refinement(run, progress, title=title)
    report.log_metrics(run, evaluation, loaded)
    report.log_evaluation(run, evaluation, loaded, title=title)


def train(settings: PsrnnConfig, job: Job) -> float:
    """The whole recipe; returns the validation error of the model that is kept, for searches."""
    set_threads(settings.threads)
    device = pick_device(settings.device, job=job.number)
    kernel = build("kernel", settings.kernel, settings.extensions)
    clock = Clock()
    with clock.stage("load"):
        loaded = load_stage(settings, device)
    request = run_request(settings, job, loaded, device)
    with open_run(settings.tracking, request, resume=settings.resume) as (run, folder):
        title = report.heading(request.name, loaded)
        clock.run = run
        clock.log()
        log_dataset(run, loaded)
        with clock.stage("features"):
            features = feature_stage(settings, loaded, kernel)
            report.log_features(run, features, kernel, title=title)
        with clock.stage("two_stage"):
            found = two_stage_stage(settings, loaded, features, folder / "two_stage.npz")
            run.metric("two_stage/train_mse", found.train_mse)
            run.metric("two_stage/test_mse", found.test_mse)
            run.tags(
                {"stability": "stable" if found.stable else "unstable", "readout.ridge": f"{found.readout_ridge:g}"}
            )
        with clock.stage("bptt"):
            progress = refine_stage(settings, loaded, found, run, folder / "bptt.npz")
        with clock.stage("evaluate"):
            evaluation = evaluate(
                {"psrnn": found.model, **baselines(loaded, settings.evaluate)}, loaded, settings.evaluate
            )
            log_everything(run, title, loaded, progress, evaluation)
        run.describe(report.description(title, loaded, evaluation, found.test_mse, clock.seconds))
        best = progress.rows[progress.best_epoch].validation_mse
        run.tags({"validation_mse": repr(best)})
        uri = keep_model(
            run,
            forecaster_of(found.model, loaded),
            settings.tracking,
            example=loaded.dataset.test.to_arrays()[0],
            error=best,
        )
        print(report.printed(request.name, loaded, evaluation, found.test_mse))
        print(where_to_look(run, request.name, uri))
    return best
