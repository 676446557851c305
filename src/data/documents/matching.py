"""Finds values in the words of a document: names without punctuation, dates in many spellings, terms in units."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
from itertools import product
from typing import NamedTuple

Tokens = tuple[str, ...]

TOKEN = re.compile(r"[a-z]+|[0-9]+(?:\.[0-9]+)?(?:st|nd|rd|th)?")
ABBREVIATED = re.compile(r"(?<=\b[a-z])\.(?=[a-z]\b)")  # the points of L.P. but the last
SHORT_FORMS = {"limited": "ltd", "incorporated": "inc", "corporation": "corp", "company": "co"}
APOSTROPHE = re.compile("['’`´]")
ONES, TENS, ORDINALS, MONTHS = (
    text.split()
    for text in (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen",
        "zero ten twenty thirty forty fifty sixty seventy eighty ninety",
        "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
        "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth",
        "january february march april may june july august september october november december",
    )
)
SHORT = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
UNITS = ("year", "month", "week", "day")
DATE, TERM = "effective_date", "term"  # kinds that are more than the words of a name


class Found(NamedTuple):
    """Is a stretch of words, `first` up to but without `end`, that says a value of a kind."""

    first: int
    end: int
    kind: str
    value: str


@lru_cache(maxsize=1 << 16)
def tokens_of(text: str) -> Tokens:
    """Returns runs of letters a to z without accents, and numbers, in lower case, without what tells spellings of one
    name apart: "Nike's" and "L.P." are one token each, "&" is "and", and "Limited" is "ltd"."""
    plain = unicodedata.normalize("NFKD", APOSTROPHE.sub("", text).lower().replace("&", " and "))
    joined = ABBREVIATED.sub("", "".join(own for own in plain if not unicodedata.combining(own)))
    found: list[str] = TOKEN.findall(joined)
    return tuple(SHORT_FORMS.get(token, token) for token in found)


def number_words(number: int) -> Tokens:
    """Returns a number below 100 in words."""
    if number < len(ONES):
        return (ONES[number],)
    tens, ones = divmod(number, 10)
    return (TENS[tens], *([ONES[ones]] if ones else []))


def ordinal_words(day: int) -> Tokens:
    """Returns the day of a month in words, as "twenty first"."""
    if day < len(ORDINALS):
        return (ORDINALS[day],)
    tens, ones = divmod(day, 10)
    return (TENS[tens], ORDINALS[ones]) if ones else ("thirtieth",)


def suffixed(day: int) -> str:
    """Returns the day of a month as 1st, 2nd, 3rd, 4th."""
    ending = "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


def date_spellings(value: str) -> set[Tokens]:
    """Returns how a date, written as 2001-04-18, may stand in a text: with the month by name or short, before the day
    or behind it, and in numbers, month first."""
    try:
        day = date.fromisoformat(value)
    except ValueError:
        return {tokens_of(value)}
    months = {(MONTHS[day.month - 1],), (SHORT[day.month - 1],), *([("sept",)] if day.month == 9 else [])}
    number = str(day.day)
    plain = {(number,), (f"0{number}",), (suffixed(day.day),), (number, suffixed(day.day)[-2:]), ordinal_words(day.day)}
    days = {*plain, *((*own, "day") for own in plain)}
    years = {(str(day.year),), ("in", "the", "year", str(day.year)), ("of", str(day.year))}
    short_years = {(str(day.year),), (f"{day.year % 100:02d}",)}
    spelled = {month + own + year for month, own, year in product(months, days, years)}
    spelled |= {own + of + month + year for own, of, month, year in product(days, ((), ("of",)), months, years)}
    spelled |= {own + month + year for own, month, year in product(plain, months, short_years)}
    in_numbers = product(padded(day.month), padded(day.day), short_years)
    spelled |= {(month, own, *year) for month, own, year in in_numbers}
    return spelled | {(str(day.year), month, own) for month, own in product(padded(day.month), padded(day.day))}


def padded(number: int) -> set[str]:
    """Returns a number as it is, and with a zero before a single digit."""
    return {str(number), f"{number:02d}"}


def amounts(number: str, unit: str) -> Iterator[tuple[str, str]]:
    """Yields the number of units, and the same stretch in years or months."""
    yield number, unit
    if number.isdigit() and unit == "year":
        yield str(12 * int(number)), "month"
    elif number.isdigit() and unit == "month" and int(number) % 12 == 0:
        yield str(int(number) // 12), "year"


def term_spellings(value: str) -> set[Tokens]:
    """Returns how a term, written as 2_years, may stand in a text: "two (2) years", "2 year", "second anniversary"."""
    number, _, unit = value.replace("_", " ").strip().partition(" ")
    singular = unit.strip().lower().removesuffix("s")
    if singular not in UNITS:
        return {tokens_of(value.replace("_", " "))}
    spelled: set[Tokens] = set()
    for own, length in amounts(number, singular):
        spelled |= {(*said, *of, length + s) for said, of, s in product(numbers(own), ((), ("full",)), ("", "s"))}
        if length == "year" and own.isdigit() and 0 < int(own) < len(ORDINALS):
            spelled |= {(said, "anniversary") for said in (ORDINALS[int(own)], suffixed(int(own)))}
    return spelled


def numbers(number: str) -> set[Tokens]:
    """Returns a number in digits, in words, and in both: "twenty four (24)", "24 (twenty four)"."""
    if not number.isdigit() or int(number) > 99:
        return {(number,)}
    words = number_words(int(number))
    return {words, *(own for d in padded(int(number)) for own in ((d,), (*words, d), (d, *words)))}


def spellings(kind: str, value: str) -> set[Tokens]:
    """Returns the ways in which a value of a kind may stand in a text, as tokens; "_" in a value is a blank."""
    if kind == DATE:
        return date_spellings(value.replace("_", "-"))
    if kind == TERM:
        return term_spellings(value)
    return {tokens_of(value.replace("_", " "))}


class Text:
    """Holds the tokens of a document's words, and of each the number of its word."""

    def __init__(self, words: Sequence[str]) -> None:
        parts = [(token, i) for i, word in enumerate(words) for token in tokens_of(word)]
        self.tokens: Tokens = tuple(token for token, _ in parts)
        self.words = [i for _, i in parts]
        self.places: Mapping[str, list[int]] = defaultdict(list)
        for place, token in enumerate(self.tokens):
            self.places[token].append(place)

    def find(self, spelled: Tokens) -> Iterator[tuple[int, int]]:
        """Yields the stretches of words that say these tokens."""
        for place in self.places.get(spelled[0], ()) if spelled else ():
            end = place + len(spelled)
            if self.tokens[place:end] == spelled:
                yield self.words[place], self.words[end - 1] + 1


def find_values(words: Sequence[str], answers: Iterable[tuple[str, str]]) -> list[Found]:
    """Returns where a document's words say one of its answers, (kind, value), in their order.

    Of stretches that share a word the longest counts, then the first, then the answer that stands first.
    """
    text = Text(words)
    found = [
        (first - end, first, rank, Found(first, end, kind, value))
        for rank, (kind, value) in enumerate(answers)
        for spelled in spellings(kind, value)
        for first, end in text.find(spelled)
    ]
    taken: set[int] = set()
    kept: list[Found] = []
    for *_, own in sorted(found):
        if taken.isdisjoint(range(own.first, own.end)):
            taken.update(range(own.first, own.end))
            kept.append(own)
    return sorted(kept)


def said(words: Sequence[str], answers: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Returns those of the answers that the words say, whether or not they share words."""
    text = Text(words)
    return {
        (kind, value)
        for kind, value in answers
        if any(next(text.find(spelled), None) for spelled in spellings(kind, value))
    }
