"""What a served forecaster is asked: the JSON body of a request, read and checked before anything is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from models.runtime.request import FORMATS, LONGEST_VALUE, read_body, shortened

__all__ = ["FORMATS", "LONGEST_VALUE", "PARAMETERS", "decoded"]

ARRAYS = ("instances", "inputs")
LEAVES = {int, float, type(None)}  # of `json.loads`; None is a gap
ARRAY_DEPTH = 3  # (sequence, time, feature)


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
    as `read_body` does, for a value that a parameter of `PARAMETERS` cannot have, for entries of an array (time,
    feature) or (sequence, time, feature) that are no numbers, and for rows that differ in length.
    """
    request = read_body(body)
    for key, check in PARAMETERS.items():
        if key in (request.get("params") or {}):
            check(key, request["params"][key])
    for name in ARRAYS:
        if name in request:
            check_array(name, request[name])
    return request


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


def refuse_unequal(name: str, place: int, levels: int, first: int, other: int) -> None:
    """Raises ValueError: two rows or sequences of an array differ in length. place: of the second one; the first is
    0."""
    what, advice = (
        ("rows", "") if levels == 1 else ("sequences", "; send them as dataframe_split with a column sequence")
    )
    lengths = f"{name}[0] has {first}, {name}[{place}] has {other}"
    raise ValueError(f"{name} has {what} of different lengths: {lengths}{advice}")
