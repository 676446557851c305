"""Estimators on disk: plain numbers and texts in a folder that is there as a whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from models.forecasting.estimators.calendar import RowClock
from models.forecasting.estimators.covariates import Columns
from models.forecasting.estimators.following import told_ahead
from models.forecasting.estimators.held_out import HeldOut
from models.forecasting.estimators.input import TAIL, Form
from models.forecasting.estimators.late_rows import longest_step
from models.forecasting.estimators.learnt import Learnt
from models.forecasting.estimators.position import Position
from models.forecasting.forecaster import load_forecaster, save_forecaster
from models.numerics.standardisation import Standardisation
from models.runtime.plain import class_name, made_of, plain
from models.runtime.saved import readable
from models.runtime.whole_folder import folder_written_whole

DESCRIPTION, NUMBERS = "estimator.json", "estimator.npz"
HELD_OUT_FROM = "held_out_from"  # the folder of the forecaster that residuals are of, where it is another one
Estimator = TypeVar("Estimator")


def save(estimator: Any, folder: Path) -> None:
    """Writes a fitted estimator into a folder that is not there yet.

    It is there as a whole or not at all. Raises FileExistsError for a folder that is there and not empty, and
    ValueError for a parameter that could not be read again.
    """
    learnt: Learnt = estimator._fitted()
    description = json.dumps(_description(estimator, learnt), indent=2) + "\n"
    with folder_written_whole(folder) as beside:
        save_forecaster(learnt.forecaster, beside)
        if learnt.held_out_from is not None:
            (beside / HELD_OUT_FROM).mkdir()
            save_forecaster(learnt.held_out_from, beside / HELD_OUT_FROM)
        np.savez(beside / NUMBERS, allow_pickle=False, **_numbers(learnt, estimator._positions))  # pyright: ignore[reportArgumentType]
        (beside / DESCRIPTION).write_text(description, encoding="utf-8")


def _description(estimator: Any, learnt: Learnt) -> dict[str, Any]:
    positions = estimator._positions
    return {
        "class": class_name(type(estimator)),
        "parameters": {name: plain(value, name) for name, value in estimator.get_params(deep=False).items()},
        "columns": learnt.columns._asdict(),
        "labels": list(learnt.labels),
        "form": {**learnt.form._asdict(), "group_name": plain(learnt.form.group_name, "the name of the groups")},
        "chosen": {name: plain(value, name) for name, value in learnt.chosen.items()},
        "errors": list(learnt.errors),
        "season": learnt.season,
        "uneven": learnt.uneven,
        "firsts": [part.first for part in learnt.held_out],
        "series": [
            {
                "key": key_as_plain(key),
                "rows": position.rows,
                "index": index_as_plain(position.tail),
                "longest": position.longest,
            }
            for key, position in positions.items()
        ],
        "tensors": len(next(iter(positions.values())).state),
    }


def _numbers(learnt: Learnt, positions: Mapping[Any, Position]) -> dict[str, np.ndarray]:
    arrays = {"residuals": learnt.residuals}
    arrays |= {f"errors/{place}": values for place, values in enumerate(learnt.errors.values())}
    arrays |= {f"held_out/{place}": part.rows for place, part in enumerate(learnt.held_out)}
    for place, position in enumerate(positions.values()):
        arrays[f"last/{place}"] = position.last
        if position.units is not None:
            arrays[f"units/{place}"] = torch.stack(position.units).numpy()
        arrays |= {f"state/{place}/{i}": part.cpu().numpy() for i, part in enumerate(position.state)}
    return arrays


def key_as_plain(key: Any) -> Any:
    """Returns the name of a group as JSON has it; a time, a span or a period as an index of it alone.

    Raises ValueError for what could not be read again.
    """
    import pandas as pd

    if isinstance(key, pd.Timestamp | pd.Timedelta | pd.Period):
        return {"index": index_as_plain(pd.Index([key]))}
    if not isinstance(key, str | int | float | np.generic):
        raise ValueError(
            f"a group is named {key!r}, which cannot be saved; name groups by texts, numbers, or times, spans or "
            "periods of pandas (a date by pandas.Timestamp), and fit anew"
        )
    return plain(key, "the name of a group")


def key_of(saved: Any) -> Any:
    """Returns what `key_as_plain` was given."""
    return index_of(saved["index"])[0] if isinstance(saved, dict) else saved


def index_as_plain(index: Any) -> dict[str, Any] | None:
    """Returns the end of an index as JSON has it."""
    if index is None:
        return None
    import pandas as pd

    name = plain(index.name, "the name of the index")
    if isinstance(index, pd.RangeIndex):
        return {"kind": "range", "name": name, "values": [index.start, index.stop, index.step]}
    if isinstance(index, pd.PeriodIndex):
        return {"kind": "periods", "name": name, "freq": index.freqstr, "values": [int(n) for n in index.asi8]}
    if isinstance(index, pd.DatetimeIndex):
        zone = None if index.tz is None else str(index.tz)
        values = index.as_unit("ns").asi8.tolist()
        return {
            "kind": "times", "name": name, "zone": zone, "freq": freq_as_plain(index), "unit": index.unit,
            "values": values,
        }  # fmt: skip
    if isinstance(index, pd.TimedeltaIndex):
        spans = index.as_unit("ns").asi8.tolist()
        return {"kind": "spans", "name": name, "unit": index.unit, "values": spans}
    return {"kind": "names", "name": name, "values": [plain(value, "the index") for value in index]}


def index_of(saved: Mapping[str, Any] | None) -> Any:
    """Returns what `index_as_plain` was given."""
    if saved is None:
        return None
    import pandas as pd

    values, name = saved["values"], saved["name"]
    if saved["kind"] == "range":
        return pd.RangeIndex(*values, name=name)
    if saved["kind"] == "periods":
        return pd.PeriodIndex.from_ordinals(values, freq=saved["freq"], name=name)
    if saved["kind"] == "times":
        times = pd.DatetimeIndex(np.array(values, "M8[ns]"), tz="UTC").as_unit(saved["unit"])
        times = times.tz_convert(saved["zone"]) if saved["zone"] else times.tz_localize(None)
        return pd.DatetimeIndex(times, freq=freq_of(saved["freq"]), name=name)
    if saved["kind"] == "spans":
        return pd.TimedeltaIndex(np.array(values, "m8[ns]"), name=name).as_unit(saved["unit"])
    return pd.Index(values, name=name)


def freq_as_plain(index: Any) -> Any:
    """Returns the step that an index of times goes on by as JSON has it: its name, working days of one's own as their
    parts, and None where there is none or the times tell it.

    Raises ValueError for any other, such as hours of business of one's own.
    """
    import pandas as pd

    freq = index.freq
    if freq is None or _is_named(freq):
        return index.freqstr
    if isinstance(freq, pd.offsets.CustomBusinessDay):
        own: Any = freq
        if isinstance(own.weekmask, str) and not own.offset:
            return {"n": own.n, "weekmask": own.weekmask, "holidays": [str(day) for day in own.holidays]}
    no_step: Any = None
    told = told_ahead(pd.DatetimeIndex(index, freq=no_step), TAIL)
    if told is not None and told.equals(told_ahead(index, TAIL)):
        return None
    raise ValueError(
        f"the index goes on by {freq!r}, which cannot be saved; take times whose step pandas has a name for, or "
        "CustomBusinessDay, and fit anew"
    )


def _is_named(freq: Any) -> bool:
    """Says whether pandas makes a step anew of its name."""
    from pandas.tseries.frequencies import to_offset

    try:
        return to_offset(freq.freqstr) == freq
    except (ValueError, TypeError):  # a name that is none, parts that cannot be compared
        return False


def freq_of(saved: Any) -> Any:
    """Returns what `freq_as_plain` was given."""
    import pandas as pd

    return pd.offsets.CustomBusinessDay(**saved) if isinstance(saved, dict) else saved


def load(kind: type[Estimator], folder: Path) -> Estimator:
    """Returns the estimator that `save` wrote. Raises FileNotFoundError where there is none, and ValueError for one
    that another class wrote, or that is not as it was written."""
    if not (folder / DESCRIPTION).is_file():
        raise FileNotFoundError(f"{folder} holds no saved estimator: {DESCRIPTION} is not there")
    with readable(folder):
        return _read(kind, folder)


def _read(kind: type[Estimator], folder: Path) -> Estimator:
    saved = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    if saved["class"] != class_name(kind):
        raise ValueError(f"{folder} was saved by {saved['class']}; load it by that class")
    estimator: Any = kind(**{name: made_of(value) for name, value in saved["parameters"].items()})
    with np.load(folder / NUMBERS, allow_pickle=False) as file:
        arrays = dict(file)
    estimator._learnt = _learnt_of(saved, arrays, folder)
    estimator._positions = _positions_of(saved["series"], saved["tensors"], arrays)
    estimator._all_rows = None
    return estimator


def _learnt_of(saved: Mapping[str, Any], arrays: Mapping[str, np.ndarray], folder: Path) -> Learnt:
    columns: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in saved["columns"].items()
    }
    columns["clock"] = RowClock(*columns["clock"])
    return Learnt(
        load_forecaster(folder),
        Columns(**columns),
        tuple(saved["labels"]),
        Form(**saved["form"]),
        [HeldOut(arrays[f"held_out/{place}"], first) for place, first in enumerate(saved["firsts"])],
        saved["chosen"],
        arrays["residuals"],
        {name: arrays[f"errors/{place}"] for place, name in enumerate(saved["errors"])},
        saved["season"],
        saved.get("uneven", False),
        held_out_from=load_forecaster(folder / HELD_OUT_FROM) if (folder / HELD_OUT_FROM).is_dir() else None,
    )


def _positions_of(
    series: Sequence[Mapping[str, Any]], tensors: int, arrays: Mapping[str, np.ndarray]
) -> dict[Any, Position]:
    positions = {}
    for place, each in enumerate(series):
        state = tuple(torch.from_numpy(arrays[f"state/{place}/{i}"]) for i in range(tensors))
        saved = arrays.get(f"units/{place}")  # none where all share one unit
        units = None if saved is None else Standardisation(*torch.from_numpy(saved))
        last, tail = arrays[f"last/{place}"], index_of(each["index"])
        longest = each.get("longest", longest_step(0.0, None, tail))  # none in files of before, which have the end
        positions[key_of(each["key"])] = Position(state, last, each["rows"], tail, units=units, longest=longest)
    return positions
