"""The normal form of a value: what says the same is written the same, as 2001-04-18 for "April 18th, 2001"."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from itertools import pairwise, product

from data.documents.matching import (
    DATE,
    MONTHS,
    SHORT,
    TERM,
    UNITS,
    Tokens,
    date_spellings,
    number_words,
    ordinal_words,
    suffixed,
    term_spellings,
    tokens_of,
)

MOST_WORDS = 9  # of a spelling of a date or a term
MOST_DIGITS = 4  # of a year
MOST_LETTERS = 100  # of one word of them
TURN = 50  # years written with two figures below this are of this century
IN_WORDS = {number_words(number): str(number) for number in range(1, 100)}
DAYS = {ordinal_words(day): day for day in range(1, 32)} | {(suffixed(day),): day for day in range(1, 32)}
MONTH_NAMES = {name: month for names in (MONTHS, SHORT) for month, name in enumerate(names, start=1)} | {"sept": 9}


def normalised(kind: str, text: str) -> str:
    """Returns the normal form of a kind's value, from its words or from how it is published ("_" is a blank).

    A date is 2001-04-18; a term is 24_month, 3_week or 16_day; anything else is its words in small letters without
    punctuation, joined by "_", and so are dates and terms that cannot be read. "" for a text that says nothing.
    """
    tokens = tokens_of(text.replace("_", " "))
    if kind == DATE:
        return date_of(tokens) or "_".join(tokens)
    if kind == TERM:
        return term_of(tokens) or "_".join(tokens)
    return "_".join(tokens)


def date_of(tokens: Tokens) -> str | None:
    """Returns the date that some words spell, as `data.documents.matching.date_spellings` knows them; None for none."""
    if len(tokens) > MOST_WORDS:
        return None
    numbers = [int(token) for token in tokens if token.isdigit() and len(token) <= MOST_DIGITS]
    years = [*(own for own in numbers if own > 999), *(own + (2000 if own < TURN else 1900) for own in numbers[-1:])]
    months = [*(MONTH_NAMES[token] for token in tokens if token in MONTH_NAMES), *numbers]
    days = [*numbers, *(DAYS[own] for own in stretches(tokens) if own in DAYS)]
    for year, month, day in product(years, months, days):
        try:
            value = date(year, month, day).isoformat()
        except ValueError:
            continue
        if tokens in date_spellings(value):
            return value
    return None


def term_of(tokens: Tokens) -> str | None:
    """Returns the term that some words spell, as `data.documents.matching.term_spellings` knows them, years as months;
    None for none."""
    if len(tokens) > MOST_WORDS or max(map(len, tokens), default=0) > MOST_LETTERS:
        return None
    days = [str(DAYS[own]) for own in stretches(tokens) if own in DAYS]  # of an anniversary
    numbers = [*(token for token in tokens if token[0].isdigit()), *(IN_WORDS.get(own) for own in stretches(tokens))]
    for number, unit in product([own.lstrip("0") for own in (*numbers, *days) if own], UNITS):
        if tokens in term_spellings(f"{number}_{unit}s"):
            return f"{12 * int(number)}_month" if unit == "year" and number.isdigit() else f"{number}_{unit}"
    return None


def stretches(tokens: Tokens) -> Iterator[Tokens]:
    """Yields each pair of neighbours, then each token."""
    yield from pairwise(tokens)
    yield from ((token,) for token in tokens)
