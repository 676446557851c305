"""What a served sentiment model is asked: the JSON body of a request, read and checked before anything is computed."""

from __future__ import annotations

from typing import Any

from models.runtime.request import read_body

TABLES = ("dataframe_split", "dataframe_records")


def decoded(body: bytes | str) -> dict[str, Any]:
    """Returns the request that a body of JSON holds. Raises ValueError, in one line, as `read_body` does, and for
    anything but a table."""
    request = read_body(body)
    if not any(key in request for key in TABLES):
        raise ValueError(f"this model takes a table; send {' or '.join(TABLES)}")
    return request
