"""The number of lags of a readout, chosen on the validation part where the settings leave it open (`readout=auto`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from torch import nn
from tqdm import tqdm

from models.baselines.seasonal_naive import find_season
from models.forecasting.filtering import Filtered
from models.forecasting.lags import LagsTried, choose_lags, reachable_lags, takes_lags, with_lags
from models.forecasting.readout import ReadoutFit, ReadoutSettings
from models.forecasting.recurrent import Recurrent
from pipeline.systems.psrnn.load import Loaded

LAGS = "readout.lags"
MOST_INPUTS = 1000  # numbers of recent observations, so that a choice stays a matter of seconds


class Settled(NamedTuple):
    """The model with the lags that were chosen, what was chosen, and the parts as it filters them, where known."""

    model: Any
    chosen: dict[str, Any]
    known: Mapping[str, Filtered | None]


def readout_settings(settings: Any) -> ReadoutSettings:
    """Without lags where they are still to be chosen."""
    return ReadoutSettings(settings.lags or 0, settings.ridges, settings.scale, settings.state_ridges)


def candidates_of(loaded: Loaded, settings: Any) -> list[int]:
    """Those of the settings and the season of the training part, as far as the parts are long enough; else 0."""
    season = find_season(loaded.train)
    wanted = {*settings.choices, *([season[0]] if season else [])}
    parts = loaded.train, loaded.validation
    found = [lags for lags in sorted(wanted) if all(reachable_lags([lags], p, inputs=MOST_INPUTS) for p in parts)]
    return found or [0]


def in_words(tried: LagsTried, model: Recurrent) -> str:
    lags, kind = tried.lags, type(model).__name__
    named = "the state alone" if not lags else f"the state and the last {lags} observation{'s' * (lags > 1)}"
    errors = ", ".join(f"{n}: {error:.3g}" for n, error in tried.errors.items())
    return f"readout of {kind}: {named}, chosen by the one-step validation error of each number of lags ({errors})"


def settle_lags(
    model: nn.Module, chosen: dict[str, Any], loaded: Loaded, settings: Any,
    known: Mapping[str, Filtered | None] | None = None,
) -> Settled:  # fmt: skip
    """The model as it is where `settings.lags` says how many, or it has no such readout; else with the best of them.

    model: its readout is solved, without lags where they are to be chosen. chosen: beside it. known: see `judge`.
    """
    if settings.lags is not None or not takes_lags(model):
        return Settled(model, chosen, known or {})
    tried = choose_lags(
        model, loaded.train, loaded.validation, readout_settings(settings), candidates_of(loaded, settings)
    )
    tqdm.write(in_words(tried, model))
    chosen = {**chosen, LAGS: tried.lags}
    if not tried.lags:
        return Settled(model, chosen, known or {})
    model = with_lags(model, tried.lags)
    solve = ReadoutFit(
        loaded.train, loaded.validation, readout_settings(settings)._replace(lags=tried.lags), loaded.lagged
    )
    fitted = solve(model)
    return Settled(model, chosen | fitted.chosen, {"train": fitted.train, "validation": fitted.validation})
