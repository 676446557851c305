"""What a served forecaster is asked: the JSON body of a request, read and checked before anything is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from models.runtime.request import FORMATS, LONGEST_VALUE, read_body, shortened
from models.runtime.request_values import ArrayForm, check_arrays

__all__ = ["FORMATS", "LONGEST_VALUE", "PARAMETERS", "SERIES", "decoded"]

SERIES = ArrayForm(3, "(time, feature) or (sequence, time, feature)", "(sequence, time, feature)", "a gap is null")


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
    check_arrays(request, SERIES)
    return request
