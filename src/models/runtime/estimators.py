"""What estimators in scikit-learn's manners share: rows that are checked, chance, and a state that a failed call leaves
alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from models.runtime.arrays import for_numpy
from models.runtime.parameters import shown

VALUES = re.compile(r"\s*(array[=(]|\[|[-+]?\d|nan|inf)")  # as a line of a message that lists them begins
WORD = re.compile(r"\b(?!and\b)\w+")
NO_NUMBERS = re.compile(r"could not convert|float\(\) argument|setting an array element|Cannot cast|The DType")
LARGEST_SEED = 2**31 - 1


@contextmanager
def left_as_it_was(estimator: Any) -> Iterator[None]:
    """Puts all attributes of the estimator back when the block ends with an error."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


@contextmanager
def in_one_line(names: str) -> Iterator[None]:
    """Raises a TypeError or ValueError of scikit-learn's again with its message in one line, without the values that it
    lists, and after `names` where it has none of them; one of Python's or NumPy's own with what had to hold numbers."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        message = str(error)
        kept = message.splitlines()[:1] + [line for line in message.splitlines()[1:] if not VALUES.match(line)]
        line = " ".join(" ".join(kept).split())
        if not NO_NUMBERS.match(line) and not isinstance(error, OverflowError):
            line = line if set(WORD.findall(names)) & set(WORD.findall(line)) else f"{names}: {line}"
            raise (error if line == message else type(error)(line)) from None
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{names} must hold numbers in rows of equal length: {line.split('. This means')[0]}") from None


def refuse_times(data: Any, name: str) -> None:
    """Raises TypeError for an array, an index or a column of times or of spans of time."""
    dtype = getattr(data, "dtype", None)
    if getattr(dtype, "kind", None) in ("m", "M"):
        raise TypeError(f"{name} holds {dtype}, not numbers; turn its times into numbers")


def refuse_texts(X: Any) -> None:
    """Raises ValueError for a table with a column that does not hold numbers, and names it."""
    dtypes: Any = getattr(X, "dtypes", None)
    if not hasattr(dtypes, "items"):
        return
    from pandas.api.types import is_numeric_dtype

    for name, dtype in dtypes.items():
        timed = getattr(dtype, "kind", None) in ("m", "M")
        if timed or not (is_numeric_dtype(dtype) or holds_numbers(X[name])):
            raise ValueError(
                f"column {name} of X holds {dtype}, not numbers; leave it out, or turn it into numbers, by "
                "OneHotEncoder say"
            )


def holds_numbers(column: Any) -> bool:
    """Returns whether a column of Python's objects can be read as numbers."""
    try:
        np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def checked_rows(estimator: Any, X: Any, *, reset: bool = False, least: int = 1, dtype: Any = np.float64) -> np.ndarray:
    """Returns X as (row, column), from an array or a table, in the first of the dtypes unless it has another of them.

    reset: the columns are noted as those of the estimator; else they have to be those. Raises TypeError and ValueError,
    in one line, for anything else than numbers, fewer than `least` rows, other columns, and values that are not finite.
    """
    refuse_texts(X)
    refuse_times(X, "X")
    with in_one_line("X"):
        rows: Any = validate_data(
            estimator, for_numpy(X), reset=reset, dtype=dtype, order="C", ensure_min_samples=least,
            ensure_all_finite=False,
        )  # fmt: skip
    return finite(estimator, rows)


def checked_pair(estimator: Any, X: Any, y: Any, *, reset: bool, least: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Returns X as `checked_rows` does, and y as float64 (row,). Raises TypeError and ValueError as that does, for
    fewer than `least` rows, and where there is not one number of y for each row."""
    refuse_texts(X)
    refuse_times(X, "X")
    refuse_times(y, "y")
    with in_one_line("X and y"):
        found: Any = validate_data(
            estimator, for_numpy(X), for_numpy(y), reset=reset, dtype=np.float64, order="C", ensure_min_samples=least,
            ensure_all_finite=False, y_numeric=True,
        )  # fmt: skip
        rows, targets = found[0], np.array(found[1], np.float64)
    return finite(estimator, rows), targets


def finite(estimator: Any, rows: np.ndarray) -> np.ndarray:
    """Returns the rows. Raises ValueError for a value that is not finite, and says where."""
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        name = column_names(estimator)[column]
        raise ValueError(f"X holds NaN or inf in row {row}, column {name}; leave the row out or fill the gap")
    return rows


def column_names(estimator: Any) -> tuple[str, ...]:
    """Returns the names of the columns that the estimator was given, x0, x1, … where they had none."""
    names = getattr(estimator, "feature_names_in_", None)
    return tuple(f"x{i}" for i in range(estimator.n_features_in_)) if names is None else tuple(map(str, names))


def input_names(estimator: Any, given: Any) -> np.ndarray:
    """Returns the names of the inputs that are given, for None those that the estimator was fitted to.

    Raises ValueError where there is not one for each column, or they are not those.
    """
    known = getattr(estimator, "feature_names_in_", None)
    if given is None:
        return np.array(column_names(estimator), dtype=object)
    if isinstance(given, str) or not np.iterable(given) or not all(isinstance(each, str) for each in given):
        raise ValueError(f"input_features must be a list of names, got {shown(given)}")
    names = np.array(list(given), dtype=object)
    if known is not None and not np.array_equal(known, names):
        raise ValueError("input_features is not equal to feature_names_in_; leave it out, or give these names")
    if len(names) != estimator.n_features_in_:
        raise ValueError(
            f"input_features should have length equal to the number of columns, {estimator.n_features_in_}, got "
            f"{len(names)}"
        )
    return names


def seed_of(random_state: Any) -> int:
    """Returns a seed: a whole number as it is, else one that is drawn from a RandomState of NumPy, or for None from
    NumPy's own.

    Raises ValueError for anything else.
    """
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return int(check_random_state(random_state).randint(LARGEST_SEED))
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer) or random_state < 0:
        known = "a whole number of at least 0, None or a numpy.random.RandomState"
        raise ValueError(f"random_state must be {known}, got {shown(random_state)}")
    return int(random_state)
