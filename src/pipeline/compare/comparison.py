"""What a system says of its jobs so that they can be compared, and the best of them chosen and registered."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

LARGEST = 1e300


def stored_error(value: float) -> float:
    """Returns infinity for what the store keeps as the largest double (it has no infinity) and for NaN."""
    return value if abs(value) < LARGEST else math.inf


@dataclass(frozen=True)
class Comparison:
    """The headline metric of a system, its direction, and the columns of its jobs.

    metric: of the test part, as it is logged; tables have it under the last word of its name.
    chosen_by: the tag of a job with the same on the validation part, by which the best job and version are chosen.
    groups: config groups whose choices tell jobs apart; `arm` makes a name of them, where `compare.arm` names no key.
    columns: what else a table says of a finished run: any of `pipeline.compare.jobs.NEUTRAL`, and others.
    curves: "module:function" that gives the errors of jobs by epoch, given the store's client and the jobs.
    counted: the setting that compare.figure=count draws errors against. aside: sections that tell no jobs apart.
    shown: metrics that a version in the model registry shows.
    """

    metric: str
    chosen_by: str
    columns: Callable[[Any], dict[str, object]]
    higher_is_better: bool = False
    groups: tuple[str, ...] = ()
    arm: Callable[[Mapping[str, Any]], str] | None = None
    curves: str | None = None
    counted: str | None = None
    aside: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()

    @property
    def column(self) -> str:
        """The column of tables that holds the metric."""
        return self.metric.rpartition("/")[2]

    def rank(self, value: float) -> float:
        """Returns a number that is the smaller the better `value` is, infinity where it is not finite."""
        return math.inf if not math.isfinite(value) else -value if self.higher_is_better else value
