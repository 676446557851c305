"""The data of a problem: a graph, points or a matrix, whichever the choice of `data` loads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from data.points import Points
from pipeline.host.errors import PipelineError
from pipeline.settings.build import build
from pipeline.settings.job import Job
from pipeline.systems.registry import function, refuse_other_records
from pipeline.systems.trace.config import OWN, RECORDS, TraceConfig

FORMATS = ".mtx, .npz, .npy, .txt or .edges"


def given(settings: TraceConfig) -> bool:
    """Returns true where there are data to load. The choice data=matrix without a file, which problem=auto leaves, has
    none."""
    return settings.data is not None and settings.data.get("path", "") is not None


def check_none(settings: TraceConfig) -> None:
    """Raises PipelineError for data that are given to a problem that takes none."""
    if given(settings):
        instead = ", and choose hessian's own by data@hessian.data" if settings.problem == "hessian" else ""
        raise PipelineError(
            f"problem={settings.problem} takes no data: leave data out{instead}, or choose problem={', '.join(RECORDS)}"
        )


def check(settings: TraceConfig) -> None:
    """Raises PipelineError, before anything is loaded, for data that are missing or that the problem cannot take."""
    problem = settings.problem
    if problem not in RECORDS:
        check_none(settings)
        return
    if settings.data is not None:
        if problem == OWN and not given(settings):
            raise PipelineError(f"problem=own needs a matrix: matrix.path=FILE ({FORMATS})")
        refuse_other_records(settings.data["_target_"], (RECORDS[problem],), f"problem={problem}")
        return
    raise PipelineError(f"problem={problem} has no data; choose both by problem={problem}, in YAML 'override /problem'")


def refuse_no_file(settings: TraceConfig, job: Job) -> None:
    """Raises PipelineError where data=matrix was typed without a file. As the choice that problem=auto makes it is no
    error without one, so the settings alone cannot tell."""
    if "data=matrix" in job.overrides and not given(settings):
        raise PipelineError(f"data=matrix needs matrix.path=FILE ({FORMATS}); leave data=matrix out for diag(1/i²)")


def load(settings: TraceConfig) -> Any:
    """Returns the record of `data`. Raises PipelineError where a loader that does not say what it returns gives another
    kind than the problem takes."""
    found, record = build("data", settings.data, settings.extensions), function(RECORDS[settings.problem])
    if not isinstance(found, record):
        raise PipelineError(f"data: problem={settings.problem} takes {record.kind}, not {type(found).__name__}")
    return found


def load_points(settings: TraceConfig) -> Points:
    """Returns the first `matrix.points` of the points, all for training. Raises PipelineError where there are fewer."""
    points, count = load(settings), settings.matrix.points
    rows = len(points.inputs)
    if rows < count:
        raise PipelineError(f"matrix.points={count}: there are {rows} points; lower it, or raise data.points")
    none = torch.arange(0)
    return replace(
        points, inputs=points.inputs[:count], targets=points.targets[:count], train=torch.arange(count),
        validation=none, test=none,
    )  # fmt: skip
