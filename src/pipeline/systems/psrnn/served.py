"""The model as MLflow loads and serves it (models from code): this file travels with the logged model."""

from __future__ import annotations

import reprlib
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from mlflow.exceptions import MlflowException
from mlflow.models import set_model
from mlflow.protos.databricks_pb2 import BAD_REQUEST
from mlflow.pyfunc.model import PythonModel

from models.forecasting.divergence import FARTHEST, first_diverged
from models.forecasting.forecaster import Forecaster, load_forecaster
from models.forecasting.frame import are_missing
from models.forecasting.held_out import filled_forward
from models.forecasting.intervals import NotCalibrated, TooFewForecasts
from models.forecasting.request import LONGEST_VALUE, SERIES, decoded
from models.forecasting.times_ahead import read_times, times_ahead
from models.runtime.request_values import numbers_in_column
from models.runtime.scoring_server import bad_request, check_before_mlflow

SEQUENCE = "sequence"

BadRequest = bad_request(MlflowException, BAD_REQUEST)


def frames_of_array(data: Any, names: tuple[str, ...]) -> pd.DataFrame:
    """Returns (time, feature) or (sequence, time, feature) as a frame; the sequences are called "0", "1", …"""
    try:
        array = np.asarray(data)
    except ValueError as error:
        raise BadRequest("the rows have different lengths") from error
    array = array[None] if array.ndim == 2 else array
    if array.ndim != 3 or array.shape[2] != len(names):
        raise BadRequest(f"expected an array (time, {len(names)}) or (sequence, time, {len(names)}), got {array.shape}")
    try:
        frame = pd.DataFrame(array.reshape(-1, len(names)), columns=list(names))
    except OverflowError as error:  # of pandas before 3.1
        raise BadRequest("the rows have a number that is too large") from error
    return frame.assign(**{SEQUENCE: np.repeat([str(i) for i in range(len(array))], array.shape[1])})


def as_frame(data: Any, names: tuple[str, ...]) -> pd.DataFrame:
    """Returns a frame with the model's columns and `sequence`, from a frame or an array ([sequence,] time, feature)."""
    if (
        isinstance(data, pd.DataFrame)
        and not any(name in data.columns for name in names)
        and len(data.columns) == len(names)
    ):
        data = data.to_numpy()
    if not isinstance(data, pd.DataFrame):
        return frames_of_array(data, names)
    absent = [name for name in names if name not in data.columns]
    if absent:
        raise BadRequest(f"{are_missing(absent)}; the model needs {', '.join(names)}")
    if not data.columns.is_unique:
        raise BadRequest(f"column {data.columns[data.columns.duplicated()][0]} is there twice")
    return data if SEQUENCE in data.columns else data.assign(**{SEQUENCE: ""})


def numbers_of(columns: list[pd.Series]) -> np.ndarray:
    """Returns the columns as doubles (row, column), NaN for a gap. Text is refused, that of a number too."""
    try:
        return np.column_stack([numbers_in_column(column, SERIES.advice) for column in columns])
    except ValueError as error:
        raise BadRequest(str(error)) from error


def numbered(labels: pd.Series) -> tuple[np.ndarray, Any]:
    """Returns each row's sequence as a number from 0, by first appearance, and the label of each number."""
    try:
        return pd.factorize(labels, use_na_sentinel=False)
    except TypeError as error:  # a list or an object in JSON
        raise BadRequest(f"column {SEQUENCE} must hold texts or numbers") from error


def checked_horizon(params: dict[str, Any] | None) -> int:
    horizon = (params or {}).get("horizon", 0)
    if isinstance(horizon, bool) or not isinstance(horizon, (int, np.integer)) or horizon < 0:
        shown = reprlib.repr(horizon)[:LONGEST_VALUE]
        raise BadRequest(f"horizon must be 0 (one-step predictions) or a greater whole number, got {shown}")
    return int(horizon)


def checked_interval(params: dict[str, Any] | None) -> float:
    """Returns the coverage asked for; 0 for no intervals."""
    interval = (params or {}).get("interval", 0.0)
    number = isinstance(interval, (int, float, np.number)) and not isinstance(interval, bool)
    if not number or not 0 <= interval < 1:
        shown = reprlib.repr(interval)[:LONGEST_VALUE]
        raise BadRequest(f"interval must be 0 (none) or a coverage below 1 such as 0.9, got {shown}")
    return float(interval)


