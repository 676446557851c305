"""What a system says of its jobs so that they can be compared, and the best of them chosen and registered."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.host.errors import PipelineError

HOURS = 24  # rows of the test part that are one place, a day, where nothing says how many there are

LARGEST = 1e300
EVALUATE = "evaluate/"  # what the metrics of an evaluation begin with
RESUMED = "resumed"  # a tag: "true" of a run that was stopped and gone on with
STABLE = "stable_horizon_"  # what columns of jobs begin with that say whether their forecasts so far ahead are of use


def stored_error(value: float) -> float:
    """Returns infinity for what the store keeps as the largest double (it has no infinity) and for NaN."""
    return value if abs(value) < LARGEST else math.inf


def other_scores(run: Any, error: str) -> dict[str, object]:
    """Returns every number of a run's evaluation but that error, the metric that it is compared by, by its name
    without `EVALUATE`; the seconds of the evaluation are no score."""
    metrics = run.data.metrics
    scores = {name: stored_error(metrics[name]) for name in metrics if name.startswith(EVALUATE) and name != error}
    scores.pop(f"{EVALUATE}seconds", None)
    return {name.removeprefix(EVALUATE): value for name, value in scores.items()}


def training_seconds(run: Any, stages: Collection[str]) -> float:
    """Returns the seconds of the stages of a run that train, together. They are NaN for a run that was stopped and gone
    on with, whose clock counted its last process alone."""
    if run.data.tags.get(RESUMED) == "true":
        return math.nan
    return sum(run.data.metrics.get(f"{stage}/seconds", 0.0) for stage in stages)


@dataclass(frozen=True)
class Agreement:
    """Names a column of whole numbers in which jobs on the same data have to agree, else their errors do not compare.

    broken: what is said where they do not. value: what stands before the numbers. advice: what to do.
    """

    column: str
    broken: str
    value: str
    advice: str


@dataclass(frozen=True)
class Comparison:
    """Holds the headline metric of a system, its direction, and the columns of its jobs.

    metric: of the test part, as it is logged; tables have it under the last word of its name.
    chosen_by: the tag of a job with the same on the validation part, by which the best job and version are chosen.
    label: what the metric is, with its unit, at the axes of figures.
    groups: config groups whose choices tell jobs apart; `arm` makes a name of them, where `compare.arm` names no key.
    columns: what else a table says of a finished run: any of `pipeline.compare.jobs.NEUTRAL`, and columns of its own.
    words: of its own columns those of words, beside the arm. apart: those of them that jobs are never pooled over.
    noted: its own column of truth values that tables by contender show, and name the arm by where most jobs have it.
    sizes: its own columns of whole numbers that say how large a model is.
    agreement: its own column in which jobs have to agree.
    measured_by: what settings begin with by which jobs on the same data are measured otherwise, so that their errors
    cannot be compared (`pipeline.compare.arms.MEASURED`).
    named: what an arm is called in tables and figures.
    curves: "module:function" that gives the errors of jobs by epoch, given the store's client and the jobs.
    report: "module:function" that gives the `compare.summary.Summary` of jobs, given the store's client, their table
    and a title; without it, and for compare.figure=trials, it is the general one.
    trained_by: what the epochs of the curves are epochs of.
    counted: the setting that compare.figure=count draws errors against. counted_as: what it counts, a plural.
    aside: sections that tell no jobs apart.
    without: the model that has no state, beside which the others are seen to have one.
    horizon: what the columns of jobs begin with that hold the metric at further horizons, followed by the horizon.
    effort: the setting that says how long a model is trained, which compare.figure=seconds draws errors against.
    window: the setting that says how long the windows of compare.figure=windows are; along: "module:function" that
    gives their errors along the test part, given the store's client and the jobs.
    predicted: "module:function" that gives the command which predicts with the model of a job, given the job.
    shown: metrics that a version in the model registry shows.
    """

    metric: str
    chosen_by: str
    columns: Callable[[Any], dict[str, object]]
    label: str
    higher_is_better: bool = False
    words: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    noted: str | None = None
    agreement: Agreement | None = None
    measured_by: tuple[str, ...] = ()
    named: Callable[[str], str] = str
    groups: tuple[str, ...] = ()
    arm: Callable[[Mapping[str, Any]], str] | None = None
    curves: str | None = None
    report: str | None = None
    trained_by: str = "training"
    counted: str | None = None
    counted_as: str | None = None
    aside: tuple[str, ...] = ()
    without: str | None = None
    horizon: str = ""
    effort: str | None = None
    window: str | None = None
    along: str | None = None
    predicted: str | None = None
    shown: tuple[str, ...] = ()

    @property
    def column(self) -> str:
        """The column of tables that holds the metric."""
        return self.metric.rpartition("/")[2]

    @property
    def word(self) -> str:
        """The name of the metric in sentences: an error, or its label without unit where higher is better."""
        return self.label.partition(" (")[0] if self.higher_is_better else "error"

    @property
    def keys(self) -> list[str]:
        """The columns that tell jobs apart; jobs that agree in all of them are pooled."""
        return ["data", "arm", *self.apart, "count", "seed"]

    @property
    def at_end(self) -> tuple[str, ...]:
        """The column of the system's own that stands last in tables, if there is one."""
        return () if self.agreement is None else (self.agreement.column,)

    def rank(self, value: float) -> float:
        """Returns a number that is the smaller the better `value` is, infinity where it is not finite."""
        return math.inf if not math.isfinite(value) else -value if self.higher_is_better else value


def check_ratios(compare: Any, comparison: Comparison) -> None:
    """Raises PipelineError where `compare` asks for ratios of a metric of which higher values are better: a ratio below
    one would count as better. It raises PipelineError too for the front of errors and seconds, which is of errors
    alone."""
    if not comparison.higher_is_better:
        return
    sides = [
        f"compare.{side}={getattr(compare, side)}"
        for side in ("baseline", "challenger")
        if getattr(compare, side) is not None
    ]
    asked = [*sides, *([f"compare.figure={compare.figure}"] if compare.figure in ("contenders", "seconds") else [])]
    if asked:
        raise PipelineError(
            f"{', '.join(asked)}: pairs are compared by the ratio of their errors, and {comparison.metric} is none, as "
            f"higher is better; leave {'it' if len(asked) == 1 else 'them'} out"
        )
