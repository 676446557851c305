"""The parent of a multirun: made before the first job, closed with what the jobs found; see `callback`."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

from mlflow.entities import Run as MlflowRun
from mlflow.tracking import MlflowClient
from omegaconf import DictConfig, OmegaConf

from pipeline.compare.comparison import Comparison
from pipeline.compare.jobs import compared_jobs, is_compared, job_table, metric_table
from pipeline.compare.summary import aligned, summarise
from pipeline.compare.words import Summary
from pipeline.host.errors import FinishedBefore, PipelineError
from pipeline.host.locks import file_lock
from pipeline.host.process import command_line
from pipeline.multirun.best import NotRegistered, best_child, best_in_words, by_data, keep_best, log_best
from pipeline.multirun.checks import planned
from pipeline.multirun.last_lines import counts_in_words, failed_among, had_limits, lowered_in, stopped_before_end
from pipeline.multirun.sweep_mark import sweep_mark
from pipeline.multirun.trials import trial_table
from pipeline.settings.own_table import name_of_table
from pipeline.systems.registry import function, system
from pipeline.tracking.origin import origin_tags
from pipeline.tracking.run import Run, create_run, where_to_look
from pipeline.tracking.session import (
    LOCK,
    PARENT,
    PRUNED,
    begins_anew,
    checkpoints_of,
    close_after_error,
    held,
    nothing_left,
    reopen,
)
from pipeline.tracking.store import experiment_id, newest_run, open_store, runs_newest_first


def experiment_name(config: DictConfig) -> str:
    """Returns the name of the experiment that the jobs are kept under: for jobs on one table of a person's own the name
    of its file, for studies the name of their recipe, where nothing else is named. Of several data sets it has all
    names, as "mocap-swimmer"."""
    choices = config.hydra.runtime.choices
    if system(config.recipe).comparison is None:
        return str(config.tracking.experiment or choices.get("experiment") or config.recipe)
    swept = "-".join(planned(config).get("data", ()))
    data = name_of_table(OmegaConf.select(config, "data")) or swept or choices.get("data")
    return str(config.tracking.experiment or choices.get("experiment") or data or config.recipe)


def newest_parent(client: MlflowClient, where: str, mark: str, status: str) -> MlflowRun | None:
    """Returns the newest parent of the sweep with that mark, None where there is none; `status` is "=" or "!="
    FINISHED."""
    return newest_run(client, where, f"tags.sweep = '{mark}' and attributes.status {status} 'FINISHED'")


def refuse_to_resume(client: MlflowClient, where: str, mark: str) -> None:
    """Raises FinishedBefore where the sweep has finished, PipelineError where it has never begun."""
    finished = newest_parent(client, where, mark, "=")
    if finished is not None:
        raise FinishedBefore(nothing_left("multirun", finished))
    raise PipelineError(
        "resume=true: no unfinished multirun has this command line and these settings; start without resume, or with "
        "resume=auto"
    )


def hold(lock: ExitStack, run_id: str) -> None:
    """Keeps other processes away from a parent until the lock is closed. Raises PipelineError when one of them has
    it."""
    folder = lock.enter_context(held("multirun", run_id))
    lock.callback(shutil.rmtree, folder)


def still_unfinished(client: MlflowClient, former: MlflowRun, lock: ExitStack) -> bool:
    """Holds a parent, and says whether it has not finished by then; one that has is let go. Raises PipelineError as
    `hold`."""
    hold(lock, former.info.run_id)
    if client.get_run(former.info.run_id).info.status != "FINISHED":
        return True
    lock.close()
    return False


def parent_run(config: DictConfig, lock: ExitStack) -> Run:
    """Returns a new parent. With resume=true or auto it returns the newest parent of the same command line that did not
    finish, if there is one. No other process can go on with it until the lock is closed.

    With resume=true and no such parent it raises FinishedBefore where the sweep has finished, and else PipelineError;
    PipelineError also where that parent still goes on in another process.
    """
    client = open_store(config.tracking.uri, wait=config.tracking.wait)
    where = experiment_id(client, experiment_name(config))
    mark = sweep_mark(config)
    former = newest_parent(client, where, mark, "!=") if config.resume else None
    if former is not None and still_unfinished(client, former, lock):
        run = Run(client, former.info.run_id)
        reopen(client, run)
        return run
    if config.resume is True:
        refuse_to_resume(client, where, mark)
    if config.resume:
        print(begins_anew("multirun", newest_parent(client, where, mark, "=")), flush=True)
    name = f"multirun-{experiment_name(config)}" if config.run_name is None else str(config.run_name)
    tags = {"multirun": "parent", "sweep": mark, "hydra.overrides": " ".join(config.hydra.overrides.task)}
    tags["command"] = command_line()
    run = create_run(client, where, name, {**origin_tags(), **tags})
    hold(lock, run.id)
    return run


def close_jobs(run: Run) -> None:
    """Closes as KILLED those jobs of a parent whose processes were ended before they could close their runs.

    A job that goes on holds the lock of its folder and is left alone. So is a job of another machine, which has no
    folder here.
    """
    running = f"tags.`{PARENT}` = '{run.id}' and attributes.status = 'RUNNING'"
    for child in list(runs_newest_first(run.client, [run.experiment_id], running)):  # all pages before any is closed
        with (
            suppress(BlockingIOError, FileNotFoundError),
            file_lock(checkpoints_of(child.info.run_id) / LOCK, wait=False),
        ):
            run.client.set_terminated(child.info.run_id, "KILLED")


def finish(run: Run, compare: Any, register: str | None, status: str, *, jobs_here: bool = False) -> None:
    """Closes a parent with the tables and figures of the jobs that finished, and with the numbers of jobs.

    The parent is closed as FAILED where a summary cannot be made, and as KILLED where that was stopped. jobs_here: the
    jobs are processes of this machine, and those that were ended are closed, too.
    """
    try:
        if jobs_here:
            close_jobs(run)
        children = children_of(run.client, run)
        finished = [child for child in children if child.info.status == "FINISHED"]
        pruned = [child for child in children if PRUNED in child.data.tags]
        failed = str(len(failed_among(children)))
        run.tags({"jobs": str(len(children)), "jobs.failed": failed, "jobs.pruned": str(len(pruned))})
        run.tags({"jobs.stopped": str(len(stopped_before_end(children)))})
        done = not finished or summarised(run, finished, compare, register, status)
        if done and finished and compare.figure == "trials":
            log_trials(run, [*finished, *pruned, *(child for child in children if child.info.status == "FAILED")])
        print(ending(run, children, status) if children else "no job began")
    except BaseException as end:
        close_after_error(run, end)
        raise
    run.finish(status if done else "FAILED")


def children_of(client: MlflowClient, run: Run) -> list[MlflowRun]:
    """Returns the jobs of a multirun, of each number the newest: one that finished is run again where its data changed
    before the multirun went on."""
    newest: dict[str, MlflowRun] = {}
    for child in runs_newest_first(client, [run.experiment_id], f"tags.`{PARENT}` = '{run.id}'"):
        newest.setdefault(child.data.tags.get("job", child.info.run_id), child)
    return list(newest.values())


def summarised(run: Run, children: list[MlflowRun], compare: Any, name: str | None, status: str) -> bool:
    """Logs tables and figures of the jobs, which job is the best, and its model. Each is tried whatever becomes of the
    others.

    Returns False, with a warning and a tag, where one of them cannot be made; the jobs themselves are kept.
    """
    comparison = comparison_of(children)
    compared = [child for child in children if is_compared(child, comparison)]
    tested, whole = compare.figure != "trials", status == "FINISHED"
    steps: dict[str, Callable[[], None]] = {
        "their summary could not be made": lambda: log_summary(run, children, compare, comparison),
        "the best of them could not be told": lambda: log_best(run, compared, comparison, tested=tested, whole=whole),
        "the model of the best could not be kept or registered": lambda: keep_best(run, compared, comparison, name),
    }
    errors = {words: error_of(step) for words, step in steps.items()}
    failures = [failure_in_words(words, error) for words, error in errors.items() if error is not None]
    if failures:
        warnings.warn(f"the jobs ran, but {'; and '.join(failures)}", stacklevel=2)
        run.tags({"summary.error": "; ".join(failures)[:5000]})
    return not failures


def failure_in_words(words: str, error: Exception) -> str:
    """Returns what failed, `words`, and why. Where it is that nothing is registered, models were kept."""
    return f"{'nothing is registered' if isinstance(error, NotRegistered) else words}: {error}"


def error_of(step: Callable[[], None]) -> Exception | None:
    """Returns the exception that `step` raises, None where it raises none."""
    try:
        step()
    except Exception as error:
        return error
    return None


def comparison_of(children: list[MlflowRun]) -> Comparison | None:
    """Returns how the jobs are compared; None for studies alone, and for jobs of systems that are compared
    differently."""
    found = {system(child.data.tags["recipe"]).comparison for child in children} - {None}
    return found.pop() if len(found) == 1 else None


def curves_by(comparison: Comparison | None, client: MlflowClient, figure: str) -> Callable[[Any], Any]:
    """Returns a function that gives the errors of jobs by epoch; for figure "windows" it gives those along the test
    part. The function raises PipelineError when it is called and the jobs log no curves."""
    logged = comparison and (comparison.along if figure == "windows" else comparison.curves)

    def curves(jobs: Any) -> Any:
        if not logged:
            raise PipelineError(f"compare.figure={figure}: these jobs log no curves; leave it out")
        return function(logged)(client, jobs)

    return curves


def name_of_parent(run: Run, *, stand_in: bool) -> str:
    """Returns the name of the parent. Where data stand in for real ones, the parent is renamed so that its name says
    so."""
    name = str(run.client.get_run(run.id).info.run_name)
    if stand_in and not name.startswith("STAND-IN"):
        name = f"STAND-IN-{name} (data not real)"
        run.client.update_run(run.id, name=name)
    return name


def own_summary(client: MlflowClient, jobs: Any, compare: Any, comparison: Comparison | None, title: str) -> Summary:
    """Returns the summary that a system gives of its jobs. Where the system has none, and for trials, the general
    summary is returned."""
    compared = compared_jobs(jobs, comparison)
    if comparison is None or comparison.report is None or compare.figure == "trials" or compared.empty:
        return summarise(jobs, compare, curves_by(comparison, client, compare.figure), comparison)
    summary = function(comparison.report)(client, compared, title)
    return summary._replace(tables={"jobs.csv": jobs, **summary.tables})


def log_summary(run: Run, children: list[MlflowRun], compare: Any, comparison: Comparison | None) -> None:
    """Logs tables, figures and words over the jobs on the parent, and prints the words."""
    jobs: Any = job_table(children, compare, comparison)
    name = name_of_parent(run, stand_in=bool(jobs["stand_in"].any()))
    summary = own_summary(run.client, jobs, compare, comparison, name)
    studies = [child for child in children if not is_compared(child, comparison)]
    tables = summary.tables | ({"metrics.csv": metric_table(studies)} if studies else {})
    for path, table in tables.items():
        run.table(table, path)
    for path, figure in summary.figures.items():
        run.figure(figure, path)
    for path, text in summary.texts.items():
        run.text(text, path)
    words = ""
    if comparison is not None and not studies and len(by_data(children)) == 1:
        words = f"\n\nBest by validation {comparison.word}: {best_child(children, comparison)[0].info.run_name}"
    run.describe(f"{name}\n\n{summary.text}{words}\n")
    print(f"\n{name}\n\n{aligned(summary.text)}\n")


def log_trials(run: Run, children: list[MlflowRun]) -> None:
    """Logs the table of all trials that ended, pruned and failed ones among them, as trials.csv."""
    finished = [child for child in children if child.info.status == "FINISHED"]
    comparison = comparison_of(finished)
    if comparison is not None:
        others = {child.info.run_id for child in finished if not is_compared(child, comparison)}
        run.table(trial_table([c for c in children if c.info.run_id not in others], comparison), "trials.csv")


def ending(run: Run, children: list[MlflowRun], status: str) -> str:
    """Returns the last lines of a multirun that ends with this status: its jobs, the best of them, its name and where
    to look."""
    own = run.client.get_run(run.id)
    finished = [child for child in children if child.info.status == "FINISHED"]
    comparison = comparison_of(finished)
    compared = [child for child in finished if is_compared(child, comparison)]
    words = counts_in_words(children, int(own.data.tags.get("jobs.planned", 0)), status)
    best = [best_in_words(run.client, compared, comparison)] if compared and comparison is not None else []
    limited, lowered = had_limits(children), lowered_in([own, *children])
    look = where_to_look(run, str(own.info.run_name), limited=limited, lowered=lowered)
    return "\n".join([words, *best, look])