def with_bounds(found: pd.DataFrame, radii: np.ndarray) -> pd.DataFrame:
    """Returns the predictions with NAME_lower and NAME_upper for every feature; radii: (row, feature)."""
    bounds = {
        f"{name}_{end}": found[name] + sign * radii[:, j]
        for j, name in enumerate(found.columns)
        for end, sign in (("lower", -1), ("upper", 1))
    }
    return pd.concat([found, pd.DataFrame(bounds, index=found.index)], axis=1)


def refuse_too_many(horizon: int, sequences: int, most: int | None) -> None:
    """Raises BadRequest where horizon × sequences is more than `most` rows; None sets no bound."""
    if most is not None and horizon * sequences > most:
        shown = reprlib.repr(horizon)[:LONGEST_VALUE]
        raise BadRequest(
            f"horizon {shown} × {sequences} sequence{'s'[: sequences - 1]} is more than {most} rows, which are "
            "forecast at most; ask for less at a time, or raise the setting most_rows"
        )


def last_values(values: np.ndarray) -> np.ndarray:
    """Returns the last observation of each column of values (time, feature), (feature,); NaN where there is none."""
    return filled_forward(values)[-1]


def diverging(
    forecasts: list[np.ndarray], sequences: list[np.ndarray], forecaster: Forecaster, labels: Any
) -> list[str]:
    """Returns a line, which begins with its name, for each sequence whose forecast leaves the data: it lies more than
    `FARTHEST` standard deviations of the training data both from their mean and from the sequence's last values.

    forecasts (horizon, feature) and sequences (time, feature): one of each label, in the data's own units.
    """
    mean, scale = forecaster.mean.cpu(), forecaster.scale.cpu()
    lines = []
    for label, values, rows in zip(labels, forecasts, sequences, strict=True):
        last = ((torch.from_numpy(last_values(rows)) - mean) / scale).nan_to_num(nan=0.0)
        step = first_diverged((torch.from_numpy(values) - mean) / scale, last)
        if step is not None:
            of_which = f" of {SEQUENCE} {reprlib.repr(label)[:LONGEST_VALUE]}" if str(label) else ""
            lines.append(
                f"the forecast{of_which} diverges: {step} step{'s'[: step - 1]} ahead it lies more than {FARTHEST:g} "
                "standard deviations from the mean of the training data, and from the last row; ask for fewer steps, "
                "leave the sequence out, or look at its units"
            )
    return lines


def checked_bound(most: Any) -> int | None:
    """Returns the setting `most_rows` of the logged model, or of whoever loads it. Raises ValueError for one that
    is none."""
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
        raise ValueError(f"most_rows must be a whole number from 1 on, or null for no bound, got {most!r}")
    return most


