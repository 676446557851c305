"""Forecasts that diverge: what is said where predictions that are fed back grow without end.

Among n numbers none lies more than √(n − 1) standard deviations from their mean (Samuelson, "How deviant can you be?",
1968). In up to a million rows of training no value is as far off as `FARTHEST`; a forecast that is has left the data.
"""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

FARTHEST = 1000.0  # standard deviations of the training part, from its mean


def first_diverged(forecasts: Tensor, last: Tensor | None = None) -> int | None:
    """Returns the first horizon, from 1 on, at which a standardised forecast is not finite or lies more than `FARTHEST`
    from 0; None where there is none. forecasts: (…, horizon, feature).

    last (…, feature): of standardised series, their last values, from which it has to lie as far, too, if given: a
    series with a trend may be far from the data fitted to, and its forecast with it.
    """
    diverged = ~(forecasts.abs() <= FARTHEST)
    if last is not None:
        diverged &= ~((forecasts - last.unsqueeze(-2)).abs() <= FARTHEST)
    steps = diverged.flatten(0, -3).any(0).any(-1) if diverged.ndim > 2 else diverged.any(-1)
    return int(torch.argmax(steps.int())) + 1 if bool(steps.any()) else None


def warn_if_diverged(forecasts: Tensor, *, stacklevel: int) -> None:
    """Warns, in one line, of standardised forecasts (…, horizon, feature) that diverge, see `first_diverged`."""
    step = first_diverged(forecasts)
    if step is not None:
        warnings.warn(
            f"the forecast diverges: {step} step{'s' * (step > 1)} ahead it lies more than {FARTHEST:g} standard "
            "deviations from the mean of the data fitted to, farther than any value among a million rows can; ask for "
            "fewer steps, or look whether the data have the units of those fitted to",
            stacklevel=stacklevel + 1,
        )
