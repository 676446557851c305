"""The normal form of values: every spelling that is looked for comes back to the value."""

from __future__ import annotations

import pytest

from data.documents.matching import DATE, TERM, spellings
from data.documents.values import normalised


@pytest.mark.parametrize("value", ["2001-04-18", "1999-09-30", "2012-12-12", "2010-01-01", "2003-02-28"])
def test_every_spelling_of_a_date_is_the_date(value: str) -> None:
    assert {normalised(DATE, " ".join(tokens)) for tokens in spellings(DATE, value)} == {value}


@pytest.mark.parametrize(
    ("value", "normal"),
    [("2_years", "24_month"), ("1_year", "12_month"), ("18_months", "18_month"), ("24_months", "24_month"),
     ("16_days", "16_day"), ("55.5_months", "55.5_month"), ("20_years", "240_month")],
)  # fmt: skip
def test_every_spelling_of_a_term_is_the_term(value: str, normal: str) -> None:
    assert {normalised(TERM, " ".join(tokens)) for tokens in spellings(TERM, value)} == {normal}


@pytest.mark.parametrize(
    ("kind", "text", "normal"),
    [
        ("party", "Nike,_Inc.", "nike_inc"),
        ("party", "NIKE Incorporated", "nike_inc"),
        ("jurisdiction", "New York.", "new_york"),
        (DATE, "April 18th, 2001", "2001-04-18"),
        (DATE, "18 April 01", "2001-04-18"),
        (DATE, "4/18/99", "1999-04-18"),
        (DATE, "18/4/99", "18_4_99"),
        (DATE, "April 31, 2001", "april_31_2001"),
        (DATE, "of", "of"),
        (TERM, "twenty-four (24) months", "24_month"),
        (DATE, "April 18, 4155551234", "april_18_4155551234"),
        (TERM, f"{'9' * 5000} months", f"{'9' * 5000}_months"),
        (TERM, "three weeks", "3_week"),
        (TERM, "some years", "some_years"),
        (TERM, "--", ""),
    ],
)
def test_values_have_a_normal_form(kind: str, text: str, normal: str) -> None:
    assert normalised(kind, text) == normal


@pytest.mark.parametrize("kind", [DATE, TERM])
def test_a_long_stretch_of_numbers_is_no_date_and_no_term_at_once(kind: str) -> None:
    """A network may call a whole page a date; its numbers are not tried as days, months and years."""
    numbers = [str(number) for number in range(1, 2000)]
    assert normalised(kind, " ".join(numbers)) == "_".join(numbers)
