"""The JSON body of a request to a served model, of whatever kind, read before anything is computed."""

from __future__ import annotations

import json
from typing import Any

FORMATS = ("dataframe_split", "dataframe_records", "instances", "inputs")
TABLES = FORMATS[:2]
LONGEST_VALUE = 40  # characters of a wrong value that are repeated


def shortened(value: Any) -> str:
    """Returns a wrong value as JSON writes it, cut short; and of a list or an object its kind alone: it may be
    nested deep."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    text = json.dumps(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def read_body(body: bytes | str) -> dict[str, Any]:
    """Returns the request that a body of JSON holds: an object with one of `FORMATS`, and `params` if need be.

    Raises ValueError, in one line, for a body that is no such object, for `params` that are no object and for rows of
    a table that differ in length.
    """
    try:
        request = json.loads(body)
    except RecursionError:
        raise ValueError("the body is nested too deep") from None
    except ValueError as error:
        raise ValueError(f"the body is not JSON: {_reason(error)}") from None
    given = [key for key in request if key in FORMATS] if isinstance(request, dict) else []
    if len(given) != 1:
        raise ValueError(f"the body must be an object with exactly one of {', '.join(FORMATS)}, and params if need be")
    if not isinstance(request.get("params"), dict | None):
        raise ValueError(f"params must be an object, not {shortened(request['params'])}")
    if given[0] == "dataframe_split":
        check_table(request[given[0]])
    return request


def read_table_body(body: bytes | str) -> dict[str, Any]:
    """Returns the request that a body of JSON holds. Raises ValueError, in one line, as `read_body` does, and for
    anything but a table."""
    request = read_body(body)
    if not any(key in request for key in TABLES):
        raise ValueError(f"this model takes a table; send {' or '.join(TABLES)}")
    return request


def _reason(error: ValueError) -> str:
    return "a number has too many digits" if "int_max_str_digits" in str(error) else str(error)


def check_table(table: Any) -> None:
    """Raises ValueError where a row of `dataframe_split` has more or fewer entries than there are columns."""
    rows, columns = (table.get(key) if isinstance(table, dict) else None for key in ("data", "columns"))
    for place, row in enumerate(rows if isinstance(rows, list) else ()):
        if isinstance(row, list) and isinstance(columns, list) and len(row) != len(columns):
            raise ValueError(f"dataframe_split.data[{place}] has {len(row)} entries for {len(columns)} columns")
