"""`recipe=theory`: inputs, draws of feature maps for every kernel, tables and figures of section 5's claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from models.features.samplers import check_pair
from models.theory.dense import Risk
from pipeline.host.errors import PipelineError
from pipeline.host.progress import training_bar
from pipeline.host.torchrun import refuse_several
from pipeline.job import checkpoint
from pipeline.job.clock import Clock
from pipeline.job.study import Study, set_up, study
from pipeline.settings.build import build
from pipeline.settings.job import Job
from pipeline.settings.schema import refuse_repeated
from pipeline.systems.theory import report as theory_report
from pipeline.systems.theory.config import TheoryConfig
from pipeline.systems.theory.draws import DRAW_COLUMNS, KernelOnInputs, Measured, kernel_on_inputs, measure
from pipeline.systems.theory.inputs import Collection, Inputs, inputs_of, normal_inputs


def chosen(section: str, names: Sequence[str], sections: Mapping[str, Any], extensions: list[str]) -> dict[str, Any]:
    """Returns what `theory.<section>` names, built, by name. Raises PipelineError for a name that is unknown or comes
    twice."""
    for name in names:
        if name not in sections:
            raise PipelineError(f"theory.{section}: {name} is unknown; choose among {', '.join(sections)}")
    refuse_repeated(f"theory.{section}", names)
    return {name: build(f"{section}.{name}", sections[name], extensions) for name in names}


def load_inputs(settings: TheoryConfig, device: torch.device) -> list[Inputs]:
    """Returns Gaussian inputs of every dimension, then the data sets, on the device."""
    theory = settings.theory
    inputs = [normal_inputs(n, rows=theory.rows, seed=settings.seed) for n in theory.dimensions]
    for name in theory.data:
        inputs.append(
            inputs_of(
                name, partial(build, f"datasets.{name}", settings.datasets[name], settings.extensions),
                rows=theory.rows, window=theory.window, size=settings.size, seed=settings.seed,
            )
        )  # fmt: skip
    return [replace(part, points=part.points.to(device), signal=part.signal.to(device)) for part in inputs]


def keep_measured(path: Path, measured: Measured) -> None:
    """Writes the draws of one problem to disk, for a run that goes on."""
    numbers = torch.from_numpy(measured.draws[DRAW_COLUMNS].to_numpy(dtype="float64"))
    values = {"samplers": measured.draws["sampler"].to_list(), "exact": list(measured.exact)}
    checkpoint.save(path, {"draws": numbers}, values)


def read_measured(path: Path) -> Measured | None:
    """Returns what `keep_measured` wrote; None where there is no file. Raises PipelineError for a file that is not
    whole."""
    saved = checkpoint.find(path)
    if saved is None:
        return None
    with checkpoint.fitting(path):
        draws = pd.DataFrame(saved.tensors["draws"].numpy(), columns=pd.Index(DRAW_COLUMNS))
        draws = draws.astype({"count": int, "draw": int}).assign(sampler=saved.values["samplers"])
        return Measured(Risk(*saved.values["exact"]), draws)


def measure_all(
    settings: TheoryConfig, problems: Sequence[KernelOnInputs], samplers: Mapping[str, Any], opened: Study
) -> list[Measured]:
    """Measures every problem, or reads it from where a run that was stopped left it, and logs it."""
    theory = settings.theory
    each = len(samplers) * len(theory.counts) * theory.draws
    all_measured = []
    with training_bar(each * len(problems), "draws", unit="draw") as bar:
        for number, problem in enumerate(problems):
            path = opened.folder / f"problem-{number}.npz"
            measured = read_measured(path)
            if measured is None:
                bar.set_postfix_str(problem.name)
                measured = measure(problem, samplers, theory, bar)
                keep_measured(path, measured)
            else:
                bar.update(each)
            all_measured.append(measured)
            theory_report.log_kernel_problem(opened.run, problem, measured)
    return all_measured


def study_of_draws(settings: TheoryConfig, job: Job) -> None:
    """Runs the whole recipe. Raises ValueError for a sampler that cannot draw for a kernel."""
    refuse_several("recipe=theory")
    device = set_up(settings, job)
    kernels = chosen("kernels", settings.theory.kernels, settings.kernels, settings.extensions)
    samplers = chosen("samplers", settings.theory.samplers, settings.samplers, settings.extensions)
    for kernel in kernels.values():
        for sampler in samplers.values():
            check_pair(kernel, sampler)
    clock = Clock()
    with clock.stage("load"):
        inputs = load_inputs(settings, device)
        pairs = [(part, name) for name in kernels for part in inputs]
        problems = [kernel_on_inputs(part, name, kernels[name], seed=settings.seed) for part, name in pairs]
    with study(settings, job, Collection(inputs), device, clock) as opened:
        theory_report.log_inputs(opened.run, Collection(inputs))
        with clock.stage("draws"):
            measured = measure_all(settings, problems, samplers, opened)
        with clock.stage("report"):
            theory_report.report(opened, problems, measured, settings.theory)
