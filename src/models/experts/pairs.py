"""Sentence pairs as a person hands them over: checked, by task, and with a part that is held out."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch

from models.experts.predictor import tidied
from models.experts.tags import Languages
from models.runtime.held_out import warn_of_few_held_out
from models.runtime.parameters import shown
from models.runtime.seeding import generator

LEAST_HELD_OUT = 10  # pairs of a validation part; with fewer there is none
Side = tuple[str, str]  # a language and a text of it
COLUMNS = ("text", "translation", "from", "to")


class Pair(NamedTuple):
    """Holds a sentence, its translation, and the languages of both."""

    text: str
    translation: str
    source: str
    target: str

    @property
    def task(self) -> Languages:
        """Returns the languages that are translated from and into."""
        return self.source, self.target

    @property
    def sides(self) -> set[Side]:
        """Returns both texts, each with its language."""
        return {(self.source, self.text), (self.target, self.translation)}


def pairs_in(given: Any) -> list[Pair]:
    """Returns the pairs of a table with the columns text, translation, from and to, or of rows of these four.

    Texts are as `models.experts.predictor.tidied` leaves them. Raises ValueError, naming the pair by its place from 0,
    for a row of other length, what is no text, an empty text, what names no language, and equal languages; and where a
    column is missing or there is no pair.
    """
    rows = list(rows_of(given))
    if not rows:
        raise ValueError("there are no pairs; give rows of text, translation, from, to")
    return [pair_of(place, row) for place, row in enumerate(rows)]


def rows_of(given: Any) -> Iterable[Any]:
    """Returns the rows of a table, or what was given."""
    columns = getattr(given, "columns", None)
    if columns is None:
        return given
    missing = next((name for name in COLUMNS if list(columns).count(name) != 1), None)
    if missing is not None:
        raise ValueError(f"column {missing} must be there once; pairs need {', '.join(COLUMNS)}")
    return zip(*(given[name] for name in COLUMNS), strict=True)


def pair_of(place: int, row: Any) -> Pair:
    """Returns a row as a pair. Raises ValueError as `pairs_in`."""
    cells: list[Any] = list(row) if isinstance(row, Sequence) and not isinstance(row, str) else []
    if len(cells) != len(COLUMNS) or not all(isinstance(cell, str) for cell in cells):
        raise ValueError(f"pair {place} must be four texts, {', '.join(COLUMNS)}; got {shown(row)}")
    text, translation, source, target = cells
    for language in (source, target):
        if not language.isidentifier():  # a tag is one with a 2, and a task is two with a minus
            raise ValueError(f"pair {place}: {shown(language)} names no language; take letters, digits and _")
    if source == target:
        raise ValueError(f"pair {place}: from and to are both {source!r}; give two languages")
    return Pair(side_of(place, "text", text), side_of(place, "translation", translation), source, target)


def side_of(place: int, name: str, text: str) -> str:
    """Returns a side of a pair, tidied. Raises ValueError where it is empty, or holds what is no text."""
    try:
        found = tidied(text)
    except ValueError as error:
        raise ValueError(f"pair {place}, {name}: {error}") from error
    if not found:
        raise ValueError(f"pair {place}, {name}: it is empty; fill it in or leave the pair out")
    return found


def tasks_of(pairs: Sequence[Pair]) -> tuple[Languages, ...]:
    """Returns the tasks of pairs, each once, in the order in which they come."""
    return tuple(dict.fromkeys(pair.task for pair in pairs))


def split(pairs: Sequence[Pair], share: float, *, seed: int) -> tuple[list[Pair], list[Pair]]:
    """Returns the pairs to learn from, and those that are held out: that share of each task, see `drawn`.

    Where these are fewer than `LEAST_HELD_OUT` in all, all pairs are learned from, and a warning says so. What shares a
    text with a pair that is held out is not learned from, whatever its task. Warns where that are more pairs than are
    held out. Raises ValueError for a task of which nothing is left.
    """
    held_out = drawn(pairs, share, seed=seed)
    if len(held_out) < LEAST_HELD_OUT:
        if share:
            warn_of_few_held_out(share, len(pairs), "pairs", least=LEAST_HELD_OUT)
        return list(pairs), []
    seen = set[Side]().union(*(pair.sides for pair in held_out))
    learned = [pair for pair in pairs if not pair.sides & seen]
    for task in tasks_of(pairs):
        if task not in tasks_of(learned):
            raise ValueError(
                f"task {'-'.join(task)}: no pair is left to learn from; give more pairs, or lower held_out"
            )
    lost = len(pairs) - len(learned) - len(held_out)
    if lost > len(held_out):
        warnings.warn(
            f"held_out={share:g} holds out {len(held_out)} of {len(pairs)} pairs, and {lost} more are not learned "
            "from, as they share a sentence with one of these; lower held_out, or give a sentence fewer times",
            stacklevel=3,
        )
    return learned, held_out


def drawn(pairs: Sequence[Pair], share: float, *, seed: int) -> list[Pair]:
    """Returns the pairs that are held out: that share of each task, rounded, in a random order.

    One task is drawn after the other, and of each those pairs first that share a text with one that is held out
    already, as they are lost to learning. So tasks over the same sentences hold out the same ones.
    """
    order = torch.randperm(len(pairs), generator=generator(seed, "experts/held_out")).tolist()
    held_out, seen = list[Pair](), set[Side]()
    for task in tasks_of(pairs):
        own = [pairs[place] for place in order if pairs[place].task == task]
        own.sort(key=lambda pair: pair.sides.isdisjoint(seen))
        chosen = own[: round(share * len(own))]
        held_out += chosen
        seen = seen.union(*(pair.sides for pair in chosen))
    return held_out