class ServedForecaster(PythonModel):
    """Takes rows in time order, in the data's own units; rows of the same sequence share the column `sequence`.

    horizon 0: the one-step prediction of every row, in the same order.
    horizon h ≥ 1: h rows a sequence, the steps after its last row. interval c > 0: beside each feature the bounds that
    hold the truth with about that probability, NAME_lower and NAME_upper. More than `most_rows` rows in one answer, a
    setting that is logged with the model (`model_config`) and that whoever loads it may change, are refused. So are
    forecasts that diverge, see `diverging`; with the setting `refuses_diverged` false or null they are warned of.

    Where the rows have the column of times that the training data had, or have these times as their index, the answer
    has the column too, gone on with from the last row of each sequence.
    """

    # the schema comes from the signature, not from type hints of `predict`; without this MLflow warns at every load
    _skip_type_hint_validation = True
    decoded = staticmethod(decoded)  # how the strict server reads a body for it

    def load_context(self, context: Any) -> None:
        settings = context.model_config or {}
        self.most_rows = checked_bound(settings.get("most_rows"))
        self.refuses_diverged = bool(settings.get("refuses_diverged", True))
        self.time: str | None = settings.get("time")  # name of the column of times; None: the training data had none
        self.dates: bool | None = settings.get("dates")  # whether these times were dates; None: not known
        own = settings.get("own_module")  # whose source travelled with the model
        parameters = Path(context.artifacts["parameters"])
        self.forecaster = load_forecaster(parameters, extensions=[own] if own else [])
        check_before_mlflow(decoded, BadRequest)

    def predict(self, context, model_input, params=None):  # noqa: ARG002  # pyright: ignore[reportIncompatibleMethodOverride]
        """Answers a request. Raises BadRequest, a ValueError, for input that is no table of numbers with the
        model's columns, and for forecasts that diverge."""
        horizon, interval = checked_horizon(params), checked_interval(params)
        names = self.forecaster.feature_names
        frame = as_frame(model_input, names)
        if frame.empty:
            raise BadRequest("there are no rows")
        *columns, label = (frame.loc[:, name] for name in (*names, SEQUENCE))
        values = numbers_of(columns)
        codes, labels = numbered(label)
        refuse_too_many(horizon, len(labels), self.most_rows)
        order = np.argsort(codes, kind="stable")
        sequences = np.split(values[order], np.cumsum(np.bincount(codes))[:-1])
        answers = self.answers(sequences, horizon)
        found = np.concatenate(answers)
        if horizon:
            self.say_diverged(diverging(answers, sequences, self.forecaster, labels))
            answer = self.bounded(pd.DataFrame(found, columns=list(names)), horizon, interval)
            later = self.times(frame, order, codes, horizon)
            return answer.assign(**later, **{SEQUENCE: np.repeat(labels, horizon)})
        in_place = np.empty_like(found)
        in_place[order] = found
        answer = pd.DataFrame(in_place, columns=list(names), index=frame.index)
        return self.bounded(answer, 1, interval).assign(**self.given_times(frame), **{SEQUENCE: label})

    def say_diverged(self, lines: list[str]) -> None:
        """Raises BadRequest with the first of the lines of `diverging`, or warns of each."""
        if lines and self.refuses_diverged:
            raise BadRequest(lines[0])
        for line in lines:
            warnings.warn(line, stacklevel=3)

    def given_times(self, frame: pd.DataFrame) -> dict[str, pd.Series]:
        """Returns the times of the rows by the name of their column: the column, or the frame's index where it has
        that name or, without a name, dates. Returns nothing where the rows have no times that are not predicted."""
        name, index = self.time, frame.index
        if name is None or name in (*self.forecaster.feature_names, SEQUENCE):
            return {}
        if name in frame.columns:
            return {name: frame.loc[:, name]}
        named = index.name == name or (index.name is None and isinstance(index, pd.DatetimeIndex))
        return {name: pd.Series(index, index=index, name=name)} if named else {}

    def times(self, frame: pd.DataFrame, order: np.ndarray, codes: np.ndarray, horizon: int) -> dict[str, Any]:
        """Returns the times of a forecast as a column by its name; no column where the rows have no times."""
        later = {}
        for name, column in self.given_times(frame).items():
            try:
                times, ends = read_times(column, dates=self.dates)[order], [0, *np.cumsum(np.bincount(codes))]
                own = [times[start:end] for start, end in pairwise(ends)]
                as_texts = isinstance(times, pd.DatetimeIndex) and column.dtype.kind != "M"
                later[name] = times_ahead(own, horizon, as_texts=as_texts)
            except ValueError as error:
                raise BadRequest(str(error)) from error
        return later

    def bounded(self, answer: pd.DataFrame, horizon: int, interval: float) -> pd.DataFrame:
        """Returns the answer with the bounds of its intervals, if any were asked for; rows of 1 to `horizon` steps
        in turn."""
        if not interval:
            return answer
        try:
            radii = self.forecaster.radius(interval, horizon)
        except NotCalibrated as error:
            horizons = ",".join(map(str, sorted({1, error.known, error.asked})))
            asked = f"'evaluate.horizons=[{horizons}]' and data.validation"
            raise BadRequest(f"{error}: settings {asked} of the run that trains it") from error
        except TooFewForecasts as error:
            raise BadRequest(f"{error}: setting data.validation of the run that trains it") from error
        except ValueError as error:
            raise BadRequest(str(error)) from error
        return with_bounds(answer, np.tile(radii, (len(answer) // horizon, 1)))

    def answers(self, sequences: list[np.ndarray], horizon: int) -> list[np.ndarray]:
        """Returns the predictions for each of the sequences (time, feature)."""
        try:
            forecast = self.forecaster.forecast_all
            found = forecast(sequences, horizon) if horizon else self.forecaster.predict_all(sequences)
        except ValueError as error:
            raise BadRequest(str(error)) from error
        if not all(np.isfinite(values).all() for values in found):
            raise BadRequest("the prediction is not finite; are the values in the units of the training data?")
        return found


set_model(ServedForecaster())
