"""Which way pairs of English and another language are translated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from data.base import DataError
from data.text_pairs import ENGLISH, Part, Task, TextPairs

DIRECTIONS = ("xe", "ex", "both")


def check_choice(data_set: str, key: str, value: str, choices: Sequence[str]) -> None:
    """Raises DataError, naming the choices, for a value that is none of them."""
    if value not in choices:
        raise DataError(f"{data_set}: {key}={value} is unknown; choose one of {', '.join(choices)}")


def tasks_into_english(languages: Sequence[str]) -> tuple[Task, ...]:
    """Returns the tasks from each of the languages into English."""
    return tuple(Task(language, ENGLISH) for language in languages)


def turned(part: Part) -> Part:
    """Returns the pairs with their sides exchanged."""
    return tuple(tuple((target, source) for source, target in pairs) for pairs in part)


def directed(data: TextPairs, direction: str) -> TextPairs:
    """Returns the tasks of a direction, given those into English: "xe", into English; "ex", out of it; "both", first
    all into English and then all out of it, on the same pairs. Raises DataError for another word."""
    check_choice(data.name, "direction", direction, DIRECTIONS)
    if direction == "xe":
        return data
    tasks = tuple(task.reversed for task in data.tasks)
    parts = {name: turned(part) for name, part in data.parts.items()}
    removed = tuple(replace(own, task=own.task.reversed) for own in data.removed)
    if direction == "both":
        tasks, removed = data.tasks + tasks, data.removed + removed
        parts = {name: data.parts[name] + part for name, part in parts.items()}
    return replace(data, tasks=tasks, parts=parts, removed=removed)
