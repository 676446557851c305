"""What tells runs apart in their names: the settings that were typed, or that a multirun varies."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from pipeline.compare.arms import given

LONGEST_WORD, LONGEST_NAME = 40, 200  # MLflow's databases hold names of 250
SAID_ALREADY = ("recipe", "data", "data.path", "model", "sampler", "kernel", "features.count", "seed")
COUNT = "features.count"
IN_EVERY_NAME = ("data", "seed", "tune.trial")
OF_NO_ACCOUNT = ("run_name", "resume", "tracking", "compare", "hydra")  # to what a job does
SAYS_NOTHING = ("experiment", "run_name", "resume", "threads", "device", "extensions", "tracking", "compare", "hydra")


def short_word(word: str) -> str:
    """Returns a word without brackets and quotes. A word that is long or has other marks is cut and ends in four digits
    of its hash."""
    plain = re.sub(r"""[\[\]{}'" ]""", "", word)
    if re.fullmatch(rf"[\w.,:=+-]{{1,{LONGEST_WORD}}}", plain):
        return plain
    return re.sub(r"[^\w.,:=+-]", "", plain)[:LONGEST_WORD] + "~" + hashlib.sha256(word.encode()).hexdigest()[:4]


def is_said(key: str) -> bool:
    """Returns whether the name of every run says a setting, or the setting says nothing of the run's result."""
    return key in SAID_ALREADY or key.split(".")[0].split("/")[0] in SAYS_NOTHING


def word_of(key: str, value: str) -> str:
    """Returns a setting as a name has it, by the end of its key."""
    return short_word(".".join(key.split(".")[-2:]) + f"={value}")


def words_typed(overrides: Sequence[str]) -> list[str]:
    """Returns the settings that were typed and that the rest of a run's name does not say. Of a setting that was typed
    twice the last counts."""
    values: dict[str, str] = {}
    for override in overrides:
        key, _, value = override.lstrip("+~").partition("=")
        values[key] = value
    return [word_of(key, value) for key, value in values.items() if not is_said(key)]


def words_varied(overrides: Sequence[str], varied: Sequence[str], said: Sequence[str]) -> list[str]:
    """Returns, of a job's settings, those that its multirun varies and that its name does not say in other words.

    varied: their keys. said: the words that a recipe gives to the name; a choice that is one of them, or a part of one
    between hyphens, is not said again, and a number is, but that of frequencies, as in m20.
    """
    values, whole = given(overrides), f"-{'-'.join(said)}-"
    pairs = {key: values[key] for key in varied if key in values and key.split(".")[0] not in OF_NO_ACCOUNT}
    named = {key: own for key, own in pairs.items() if key not in IN_EVERY_NAME}
    return [word_of(key, own) for key, own in named.items() if not is_said_by(key, own, whole)]


def is_said_by(key: str, value: str, whole: str) -> bool:
    """Returns whether a name, its words between hyphens, says what a setting is."""
    if key == COUNT:
        return f"-m{value}-" in whole
    return not is_number(value) and f"-{short_word(value)}-" in whole


def is_number(text: str) -> bool:
    """Returns whether a text is a number."""
    return re.fullmatch(r"[+-]?[\d.]+(e[+-]?\d+)?", text) is not None


def short_name(name: str) -> str:
    """Returns the name of a run; one that is too long for a database is cut and ends in eight digits of its hash."""
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9]}~{hashlib.sha256(name.encode()).hexdigest()[:8]}"
