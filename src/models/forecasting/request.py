"""What a served model is asked: the JSON body of a request, read and checked before anything is computed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

FORMATS = ("dataframe_split", "dataframe_records", "instances", "inputs")
ARRAYS = ("instances", "inputs")
LONGEST_VALUE = 40  # characters of a wrong value that are repeated
LEAVES = {int, float, type(None)}  # of `json.loads`; None is a gap
ARRAY_DEPTH = 3  # (sequence, time, feature)


def shortened(value: Any) -> str:
    """Returns a wrong value as JSON writes it, cut short; and of a list or an object its kind alone: it may be
    nested deep."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    text = json.dumps(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def whole_number(key: str, value: Any) -> None:
    """Raises ValueError unless the value of a parameter is a whole number of at least 0."""
    if type(value) is not int or value < 0:
        raise ValueError(
            f"params.{key} must be a whole number: 0 (one-step predictions) or the steps to forecast, "
            f"got {shortened(value)}"
        )


def coverage(key: str, value: Any) -> None:
    """Raises ValueError unless the value of a parameter is a number of at least 0 and below 1."""
    if type(value) not in (int, float) or not 0 <= value < 1:
        raise ValueError(f"params.{key} must be 0 (none) or a coverage below 1 such as 0.9, got {shortened(value)}")


PARAMETERS: dict[str, Callable[[str, Any], None]] = {
    "horizon": whole_number,
    "interval": coverage,
}  # how the value of each is checked


def decoded(body: bytes | str) -> dict[str, Any]:
    """Returns the request that a body of JSON holds: an object with one of `FORMATS`, and `params` if need be.

    `NaN` in arrays, which is not JSON but which Python writes, is a gap as `null` is. Raises ValueError, in one line,
    for a body that is no such object, for a value that a parameter of `PARAMETERS` cannot have, for entries of an array
    (time, feature) or (sequence, time, feature) that are no numbers, and for rows that differ in length.
    """
    try:
        request = json.loads(body)
    except RecursionError:
        raise ValueError("the body is nested too deep; an array has at most (sequence, time, feature)") from None
    except ValueError as error:
        raise ValueError(f"the body is not JSON: {_reason(error)}") from None
    formats = [key for key in request if key in FORMATS] if isinstance(request, dict) else []
    if len(formats) != 1:
        raise ValueError(f"the body must be an object with exactly one of {', '.join(FORMATS)}, and params if need be")
    check_parameters(request.get("params"))
    if formats[0] in ARRAYS:
        check_array(formats[0], request[formats[0]])
    elif formats[0] == "dataframe_split":
        check_table(request[formats[0]])
    return request


def _reason(error: ValueError) -> str:
    return "a number has too many digits" if "int_max_str_digits" in str(error) else str(error)


def check_parameters(parameters: Any) -> None:
    """Raises ValueError where `params` is neither null nor an object, or has a value that it cannot have."""
    if not isinstance(parameters, dict | None):
        raise ValueError(f'params must be an object, as in {{"horizon": 5}}, not {shortened(parameters)}')
    for key, check in PARAMETERS.items():
        if parameters and key in parameters:
            check(key, parameters[key])


def check_array(name: str, rows: Any, depth: int = 1) -> int:
    """Returns how many levels of lists `rows` has. Raises ValueError, with the place as in `inputs[0][3]`, unless they
    are lists of lists of numbers, at each level of equal length.

    How many columns there must be, and how many levels, the model knows.
    """
    if not isinstance(rows, list):
        raise ValueError(f"{name} must be an array (time, feature) or (sequence, time, feature), not {shortened(rows)}")
    kinds = set(map(type, rows))
    if kinds <= LEAVES:
        return 1
    if kinds != {list}:
        place = next(place for place, kind in enumerate(map(type, rows)) if kind not in LEAVES)
        raise ValueError(f"{name}[{place}]: {shortened(rows[place])} is not a number; a gap is null")
    if depth == ARRAY_DEPTH:
        raise ValueError(f"{name} is nested too deep; an array has at most (sequence, time, feature)")
    levels = [check_array(f"{name}[{place}]", row, depth + 1) for place, row in enumerate(rows)]
    for place, row in enumerate(rows):
        if (len(row), levels[place]) != (len(rows[0]), levels[0]):
            refuse_unequal(name, place, levels[0], len(rows[0]), len(row))
    return 1 + levels[0]


def check_table(table: Any) -> None:
    """Raises ValueError where a row of `dataframe_split` has more or fewer entries than there are columns."""
    rows, columns = (table.get(key) if isinstance(table, dict) else None for key in ("data", "columns"))
    for place, row in enumerate(rows if isinstance(rows, list) else ()):
        if isinstance(row, list) and isinstance(columns, list) and len(row) != len(columns):
            raise ValueError(f"dataframe_split.data[{place}] has {len(row)} entries for {len(columns)} columns")


def refuse_unequal(name: str, place: int, levels: int, first: int, other: int) -> None:
    """Raises ValueError: two rows or sequences of an array differ in length. place: of the second one; the first is
    0."""
    what, advice = (
        ("rows", "") if levels == 1 else ("sequences", "; send them as dataframe_split with a column sequence")
    )
    lengths = f"{name}[0] has {first}, {name}[{place}] has {other}"
    raise ValueError(f"{name} has {what} of different lengths: {lengths}{advice}")
