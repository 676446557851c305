"""What tells runs apart in their names: the settings that were typed, or that a multirun varies."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from pipeline.compare.arms import given

LONGEST_WORD = 40
SAID_ALREADY = ("recipe", "data", "data.path", "model", "sampler", "kernel", "features.count", "seed")
SAYS_NOTHING = ("experiment", "run_name", "resume", "threads", "device", "extensions", "tracking", "compare", "hydra")


def short_word(word: str) -> str:
    """Returns a word without brackets and quotes; what is long or has other marks is cut and ends in four digits of its
    hash."""
    plain = re.sub(r"""[\[\]{}'" ]""", "", word)
    if re.fullmatch(rf"[\w.,:=+-]{{1,{LONGEST_WORD}}}", plain):
        return plain
    return re.sub(r"[^\w.,:=+-]", "", plain)[:LONGEST_WORD] + "~" + hashlib.sha256(word.encode()).hexdigest()[:4]


def is_said(key: str) -> bool:
    """Returns whether the name of every run says a setting, or the setting says nothing of its result."""
    return key in SAID_ALREADY or key.split(".")[0].split("/")[0] in SAYS_NOTHING


def word_of(key: str, value: str) -> str:
    """Returns a setting by the end of its key, as a name has it."""
    return short_word(".".join(key.split(".")[-2:]) + f"={value}")


def words_typed(overrides: Sequence[str]) -> list[str]:
    """Returns the settings that were typed and that the rest of a run's name does not say; of one that was typed twice
    the last."""
    values: dict[str, str] = {}
    for override in overrides:
        key, _, value = override.lstrip("+~").partition("=")
        values[key] = value
    return [word_of(key, value) for key, value in values.items() if not is_said(key)]


def words_varied(overrides: Sequence[str], varied: Sequence[str], said: Sequence[str]) -> list[str]:
    """Returns, of a job's settings, those that its multirun varies and that the other words of its name do not say.

    varied: their keys. said: the other words; a choice that is one of them, or a part of one between hyphens, is not
    said again, a number is.
    """
    values, whole = given(overrides), f"-{'-'.join(said)}-"
    pairs = {key: values[key] for key in varied if key in values and not is_said(key)}
    return [word_of(key, own) for key, own in pairs.items() if is_number(own) or f"-{short_word(own)}-" not in whole]


def is_number(text: str) -> bool:
    """Returns whether a text is a number."""
    return re.fullmatch(r"[+-]?[\d.]+(e[+-]?\d+)?", text) is not None
