"""What a served model of points is asked: the JSON body of a request, read and checked before anything is computed."""

from __future__ import annotations

from typing import Any

from models.runtime.request import read_body
from models.runtime.request_values import ArrayForm, check_arrays

POINTS = ArrayForm(2, "(row, input)", "(row, input)", "leave the row out")


def decoded(body: bytes | str) -> dict[str, Any]:
    """Returns the request that a body of JSON holds. Raises ValueError, in one line, as `read_body` does, for entries
    of an array (row, input) that are no numbers, and for rows that differ in length."""
    request = read_body(body)
    check_arrays(request, POINTS)
    return request
