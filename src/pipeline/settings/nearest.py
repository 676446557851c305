"""The nearest of the words that would have been right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

LIKENESS = 0.7  # of difflib's ratio, from 0 to 1


def did_you_mean(word: str, known: Iterable[str], *, before: str = "") -> str:
    """Returns the end of a message: "; did you mean X?", empty where no other known word is like `word`. before: stands
    in front of X."""
    others = [str(name) for name in known if str(name) != word]
    return "".join(f"; did you mean {before}{name}?" for name in get_close_matches(word, others, n=1, cutoff=LIKENESS))


def no_such_choice(group: str, name: str, options: Sequence[str]) -> str:
    """Says that a group does not have the choice `name`, and names the choices that it has."""
    return f"{group}={name} is unknown; choose one of {', '.join(options)}{did_you_mean(name, options)}"


def joined(messages: Iterable[str]) -> str:
    """Returns messages in a row: each ends with its question mark or a semicolon, but the last."""
    *first, last = messages
    return "".join(f"{one} " if one.endswith("?") else f"{one}; " for one in first) + last
