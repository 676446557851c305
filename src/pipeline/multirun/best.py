"""The best job of a multirun: which it is, what the parent says of it, and its model."""

from __future__ import annotations

import json
import math
import re
from itertools import groupby
from pathlib import Path

from mlflow.entities import Run as MlflowRun
from mlflow.tracking import MlflowClient

from pipeline.compare.arms import GIVEN, data_of, differing, measured_of, named_data
from pipeline.compare.comparison import Comparison
from pipeline.host.errors import PipelineError
from pipeline.systems.registry import function, system
from pipeline.tracking.model import BEST_SO_FAR, NOT_KEPT, PARAMETERS, log_model, logged_model_of
from pipeline.tracking.registry import register
from pipeline.tracking.run import Run, scratch_folder


class NotRegistered(PipelineError):
    """Says why no model is registered at the end of a multirun; models are kept before."""


def best_child(children: list[MlflowRun], comparison: Comparison) -> tuple[MlflowRun, float]:
    """Returns the job whose kept model is the best on the validation part, and the validation error of that model. The
    error is infinity where it is not finite. The test error decides nothing.

    Of equal jobs the function takes the one whose model was kept (see `keep_if_best`). Raises ValueError where there
    are no jobs.
    """
    errors = {child.info.run_id: float(child.data.tags[comparison.chosen_by]) for child in children}
    ranks = {run: comparison.rank(error) for run, error in errors.items()}
    best = min(children, key=lambda child: (ranks[child.info.run_id], BEST_SO_FAR not in child.data.tags))
    error = errors[best.info.run_id]
    return best, error if math.isfinite(error) else math.inf


def by_data(children: list[MlflowRun]) -> list[list[MlflowRun]]:
    """Returns the jobs in groups of the same data, by the names of these. Errors on unlike data cannot be compared, so
    each group has a best job of its own. Parts that `data.seed` draws anew are unlike data of one name, and so are the
    same parts where errors are measured otherwise (`data_of`)."""
    groups: dict[tuple[str, ...], list[MlflowRun]] = {}
    for child, data in zip(children, data_of([child.data.tags for child in children]), strict=True):
        groups.setdefault(data, []).append(child)
    return [groups[name] for name in sorted(groups, key=lambda name: [*name[:-1], by_numbers(name[-1])])]


