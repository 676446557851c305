"""What the parameters that all forecasters have may be."""

from __future__ import annotations

from typing import Any

from models.forecasting.estimators.covariates import check_calendar
from models.runtime.parameters import number, one_of, shown, whole_number, yes_or_no

STANDARDISE = ("all", "each")  # series in one unit together, or each in its own


def check_lags(value: Any) -> None:
    """Raises TypeError or ValueError unless it is "auto" or a whole number of at least 0."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f'lags must be "auto" or a whole number of at least 0, got {shown(value)}')
        return
    whole_number("lags", value, least=0)


def check_coverage(value: Any) -> None:
    """Raises TypeError or ValueError unless the coverage is a number between 0 and 1."""
    number("coverage", value, above=0.0, below=1.0)


def check_shared_parameters(estimator: Any) -> None:
    """Raises TypeError or ValueError for the parameters that all forecasters have."""
    whole_number("seed", estimator.seed, least=0)
    number("validation", estimator.validation, above=0.0, below=1.0)
    season_of(estimator)
    one_of("standardise", estimator.standardise, STANDARDISE)
    check_calendar(estimator.calendar)
    check_refit(estimator)


def check_refit(estimator: Any) -> None:
    """Raises TypeError or ValueError for a refit that makes no sense beside the other parameters."""
    if not yes_or_no("refit", estimator.refit):
        return
    if not estimator.solves_again:
        raise ValueError(f"refit=True: {type(estimator).__name__} solves nothing; leave refit out")
    if getattr(estimator, "readout", "linear") != "linear" or getattr(estimator, "direct", False) is not False:
        raise ValueError("refit=True solves a linear readout alone; leave out refit, or readout and direct")


def season_of(estimator: Any) -> int | None:
    """Returns the season as a number of Python's own; None where none is given.

    Raises TypeError or ValueError unless it is a whole number of at least 2.
    """
    return None if estimator.season is None else whole_number("season", estimator.season, least=2)
