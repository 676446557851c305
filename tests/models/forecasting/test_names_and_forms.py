"""What is said of columns that are called by numbers, and of series that come in another form than the data."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from models import VARForecaster

pytestmark = pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")

DAYS = pd.date_range("2024-01-01", periods=60, freq="D")
KINDS: dict[str, Any] = {"int": int, "str": str}
TO_COME = pd.date_range(DAYS[-1], periods=4, freq="D")[1:]


def numbered(*names: Any) -> pd.DataFrame:
    values = np.random.default_rng(0).normal(size=(60, len(names))).cumsum(0)
    return pd.DataFrame(values, columns=list(names), index=DAYS)


def shops(*names: str, index: Any = DAYS) -> pd.DataFrame:
    values = np.random.default_rng(0).normal(size=(len(index), 2))
    return pd.concat({name: pd.DataFrame(values, columns=["sold", "promo"], index=index) for name in names})


@pytest.mark.parametrize(
    ("names", "kind", "message"),
    [
        ((1, 2), str, "new_rows has no column 1, 2, but '1', '2' (texts, not numbers); call its columns as in fit, "),
        (("1", "2"), int, "new_rows has no column '1', '2', but 1, 2 (numbers, not texts); call its columns as in fit"),
    ],
)
def test_names_that_are_numbers_here_and_texts_there_are_told_apart(names: Any, kind: Any, message: str) -> None:
    fitted = VARForecaster(orders=2).fit(numbered(*names)[:50])
    later: Any = numbered(*names)[50:]
    with pytest.raises(ValueError, match=re.escape(message)) as refused:
        fitted.update(later.rename(columns=kind))
    way = re.search(r"rename\(columns=(int|str)\)", str(refused.value))
    assert way is not None
    fitted.update(later.rename(columns=kind).rename(columns=KINDS[way[1]]))


@pytest.mark.parametrize(
    ("target", "names", "meant"),
    [
        ("0", (2, 0, 1), "did you mean 0 (a number, not a text)?"),
        (0, ("2", "0", "1"), "did you mean '0' (a text, not a number)?"),
        ([0, 1], ("2", "0", "1"), "did you mean '0', '1' (texts, not numbers)?"),
    ],
)
def test_a_target_that_is_a_number_there_is_told(target: Any, names: Any, meant: str) -> None:
    with pytest.raises(ValueError, match=f"; the columns are 2, 0, 1; {re.escape(meant)}$"):
        VARForecaster(target=target).fit(numbered(*names))


def test_a_target_that_is_nowhere_is_not_guessed() -> None:
    with pytest.raises(ValueError, match=r"target names 0, 3; the columns are 2, 0, 1$"):
        VARForecaster(target=[0, 3]).fit(numbered("2", "0", "1"))


def test_a_covariate_that_is_a_number_is_said_to_be_a_column() -> None:
    fitted = VARForecaster(orders=2, covariates=1).fit(numbered(0, 1))
    with pytest.raises(ValueError, match=r"known must hold column 1 for the 24 rows to come, got 20 rows$"):
        fitted.predict(24, known=np.zeros((20, 1)))
    with pytest.raises(ValueError, match=r"known must have 1 column, named 1, got 2$"):
        fitted.predict(24, known=np.zeros((24, 2)))


GIVEN: dict[str, tuple[Any, str]] = {
    "arrays": ([np.zeros(3), np.zeros(3)], "as one table whose index has two levels, .* got a list with a table or"),
    "one array": (np.zeros(3), "as one table whose index has two levels, .* second; got one table or array$"),
    "one series": (shops("north", index=TO_COME), "for each series of the data; it has no row of series south$"),
    "another series": (
        shops("north", "west", index=TO_COME),
        "for each series .*; it has series west, which is none of",
    ),
}


@pytest.mark.parametrize("case", GIVEN)
def test_known_values_in_another_form_are_told_the_form(case: str) -> None:
    fitted = VARForecaster(orders=2, covariates="promo").fit(shops("north", "south"))
    known, message = GIVEN[case]
    with pytest.raises(ValueError, match=f"^known must hold promo for the 3 rows to come, {message}"):
        fitted.predict(3, known=known)
    assert len(fitted.predict(3, known=shops("south", "north", index=TO_COME))) == 6


def test_known_values_of_other_rows_are_told_the_series() -> None:
    fitted = VARForecaster(orders=2, covariates="promo").fit(shops("north", "south"))
    with pytest.raises(ValueError, match=r"^known must hold promo for the 1 row to come of series north, got 3 rows$"):
        fitted.predict(1, known=shops("south", "north", index=TO_COME))


def test_a_table_of_groups_for_a_list_of_series_is_told_that_a_list_is_wanted() -> None:
    parts = [part.droplevel(0) for _, part in shops("north", "south").groupby(level=0)]
    fitted = VARForecaster(orders=2, covariates="promo").fit(parts)
    with pytest.raises(ValueError, match="as a list with a table or array for each series; got one table whose index"):
        fitted.predict(3, known=shops("north", "south", index=TO_COME))
