"""The state of a run's own model joined with recent observations, for the table of errors beside the state alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from models.forecasting.filtering import SequenceModel
from models.forecasting.lags import MOST_INPUTS, reachable_lags, takes_lags, with_lags
from models.forecasting.readout_settings import ReadoutSettings
from pipeline.systems.psrnn.load import Parts

JOINED = "joined"  # followed by the number of observations, as the order follows "ar"
LAGS = 4


def joined_models(model: Any, parts: Parts, ridges: Sequence[float]) -> dict[str, SequenceModel]:
    """Returns the model with a readout of its state and the last `LAGS` observations, solved by ridge regression, by
    its name in tables.

    The belief is that of `model`, refined or not. The ridges of state and observations are chosen on the validation
    part. The result is empty where the model's own readout sees observations, where it has none, and where the parts
    are too short or the observations too large for it.
    """
    if not takes_lags(model) or model.lags:
        return {}
    if not all(reachable_lags([LAGS], part, inputs=MOST_INPUTS) for part in (parts.train, parts.validation)):
        return {}
    beside = with_lags(model, LAGS)
    parts.readout_fit(ReadoutSettings(LAGS, ridges, "none", ridges))(beside)
    return {f"{JOINED}{LAGS}": beside}
