"""Names of columns as settings give them: a column that is called by a number comes as that number."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

from data.base import DataError


def as_text(given: Any) -> str | None:
    """Returns a name as the text that it is in a file, a whole number as its digits; None for what is neither, such as
    1.50 or true, of which it is not known how the file writes them."""
    if isinstance(given, str):
        return given
    return str(given) if isinstance(given, Integral) and not isinstance(given, bool) else None


def column_name(given: Any, setting: str) -> Any:
    """Returns the name of a column as `as_text` does; None for None. Raises DataError, naming the setting, for what is
    no name."""
    name = as_text(given)
    if name is None and given is not None:
        raise DataError(
            f"{setting}={given} is no name of a column; put it in quotes, as in", give={setting: str(given)}
        )
    return name


def column_names(given: Any, setting: str = "columns") -> Any:
    """Returns the names of columns, in a list, each as `as_text` does, and a single one as the text that it is; None
    for None. Raises DataError, naming the setting, for what is no name."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        return column_name(given, setting)
    names = list(given)
    if any(as_text(name) is None for name in names):
        quoted = {setting: [str(name) for name in names]}
        raise DataError(f"{setting}={names} has what is no name of a column; put it in quotes, as in", give=quoted)
    return [as_text(name) for name in names]