def by_numbers(words: str) -> list[str | int]:
    """Returns what sorts words by the numbers in them: "from step 4" before "from step 24"."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", words)]


def log_best(run: Run, children: list[MlflowRun], comparison: Comparison | None, *, tested: bool, whole: bool) -> None:
    """Logs on the parent which job is the best, its settings and its errors; does nothing where there are no jobs, and
    for studies, which have no best. Jobs on different data have none either; what was said of the first of them, before
    a stop, is taken back.

    tested: False where the test error is not to be looked at. whole: the sweep has finished. In an unfinished sweep
    another job may yet be better or on other data, and MLflow keeps what was logged, so settings and errors wait for
    the end.
    """
    if not children or comparison is None:
        return
    if len(by_data(children)) > 1:
        for tag in {"best.run", "best.name"} & set(run.client.get_run(run.id).data.tags):
            run.client.delete_tag(run.id, tag)
        return
    best, error = best_child(children, comparison)
    run.tags({"best.run": best.info.run_id, "best.name": str(best.info.run_name)})
    if not whole:
        return
    run.parameters({f"best.{k}": v for k, v in best.data.params.items() if not k.startswith("tracking.")})
    run.client.log_metric(run.id, f"best/{comparison.chosen_by}", error)
    if tested:
        run.client.log_metric(run.id, f"best/{comparison.column}", best.data.metrics[comparison.metric])


def best_to_keep(children: list[MlflowRun], comparison: Comparison) -> MlflowRun:
    """Returns the best job among those whose model can be kept; of all jobs where no model can."""
    return best_child([child for child in children if NOT_KEPT not in child.data.tags] or children, comparison)[0]


def keep_best(run: Run, children: list[MlflowRun], comparison: Comparison | None, name: str | None) -> None:
    """Keeps for the jobs on the same data the model of the best one among those whose model can be kept, and registers
    the model if there is a name.

    Raises NotRegistered where there is a name and the jobs make no model, their data differ or they were measured
    otherwise, or the best job has no model. Models are kept before.
    """
    if not children or comparison is None:
        if name is not None:
            raise NotRegistered(f"tracking.register={name}: these jobs make no model; leave it out")
        return
    apart = len({data[2:] for data in data_of([child.data.tags for child in children])}) > 1
    bests = [best_to_keep(group, comparison) for group in by_data(children)]
    uris = [log_best_model(run.client, best, comparison, None if apart else name) for best in bests]
    if name is None:
        return
    if apart:
        unlike = unlike_of(children, data="ran on different data")
        raise NotRegistered(
            f"tracking.register={name}: the jobs {unlike}, so none is the best; register from a sweep of alike jobs"
        )
    best, uri = bests[0], uris[0]
    if uri is None:
        raise NotRegistered(
            f"tracking.register={name}: the best job, {best.info.run_name}, has no model; its validation "
            f"{comparison.word} is not finite, or it was stopped before its model was kept"
        )
    run.tags({"best.registered": uri})
    print(f"registered: {uri}, the model of {best.info.run_name}")


def log_best_model(client: MlflowClient, best: MlflowRun, comparison: Comparison, name: str | None) -> str | None:
    """Logs the model of the best job, from its parameters, and registers it if there is a name; a model that has been
    logged already is registered alone.

    Returns the URI of the model. Returns None where no parameters of the job were kept, as where it was told to keep
    none, and where the model has been logged already and there is no name.
    """
    found = logged_model_of(client, best.info.run_id)
    if found is not None:
        return None if name is None else register(client, best.info.run_id, found, name, comparison)
    servable = system(best.data.tags["recipe"]).servable if BEST_SO_FAR in best.data.tags else None
    if servable is None:
        return None
    with scratch_folder() as folder:
        parameters = Path(client.download_artifacts(best.info.run_id, PARAMETERS, str(folder)))
        return log_model(Run(client, best.info.run_id), function(servable)(parameters), comparison, name=name)


def best_in_words(client: MlflowClient, children: list[MlflowRun], comparison: Comparison) -> str:
    """Says in a line for each data set which job is the best on the validation part. A second line says how the best
    model predicts, where the model is logged and its system says so. Where the jobs ran on unlike data of one name, a
    line says that none is the best, and these lines follow for each part of the data."""
    lines = []
    for _, of_one_name in groupby(by_data(children), key=lambda group: named_data(group[0].data.tags)):
        first, *others = of_one_name
        lines += (
            best_of_parts(client, [first, *others], comparison) if others else best_of_data(client, first, comparison)
        )
    return "\n".join(lines)


def given_to(job: MlflowRun) -> dict[str, str]:
    """Returns what the overrides of a job give, value by key."""
    return json.loads(job.data.tags.get(GIVEN, "{}"))


def best_of_parts(client: MlflowClient, groups: list[list[MlflowRun]], comparison: Comparison) -> list[str]:
    """Returns the line that says why no job is the best of several groups of one name, with the settings of the data,
    and those by which jobs are measured, in which the jobs differ; and for each group the lines of the job whose model
    is kept. They name the settings of the data that all jobs of the group have, and what their errors are of."""
    jobs = [child for group in groups for child in group]
    given, otherwise = [given_to(job) for job in jobs], measured_otherwise(jobs)
    settings = differing(given, ("data.", *(comparison.measured_by if otherwise else ())))
    differ = f" ({', '.join(settings)})" if settings else ""
    unlike = unlike_of(jobs, data="ran on unlike parts of it")
    lines = [f"no best on {jobs[0].data.tags['data']}: the jobs {unlike}{differ}, whose errors cannot be compared"]
    for group in groups:
        kept = best_to_keep(group, comparison)
        own = alike_in(group, [key for key in settings if key.startswith("data.")])
        part = " ".join([*own, *([measured_of(kept.data.tags)] if otherwise else [])])
        lines += best_of_data(client, [kept], comparison, part=part)
    return lines


def alike_in(jobs: list[MlflowRun], keys: list[str]) -> list[str]:
    """Returns "key=value" of those of the keys that all jobs were given the same value of."""
    values = {key: {given_to(job).get(key) for job in jobs} for key in keys}
    return [f"{key}={value}" for key, own in values.items() for value in own if len(own) == 1 and value is not None]


def measured_otherwise(children: list[MlflowRun]) -> bool:
    """Returns whether the errors of jobs on the same data are of unlike things."""
    return len({measured for *_, measured in data_of([child.data.tags for child in children])}) > 1


def unlike_of(children: list[MlflowRun], *, data: str) -> str:
    """Returns why the errors of jobs cannot be compared: the words for unlike `data`, or that they were measured
    otherwise on the same data."""
    checksums = {child.data.tags["data.checksum"] for child in children}
    return data if len(checksums) > 1 else "were measured otherwise"


def best_of_data(client: MlflowClient, group: list[MlflowRun], comparison: Comparison, part: str = "") -> list[str]:
    """Returns the lines that say which of the jobs on the same data is the best, and how its model predicts. part: the
    settings of these data, where there are others of their name."""
    best, error = best_child(group, comparison)
    where = f"{best.data.tags['data']} {part}".strip()
    said = f"best on {where}: {best.info.run_name}, validation {comparison.word} {error:.4g}"
    if comparison.predicted is None or logged_model_of(client, best.info.run_id) is None:
        return [said]
    return [said, function(comparison.predicted)(best)]
