"""Values found in written-out spellings, and what looks like them and is none."""

from __future__ import annotations

import pytest

from data.documents.matching import find_values, said, tokens_of


def stretches(text: str, kind: str, value: str) -> list[str]:
    """Returns the words that say a value."""
    words = text.split()
    return [" ".join(words[own.first : own.end]) for own in find_values(words, [(kind, value)])]


@pytest.mark.parametrize(
    "spelt",
    [
        "April 18, 2001", "April 18th, 2001", "Apr. 18, 2001", "18 April 2001", "18-Apr-01", "4/18/2001", "04/18/01",
        "18th day of April, 2001", "eighteenth day of April, in the year 2001", "2001-04-18", "April 18 th , 2001",
    ],
)  # fmt: skip
def test_a_date_is_found_in_its_spellings(spelt: str) -> None:
    assert stretches(f"made as of {spelt} between", "effective_date", "2001-04-18") == [spelt.removesuffix(" ,")]


@pytest.mark.parametrize(
    "decoy", ["April 8, 2001", "April 18, 2011", "May 18, 2001", "4/8/2001", "14/18/2001", "April 2001", "18 April"]
)
def test_another_date_is_none(decoy: str) -> None:
    assert stretches(f"made as of {decoy} between", "effective_date", "2001-04-18") == []


@pytest.mark.parametrize(
    ("value", "spelt"),
    [
        ("2_years", "two (2) years"), ("2_years", "two-year"), ("2_years", "2 year"), ("2_years", "second anniversary"),
        ("2_years", "twenty-four (24) months"), ("24_months", "two years"), ("18_months", "18 (eighteen) months"),
        ("1_year", "one full year"), ("55.5_months", "55.5 months"), ("21_days", "twenty one (21) days"),
    ],
)  # fmt: skip
def test_a_term_is_found_in_its_spellings(value: str, spelt: str) -> None:
    assert stretches(f"for a period of {spelt} from", "term", value) == [spelt]


@pytest.mark.parametrize("decoy", ["two (2) days", "twelve years", "2 months", "(2) parties", "section 2"])
def test_another_term_is_none(decoy: str) -> None:
    assert stretches(f"for a period of {decoy} from", "term", "2_years") == []


@pytest.mark.parametrize(
    ("value", "spelt"),
    [
        ("Nike_Inc.", "NIKE, Inc.,"), ("Nike_Inc.", "Nike Incorporated"), ("Acme_LP", "“Acme, L.P.”"),
        ("Smith_and_Sons_Ltd.", "Smith & Sons Limited"), ("O'Neil_LLC", "O’Neil L.L.C."),
        ("Prémaman_Sa", "Premaman S.A."),
    ],
)  # fmt: skip
def test_a_name_is_found_without_its_punctuation(value: str, spelt: str) -> None:
    assert stretches(f"between {spelt} and others", "party", value) == [spelt]


@pytest.mark.parametrize("decoy", ["Nike Ltd.", "Nikel Inc.", "Nike and Inc.", "Inc. Nike"])
def test_another_name_is_none(decoy: str) -> None:
    assert stretches(f"between {decoy} and others", "party", "Nike_Inc.") == []


def test_the_longest_stretch_counts_where_two_share_words() -> None:
    words = ["New", "York", "University", "of", "New", "York", ",", "in", "York"]
    found = find_values(words, [("jurisdiction", "New_York"), ("party", "New_York_University")])
    assert [(own.first, own.end, own.kind) for own in found] == [(0, 3, "party"), (4, 6, "jurisdiction")]


def test_a_value_is_said_even_where_a_longer_one_has_its_words() -> None:
    answers = [("jurisdiction", "New_York"), ("party", "New_York_University"), ("party", "Absent_Inc.")]
    assert said(["the", "New", "York", "University"], answers) == set(answers[:2])


def test_words_are_parted_where_their_punctuation_parts_them() -> None:
    assert tokens_of("Non-Disclosure/NDA") == ("non", "disclosure", "nda")
    assert tokens_of("L.P., No. 3.5") == ("lp", "no", "3.5")
    assert find_values([], [("party", "Nike_Inc.")]) == []
    assert find_values(["..."], [("party", "...")]) == []
