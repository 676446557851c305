"""A trained model with its units: series in, predictions and forecasts out, and back from disk without pickle."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import torch
from torch import Tensor, nn

from models.forecasting.averaged import Averaged
from models.forecasting.divergence import warn_if_diverged
from models.forecasting.extensions import baggage, check_class, class_of, copy_sources
from models.forecasting.filtering import State, batches, filter_unequal
from models.forecasting.frame import as_frame, is_frame, values_of
from models.forecasting.index.steps import index_after
from models.forecasting.intervals import Intervals
from models.forecasting.online import OnlineForecaster
from models.forecasting.readouts.model import GroupedReadout
from models.forecasting.rolling import roll
from models.forecasting.start_up import StartUp
from models.numerics.standardisation import Standardisation
from models.runtime.bfloat16 import fits, from_bits, to_bits

if TYPE_CHECKING:
    import pandas as pd

ROUNDED = "update_tensor"  # the parameter that may be saved in bfloat16
ARCHITECTURE, PARAMETERS = "architecture.json", "parameters.npz"
DTYPES = {"float64": torch.float64, "float32": torch.float32}
INTERVALS = "intervals/"
PASS_NUMBERS = 2**23  # states and observations that are filtered at once, or one sequence: 64 MiB of doubles


def check_horizon(horizon: Any) -> None:
    """Raises ValueError for anything but a whole number, Python's or NumPy's, of at least 1."""
    if isinstance(horizon, bool) or not isinstance(horizon, (int, np.integer)) or horizon < 1:
        raise ValueError(f"horizon must be a whole number of at least 1, got {horizon!r}")


class Forecaster:
    """Is a sequence model between a standardisation and its inverse.

    model: offers `models.forecasting.filtering.SequenceModel`; mean, scale (feature,): in the data's own units, kept in
    double precision, in which series are standardised before the model gets them in its own type.
    intervals: of its forecasts, in the data's own units; None: not known.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        mean: Tensor,
        scale: Tensor,
        feature_names: tuple[str, ...],
        intervals: Intervals | None = None,
    ) -> None:
        self.model = model
        numbers = (tensor for tensor in model.state_dict().values() if tensor.is_floating_point())
        like = next(numbers, torch.empty(0, dtype=mean.dtype))
        self.dtype, self.device = like.dtype, like.device
        self.units = Standardisation(mean.cpu().double(), scale.cpu().double())
        self.mean, self.scale = self.units
        self.feature_names = feature_names
        self.intervals = intervals

    def radius(self, coverage: float, horizon: int) -> np.ndarray:
        """Returns (horizon, feature): forecast ± radius holds the truth with about this probability, for 1 to `horizon`
        steps.

        Raises ValueError for a model without intervals, and as `models.forecasting.intervals.Intervals.radius` does.
        """
        if self.intervals is None:
            raise ValueError(
                "this model has no intervals: it is of an older version, its forecasts diverged, or its validation "
                "part was too short"
            )
        return self.intervals.radius(coverage, horizon)

    @property
    def history(self) -> int:
        """Returns how many rows the model wants before the first that it forecasts; 0 where it does not say.

        With fewer a readout with lags, and an autoregression, forecasts by an autoregression of lower order
        (`models.forecasting.start_up`): in the mean no worse than the last value, and not as well as the model itself.
        A seasonal naive model forecasts the last value then.
        """
        return int(getattr(self.model, "history", 0))

    def standardised(self, series: np.ndarray) -> tuple[Tensor, Tensor]:
        """Returns values and mask (time, feature) of one series, standardised, as the model takes them; NaN is a gap.

        Raises ValueError for another shape and for an infinite value.
        """
        series = np.asarray(series, np.float64)
        if series.ndim != 2 or series.shape[1] != len(self.feature_names):
            names = ", ".join(self.feature_names)
            raise ValueError(f"expected (time, {len(self.feature_names)}) values of {names}, got shape {series.shape}")
        if np.isinf(series).any():
            row, column = np.argwhere(np.isinf(series))[0]
            raise ValueError(
                f"infinite value in row {row} of column {self.feature_names[column]}; leave it empty or mend it"
            )
        values = torch.from_numpy(np.require(series, requirements=("C", "W")))
        mask = ~torch.isnan(values)
        standard = torch.where(mask, self.units.apply(values), 0.0)
        return standard.to(self.device, self.dtype), mask.to(self.device)

    def online(self) -> OnlineForecaster:
        """Returns a filter for a live signal, at its beginning."""
        return OnlineForecaster(self)

    @overload
    def predict(self, series: np.ndarray) -> np.ndarray: ...
    @overload
    def predict(self, series: pd.DataFrame) -> pd.DataFrame: ...
    def predict(self, series: Any) -> Any:
        """Returns one-step predictions (time, feature): row t is the prediction of row t from the rows before it.

        For a table of pandas with the model's columns by name, in any order, it is a table with the same columns and
        index.
        """
        if is_frame(series):
            predictions = self.predict(values_of(series, self.feature_names))
            return as_frame(predictions, self.feature_names, series, series.index)
        return self.predict_all([series])[0]

    @overload
    def forecast(self, series: np.ndarray, horizon: int) -> np.ndarray: ...
    @overload
    def forecast(self, series: pd.DataFrame, horizon: int) -> pd.DataFrame: ...
    def forecast(self, series: Any, horizon: int) -> Any:
        """Returns (horizon, feature): the steps after the last row, predictions fed back.

        Raises ValueError for a horizon that is no whole number of at least 1.

        For a table of pandas with the model's columns by name, in any order, it is a table with the same columns whose
        index goes on where that of the table ends (`models.forecasting.index.steps.index_after`).
        """
        if is_frame(series):
            predictions = self._forecast_all([values_of(series, self.feature_names)], horizon)[0]
            return as_frame(predictions, self.feature_names, series, index_after(series.index, horizon))
        return self._forecast_all([series], horizon)[0]

    @torch.no_grad()
    def predict_all(self, sequences: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Returns `predict` of each of several sequences, which may differ in length, many at a time."""
        by_place: dict[int, np.ndarray] = {}
        for places, predictions, _ in self._passes(sequences, 0):
            by_place |= zip(places, self.in_own_units(predictions), strict=True)
        return [by_place[i][: len(series)] for i, series in enumerate(sequences)]

    def forecast_all(self, sequences: Sequence[np.ndarray], horizon: int) -> list[np.ndarray]:
        """Returns `forecast` of each of several sequences, which may differ in length, many at a time.

        Warns of forecasts that diverge (`models.forecasting.divergence`).
        """
        return self._forecast_all(sequences, horizon)

    def _forecast_all(self, sequences: Sequence[np.ndarray], horizon: int) -> list[np.ndarray]:
        """Returns the forecasts (horizon, feature) of each sequence in the data's own units. A warning of those that
        diverge points at the caller of the method that calls this one."""
        check_horizon(horizon)
        by_place: dict[int, np.ndarray] = {}
        with torch.no_grad():  # as a decorator it would be a caller too
            for places, _, state in self._passes(sequences, horizon):
                rolled = roll(self.model, state, horizon)  # pyright: ignore[reportArgumentType]
                warn_if_diverged(rolled, stacklevel=3)
                by_place |= zip(places, self.in_own_units(rolled), strict=True)
        return [by_place[i] for i in range(len(sequences))]

    def in_own_units(self, values: Tensor) -> np.ndarray:
        """Returns standardised values (…, feature) in the data's own units, as doubles."""
        return self.units.restore(values.cpu().double()).numpy()

    def _passes(self, sequences: Sequence[np.ndarray], horizon: int) -> Iterator[tuple[list[int], Tensor, State]]:
        """Yields for each batch the places of its sequences, and what `filter_unequal` returns for them."""
        model: Any = self.model
        pairs = [self.standardised(series) for series in sequences]
        rows = [len(series) + 1 + horizon for series in sequences]
        whole = [bool(mask.all()) for _, mask in pairs]
        per_row = len(self.feature_names) + sum(part.numel() for part in model.initial_state(1))
        for places in batches(rows, whole, PASS_NUMBERS // per_row):
            yield places, *filter_unequal(model, *zip(*(pairs[i] for i in places), strict=True))


def describe_class(model: nn.Module) -> str:
    """Returns the full name of the model's class."""
    return f"{type(model).__module__}.{type(model).__qualname__}"


def description_of(model: nn.Module) -> dict[str, Any]:
    """Returns what `built` makes a model of the same shape from, in plain values: of a model beneath a grouped readout,
    and the readout; of an average that of each of its members."""
    if isinstance(model, Averaged):
        return {"members": [description_of(member) for member in model.models]}
    if isinstance(model, GroupedReadout):
        return {**description_of(model.base), "readout": model.architecture}
    start_up = getattr(model, "start_up", None)
    description: dict[str, Any] = {"architecture": model.architecture}
    if start_up is not None:
        description["start_up"] = {"orders": list(start_up.orders), "history": start_up.history}
    return description


def built(kind: type[nn.Module], description: Mapping[str, Any], *, dimension: int) -> nn.Module:
    """Returns a model of the class and of the shape that `description_of` gave, whose numbers are still to be loaded.

    kind: the class of the model, or of each member of an average; dimension: d observed features.
    """
    if "members" in description:
        return Averaged([built(kind, member, dimension=dimension) for member in description["members"]])
    model = kind(**description["architecture"])
    if "start_up" in description:
        model.start_up = StartUp(dimension=dimension, **description["start_up"])
    return GroupedReadout(model, **description["readout"]) if "readout" in description else model


def beneath(model: nn.Module) -> nn.Module:
    """Returns the model beneath a grouped readout; of an average that of its first member, whose class all have."""
    if isinstance(model, Averaged):
        return beneath(model.models[0])
    return model.base if isinstance(model, GroupedReadout) else model


def save_forecaster(forecaster: Forecaster, folder: Path) -> None:
    """Writes architecture.json and parameters.npz (plain arrays) into an existing folder, and the source of a class of
    one's own into its folder `code`.

    The update of a PSRNN that was rounded (`PSRNN.round_update`), and not trained since, is saved as 16-bit patterns of
    bfloat16, which architecture.json says: (array.astype("u4") << 16).view("f4") are its numbers.
    Raises ValueError, in one line that says what to do, for a class or a number type that could not be loaded again.
    """
    model, dtype = forecaster.model, str(forecaster.dtype).removeprefix("torch.")
    if dtype not in DTYPES:
        raise ValueError(f"a model of {dtype} cannot be saved; turn it into {' or '.join(DTYPES)} first")
    below = beneath(model)
    check_class(below)
    own = baggage(below)
    copy_sources(own.sources, folder)
    description: dict[str, Any] = {
        "class": describe_class(below),
        **description_of(model),
        "dtype": dtype,
        "feature_names": list(forecaster.feature_names),
        "history": forecaster.history,
    }
    tensors = {f"model/{name}": tensor for name, tensor in model.state_dict().items()}
    update = f"model/{ROUNDED}" if below is model else f"model/base.{ROUNDED}"
    rounded = description.get("architecture", {}).get("rounded")
    halved = [update] if rounded and fits(tensors[update]) else []
    if halved:
        description["bfloat16"] = halved
    if own.requirements:
        description["requirements"] = own.requirements
    (folder / ARCHITECTURE).write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
    arrays = {name: to_bits(t) if name in halved else t.cpu().numpy() for name, t in tensors.items()}
    arrays |= {"mean": forecaster.mean.numpy(), "scale": forecaster.scale.numpy()}
    if forecaster.intervals is not None:
        arrays |= {INTERVALS + name: values for name, values in forecaster.intervals._asdict().items()}
    np.savez(folder / PARAMETERS, allow_pickle=False, **arrays)  # pyright: ignore[reportArgumentType]


def read_description(folder: Path) -> dict[str, Any]:
    """Returns what `save_forecaster` wrote into architecture.json: class, architecture, names of the columns and the
    like."""
    return json.loads((folder / ARCHITECTURE).read_text(encoding="utf-8"))


def load_forecaster(folder: Path, *, extensions: Sequence[str] = ()) -> Forecaster:
    """Returns the forecaster that `save_forecaster` wrote into a folder. Nothing is unpickled.

    Only classes of the package `models` are built, so that nothing in the folder is run; and those of the modules or
    packages that `extensions` names, whose source in the folder is: name them for a folder that you trust. Raises
    ValueError for any other class.
    """
    description = read_description(folder)
    kind = class_of(str(description["class"]), folder, extensions)
    with np.load(folder / PARAMETERS, allow_pickle=False) as file:
        halved = set(description.get("bfloat16", ()))
        arrays = {key: (from_bits if key in halved else torch.from_numpy)(file[key]) for key in file.files}
    model = built(kind, description, dimension=len(description["feature_names"]))
    model.to(DTYPES[description["dtype"]])
    model.load_state_dict({k.removeprefix("model/"): v for k, v in arrays.items() if k.startswith("model/")})
    intervals = {k.removeprefix(INTERVALS): v.numpy() for k, v in arrays.items() if k.startswith(INTERVALS)}
    return Forecaster(
        model, mean=arrays["mean"], scale=arrays["scale"], feature_names=tuple(description["feature_names"]),
        intervals=Intervals(**intervals) if intervals else None,
    )  # fmt: skip
