"""The readout that a run asks for, and what is said of the lags that were chosen where it leaves them open."""

from __future__ import annotations

from typing import Any

from tqdm import tqdm

from models.baselines.no_state import Stateless
from models.forecasting.lags import LagsTried
from models.forecasting.readout_settings import ReadoutSettings
from pipeline.systems.psrnn.labels import label


def readout_settings(settings: Any) -> ReadoutSettings:
    """Returns the settings `readout` as models take them; without lags where they are still to be chosen."""
    choices = settings.choices if settings.lags is None else None
    return ReadoutSettings(settings.lags or 0, settings.ridges, settings.scale, settings.state_ridges, choices)


def say_lags(name: str, model: object, tried: LagsTried | None) -> None:
    """Says by which errors the lags of the model, which has this name in tables, were chosen; nothing where there was
    no choice."""
    if tried is None:
        return
    lags = tried.lags
    state = "" if isinstance(model, Stateless) else "the state"
    last = f"the last {lags} observation{'s' * (lags > 1)}" if lags else ""
    named = " and ".join(filter(None, [state, last])) if lags else f"{state or 'the mean'} alone"
    errors = ", ".join(f"{n}: {error:.3g}" for n, error in tried.errors.items())
    tqdm.write(
        f"readout ({label(name)}): {named}, chosen by the one-step validation error of each number of lags ({errors})"
    )
