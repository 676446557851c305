"""Settings of `recipe=predict` that mean something to some models alone."""

from __future__ import annotations

from collections.abc import Collection

from data.files.table_files import DECIMALS
from pipeline.host.errors import PipelineError
from pipeline.systems.predict.config import PredictConfig


def refuse_others(settings: PredictConfig, takes: Collection[str], does: str) -> None:
    """Raises PipelineError, naming the first, for a setting of other models that was given. takes: those that this
    model takes. does: what it does, as it is said to a person."""
    data = settings.data
    point = DECIMALS.get(data.decimal, data.decimal) == DECIMALS["point"]
    given = {
        "horizon": settings.horizon, "interval": settings.interval, "data.group": data.group, "data.time": data.time,
        "data.delimiter": data.delimiter, "data.decimal": None if point else data.decimal,
        "beam": settings.beam, "least_score": settings.least_score, "vocabulary": settings.vocabulary,
    }  # fmt: skip
    for name, value in given.items():
        if value and name not in takes:
            raise PipelineError(f"{name}={str(value).lower()}: this model {does}; leave it out")
