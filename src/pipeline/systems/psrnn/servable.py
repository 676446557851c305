"""A trained forecaster as the rest of the pipeline keeps, logs and serves it; `served.py` is what travels with it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from mlflow.models import ModelSignature
from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema

from data.files.exact_numbers import EXACT
from models.forecasting.extensions import TRAVELS, top
from models.forecasting.forecaster import Forecaster, read_description, save_forecaster
from pipeline.tracking.servable import EXAMPLE, Servable, TrainedModel, pinned

SERVED = Path(__file__).with_name("served.py")
TIME, GROUP = "time.json", "group.json"  # beside the saved parameters: the name of the column of times, of groups
DATES, REFIT = "dates.json", "refit.json"  # whether the times are dates; what is said of a model that was refitted
SCORED = "scored.json"  # the longest horizon at which an error was measured
EXAMPLE_ROWS = 10
MOST_ROWS = 10_000  # horizon × sequences that a served model forecasts in one answer, unless it is told otherwise

Notes = Mapping[str, str | bool | int | None]


def signature(feature_names: Sequence[str]) -> ModelSignature:
    """Returns the signature: output columns, the forecast horizon and the coverage of intervals.

    There is no input schema: MLflow would turn an array into a frame without names and drop all of its columns. The
    model checks its input itself; its columns stand in the output schema, the input example and the metadata.
    """
    outputs = Schema(
        [*(ColSpec(DataType.double, name) for name in feature_names), ColSpec(DataType.string, "sequence")]
    )
    params = [ParamSpec("horizon", DataType.long, 0), ParamSpec("interval", DataType.double, 0.0)]
    return ModelSignature(outputs=outputs, params=ParamSchema(params))


def servable(parameters: Path) -> Servable:
    """Returns what MLflow makes a model of, given the folder of a saved forecaster with `EXAMPLE` in it. The source of
    a class of one's own is among the files."""
    description = read_description(parameters)
    names, home, time = description["feature_names"], top(description["class"]), noted_in(parameters, TIME)
    own, refit = None if home == TRAVELS else home, noted_in(parameters, REFIT)
    example = pd.read_csv(parameters / EXAMPLE, dtype={"sequence": str}, **EXACT)
    return Servable(
        code=SERVED,
        parameters=parameters,
        signature=signature(names),
        example=(example, {"horizon": 0}),
        requirements=pinned(description.get("requirements", ())),
        metadata={
            "columns": names,
            "history": description.get("history", 0),
            "time": time,
            "group": noted_in(parameters, GROUP),
            "scored": noted_in(parameters, SCORED),
            **({} if refit is None else {"refit": refit}),
        },
        model_config={
            "most_rows": MOST_ROWS,
            "refuses_diverged": True,
            "own_module": own,
            "time": time,
            "dates": noted_in(parameters, DATES),
        },
    )


def example_frame(values: np.ndarray, feature_names: Sequence[str]) -> pd.DataFrame:
    """Returns rows (time, feature) as the table that a forecaster takes, of one sequence."""
    return pd.DataFrame(values, columns=list(feature_names)).assign(sequence="a")


def save(forecaster: Forecaster, notes: Notes, folder: Path) -> None:
    """Writes the forecaster into an existing folder, and the notes that there are."""
    save_forecaster(forecaster, folder)
    for file, note in notes.items():
        if note is not None:
            (folder / file).write_text(json.dumps(note), encoding="utf-8")


def noted_in(folder: Path, name: str) -> Any:
    """Returns what `save` wrote under `TIME`, `GROUP`, `DATES`, `REFIT` or `SCORED`; None where there was nothing to
    write, or it was not noted yet."""
    file = folder / name
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def trained_model(
    forecaster: Forecaster, rows: np.ndarray, error: float, notes: Notes = MappingProxyType({})
) -> TrainedModel:
    """Returns a forecaster as it is kept. rows: (time, feature) in the data's own units, of which the first are its
    example; error: of the validation part. notes: the columns of times (by `TIME`) and of groups (`GROUP`) of its data,
    whether the times are dates (`DATES`), what is said of a model that was refitted (`REFIT`), and the longest horizon
    at which its error was measured (`SCORED`), if known."""
    example = example_frame(rows[:EXAMPLE_ROWS], forecaster.feature_names)
    return TrainedModel(partial(save, forecaster, notes), servable, example, error)
