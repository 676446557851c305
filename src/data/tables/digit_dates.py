"""Times that are written as numbers, 20240131 or 202401, and are dates."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from data.base import DataError

FEWEST_DATES = 3  # of digits alone: one or two numbers may look like dates by chance
FIRST_YEAR, LAST_YEAR = 1800, 2200
DIGITS = {"%Y%m%d": 10_000, "%Y%m": 100}  # how a date is written without marks, and what its year is multiplied by
DAY = "%Y%m%d"
NOUNS = {"%Y%m%d": "day", "%Y%m": "month"}
MOSTLY = 0.9  # of the numbers are dates: then the others are errors


def dates_written(numbers: np.ndarray, form: str) -> np.ndarray:
    """Returns numbers (row,) as dates, datetime64 (row,), of a form of `DIGITS`; no time (NaT) for one that is no date
    from 1800 to 2200."""
    years = numbers // DIGITS[form]
    may_be = (numbers == np.round(numbers)) & (years >= FIRST_YEAR) & (years <= LAST_YEAR)
    texts = pd.Series(numbers[may_be].astype(np.int64).astype(str), dtype=str)
    read = pd.to_datetime(texts, errors="coerce", format=form).to_numpy()
    dates = np.full(len(numbers), np.datetime64("NaT"), dtype=read.dtype)
    dates[may_be] = read
    return dates


def dates_of_digits(numbers: np.ndarray, *, fewest: int = FEWEST_DATES) -> np.ndarray | None:
    """Returns three finite numbers or more, (row,), as dates, datetime64, where each has the digits of a day (20240131)
    or each those of a month (202401) from 1800 to 2200; None for other numbers. fewest: how many are needed for days
    in place of three."""
    if len(numbers) < fewest:
        return None
    written = (dates_written(numbers, form) for form in (DIGITS if len(numbers) >= FEWEST_DATES else [DAY]))
    return next((dates for dates in written if not np.isnat(dates).any()), None)


def rise_by_one_step(numbers: np.ndarray) -> bool:
    """Returns whether numbers (row,), in order and each once, have one step, as those that count rows have."""
    return len(set(np.diff(np.unique(numbers)).tolist())) < 2


def refuse_dates_gone_wrong(numbers: np.ndarray, path: Path, time: str) -> None:
    """Raises DataError with the row of the first number (row,), NaN where none is needed, that is no date where nine of
    ten are. Numbers of one step are no dates that went wrong."""
    known = ~np.isnan(numbers)
    if rise_by_one_step(numbers[known]):
        return
    for form, noun in NOUNS.items():
        dates = dates_written(numbers, form)
        if not np.isnat(dates[known]).mean() <= 1 - MOSTLY:
            continue
        wrong = np.flatnonzero(known & np.isnat(dates))[0]
        raise DataError(
            f"{path}, column {time!r}, row {wrong + 2}: {numbers[wrong]:.15g} is no {noun}, as "
            f"{np.count_nonzero(~np.isnat(dates))} of {np.count_nonzero(known)} rows are; mend it or drop the row"
        )


def warn_of_counts(numbers: np.ndarray, path: Path, time: str) -> None:
    """Warns of numbers (row,) that are taken as dates and rise by 1, within one month or one year, as counts do."""
    if set(np.diff(np.unique(numbers)).tolist()) != {1.0}:
        return
    noun, iso = ("days", "2000-01-01") if numbers[0] > 1e6 else ("months", "2000-01")
    warnings.warn(
        f"{path}, column {time!r}: {numbers.min():.0f} to {numbers.max():.0f} are taken as {noun}; write {noun} as "
        f"{iso}, and numbers that count otherwise from 1",
        stacklevel=2,
    )
