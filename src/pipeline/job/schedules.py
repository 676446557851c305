"""The learning rate along a training: pure functions of the step, so that a resumed run goes on in the right place."""

from __future__ import annotations

import math
from collections.abc import Callable

from pipeline.host.errors import PipelineError

FIRST, LAST = 1 / 25, 1 / 25e4  # shares of the largest rate that `one_cycle` begins and ends with


def rise(step: int, warmup: int) -> float:
    """Returns a share that rises from 1/warmup to 1 in `warmup` steps, and is 1 after them."""
    return (step + 1) / warmup if step < warmup else 1.0


def fallen(step: int, total: int, warmup: int) -> float:
    """Returns the share of the steps after the warm-up that are done, 0 … 1."""
    return min(max(step - warmup, 0) / max(total - warmup, 1), 1.0)


def between(start: float, end: float, share: float) -> float:
    """Returns a point of half a cosine that goes from start (share = 0) to end (share = 1)."""
    return end + (start - end) * 0.5 * (1 + math.cos(math.pi * share))


def constant(step: int, total: int, warmup: int) -> float:  # noqa: ARG001
    return rise(step, warmup)


def warmup_linear(step: int, total: int, warmup: int) -> float:
    """Rises straight, then falls straight to 0 at `total`."""
    return rise(step, warmup) * (1 - fallen(step, total, warmup))


def cosine(step: int, total: int, warmup: int) -> float:
    """Rises straight, then falls by half a cosine to 0 at `total` (Loshchilov and Hutter 2017, without restarts)."""
    return rise(step, warmup) * between(1.0, 0.0, fallen(step, total, warmup))


def one_cycle(step: int, total: int, warmup: int) -> float:
    """Rises by half a cosine from `FIRST`, which ends with the warm-up, and falls by another to `LAST` at the last step
    (Smith and Topin 2018)."""
    top = max(warmup - 1, 0)
    if step <= top:
        return between(FIRST, 1.0, step / top) if top else 1.0
    return between(1.0, LAST, min((step - top) / max(total - 1 - top, 1), 1.0))


def warmup_inverse_sqrt(step: int, total: int, warmup: int) -> float:  # noqa: ARG001
    """Rises straight, then falls as 1/√step from where the warm-up ended (Vaswani et al. 2017)."""
    return rise(step, warmup) * math.sqrt(max(warmup, 1) / max(step + 1, warmup, 1))


SCHEDULES: dict[str, Callable[[int, int, int], float]] = {
    "constant": constant,
    "warmup_linear": warmup_linear,
    "cosine": cosine,
    "one_cycle": one_cycle,
    "warmup_inverse_sqrt": warmup_inverse_sqrt,
}


def share_of_rate(name: str, step: int, *, total: int | None, warmup: float) -> float:
    """Returns the share of the largest learning rate that the step (0, 1, …) takes.

    total: of steps; warmup: the share of them in which the rate rises. Raises PipelineError for an unknown name, and
    where the number of steps is needed and not known.
    """
    if name not in SCHEDULES:
        raise PipelineError(f"the schedule {name!r} is unknown; choose one of {', '.join(SCHEDULES)}")
    if total is None:
        if name != "constant" or warmup > 0:
            raise PipelineError(f"schedule={name} with warmup={warmup:g} needs the number of steps; give `steps`")
        return 1.0
    return SCHEDULES[name](step, total, round(warmup * total))
