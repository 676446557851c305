"""What parameters of an estimator may be: each check ends in one line that names the parameter and what it may be."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

LONGEST = 80  # of a value in a message
MOST_UNITS = 10_000  # of a state: a matrix of so many by so many numbers takes 0.8 GB
MOST_EPOCHS = 1_000_000  # of training, or iterations


def shown(value: Any) -> str:
    """Returns a value as a message shows it, in one line and not at length."""
    return " ".join(reprlib.repr(value).split())[:LONGEST]


def in_a_line(error: BaseException) -> str:
    """Returns the message of an error in one line, its kind where it has none."""
    return " ".join(str(error).split()) or type(error).__name__


def of_an_array(value: Any) -> str:
    """Returns the end of a message about a value that is no number: what to give in place of an array or a tensor, ""
    for any other."""
    array = hasattr(value, "__array__") and not isinstance(value, np.generic)
    return "; give a plain number in place of an array or a tensor" if array else ""


def whole_number(name: str, value: Any, *, least: int = 1, most: float = math.inf) -> int:
    """Returns the value. Raises TypeError unless it is a whole number, Python's or NumPy's, and ValueError below
    `least` and above `most`."""
    wanted = f"{name} must be a whole number of at least {least}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise TypeError(f"{wanted}, got {shown(value)}{of_an_array(value)}")
    if value < least:
        raise ValueError(f"{wanted}, got {value}")
    if value > most:
        raise ValueError(f"{name} must be at most {most:g}, got {value}")
    return int(value)


def number(name: str, value: Any, *, above: float = 0.0, below: float = math.inf) -> float:
    """Returns the value. Raises TypeError unless it is a number, ValueError unless it is finite and between the
    bounds."""
    wanted = f"{name} must be a number above {above:g}" + (f" and below {below:g}" if below < math.inf else "")
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{wanted}, got {shown(value)}{of_an_array(value)}")
    if not above < value < below:
        raise ValueError(f"{wanted}{' and finite' if value == below == math.inf else ''}, got {value}")
    return float(value)


def numbers(name: str, given: Any) -> tuple[float, ...]:
    """Returns a list of numbers above 0. Raises TypeError and ValueError, as `number`, for one that is none, and
    TypeError for what is no list."""
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str | bytes):
        raise TypeError(f"{name} must be a list of numbers above 0, got {shown(given)}")
    return tuple(number(name, each) for each in given)


def not_negative(name: str, value: Any, *, most: float = math.inf) -> float:
    """Returns the value. Raises TypeError unless it is a number, and ValueError below 0 and above `most`."""
    wanted = f"{name} must be a number of 0 or more" + (f" and at most {most:g}" if most < math.inf else "")
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{wanted}, got {shown(value)}{of_an_array(value)}")
    if not (0 <= value <= most and value < math.inf):
        raise ValueError(f"{wanted}, got {value}")
    return float(value)


def one_of(name: str, value: Any, names: Collection[str]) -> str:
    """Returns the value. Raises ValueError unless it is one of the names, and TypeError where it is no text."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be one of {', '.join(names)}, got {shown(value)}")
    if value not in names:
        raise ValueError(f"{name} must be one of {', '.join(names)}, got {shown(value)}")
    return value


def yes_or_no(name: str, value: Any) -> bool:
    """Returns the value. Raises TypeError unless it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def path(name: str, value: Any) -> Path:
    """Returns the path. Raises TypeError for what is neither a text nor a path, and ValueError for an empty text."""
    if not isinstance(value, str | Path):
        raise TypeError(f"{name} must be a path, got {shown(value)}")
    if not str(value):
        raise ValueError(f"{name} is an empty text; give a path")
    return Path(value)
