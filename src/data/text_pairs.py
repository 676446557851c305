"""The record that loaders of sentence pairs return: tasks, each from one language into another, and a split."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

from data.base import DataError, spread

PARTS = ("train", "validation", "test")
ENGLISH = "en"
MOST_CHARACTERS = 10_000
LANGUAGE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,15}")
# Control characters that are no white space, byte order marks, halves of pairs, and what Unicode calls noncharacters.
UNWANTED = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufeff\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")

Pair = tuple[str, str]
Pairs = tuple[Pair, ...]
Side = tuple[str, str]  # a language and a text in it


def tidied(text: str) -> str:
    """Returns a text in Unicode's form NFC, with a single space wherever it has white space and none at its ends, and
    without spaces of no width (U+200B), which are not seen."""
    return " ".join(unicodedata.normalize("NFC", text.replace("\u200b", "")).split())


def fault_of(text: str) -> str | None:
    """Returns why a text can be no side of a pair, in a few words, or None for one that can."""
    unwanted = UNWANTED.search(text)
    if unwanted:
        return f"it holds the character U+{ord(unwanted.group()):04X}, which is no text; remove it"
    if not text.replace("\u200b", "").strip():
        return "it is empty; fill it in or leave the pair out"
    if len(text) > MOST_CHARACTERS:
        return f"it has {len(text)} characters, and {MOST_CHARACTERS} are the most; cut it into sentences"
    return None


class Task(NamedTuple):
    """Names the languages that are translated from and into."""

    source: str
    target: str

    @property
    def name(self) -> str:
        """The task as it is written in settings, metrics and tables: `de-en`."""
        return f"{self.source}-{self.target}"

    @property
    def reversed(self) -> Task:
        """The task of the other direction."""
        return Task(self.target, self.source)

    def check(self, where: str) -> None:
        """Raises DataError, beginning with `where`, for what names no language, and for one language on both sides."""
        for language in self:
            if not LANGUAGE.fullmatch(language):
                raise DataError(
                    f"{where}: {language!r} names no language; take up to 16 letters, digits and _, a letter first"
                )
        if self.source == self.target:
            raise DataError(f"{where}: from {self.source} into {self.target} is no translation; give two languages")

    def sides(self, pair: Pair) -> tuple[Side, Side]:
        """Returns both texts of a pair with their languages, the English one first where there is one."""
        first, second = zip(self, pair, strict=True)
        return (second, first) if second[0] == ENGLISH else (first, second)


@dataclass(frozen=True)
class Removed:
    """Counts pairs of a task that a loader left out of a part, for one reason."""

    task: Task
    part: str
    reason: str
    pairs: int


Part = tuple[Pairs, ...]  # the pairs of each task, in the order of `TextPairs.tasks`


def texts_in(tasks: Sequence[Task], parts: Mapping[str, Part], names: Iterable[str]) -> dict[str, set[str]]:
    """Returns the texts of some parts by their language, whatever the tasks."""
    texts: dict[str, set[str]] = {language: set() for task in tasks for language in task}
    for name in names:
        for task, pairs in zip(tasks, parts[name], strict=True):
            texts[task.source].update(source for source, _ in pairs)
            texts[task.target].update(target for _, target in pairs)
    return texts


def first_fault(pairs: Pairs) -> str | None:
    """Returns the number of the first pair with a text that is none, and why; None where there is no such pair."""
    texts = [text for pair in pairs for text in pair]
    if (
        not UNWANTED.search("\n".join(texts))
        and all(text.replace("\u200b", "").strip() for text in texts)
        and max(map(len, texts), default=0) <= MOST_CHARACTERS
    ):
        return None
    faults = ((i // 2 + 1, fault_of(text)) for i, text in enumerate(texts))
    return next((f"{number}: {fault}" for number, fault in faults if fault), None)


@dataclass(frozen=True, eq=False)
class TextPairs:
    """Holds sentence pairs of several tasks in training, validation and test part.

    parts: by `PARTS` and names of further test parts, for each task its pairs (source, target). In a further part a
    task may have none. Texts are as `tidied` leaves them.
    source: what `data.source` is tagged with. stand_in: generated in place of real data; no claim is made from it.
    removed: what the loader left out, counted.
    families: where it is known, the family of each language but English.
    Raises DataError for a task that stands twice or has no pair, for a text that is none, and for a text that two of
    training, validation and test part share in a language, whatever the tasks: what is tested was not trained on.
    """

    kind: ClassVar[str] = "pairs of texts"

    name: str
    tasks: tuple[Task, ...]
    parts: Mapping[str, Part]
    source: str
    stand_in: bool = False
    removed: tuple[Removed, ...] = ()
    families: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if tuple(self.parts)[: len(PARTS)] != PARTS or not self.tasks:
            raise DataError(f"{self.name}: parts {', '.join(self.parts)} of {len(self.tasks)} tasks are not known")
        if len(set(self.tasks)) < len(self.tasks):
            raise DataError(f"{self.name}: a task stands twice; give each once")
        for task in self.tasks:
            task.check(self.name)
        for name, part in self.parts.items():
            self.check_part(name, part)
        self.check_overlaps()

    def check_part(self, name: str, part: Part) -> None:
        """Raises DataError for a part that lacks a task, and for a text that is none."""
        if len(part) != len(self.tasks):
            raise DataError(f"{self.name}: the {name} part has {len(part)} of {len(self.tasks)} tasks")
        for task, pairs in zip(self.tasks, part, strict=True):
            if not pairs and name in PARTS:
                raise DataError(f"{self.name}: task {task.name} has no pair in the {name} part; give more, or leave it")
            fault = first_fault(pairs)
            if fault:
                raise DataError(f"{self.name}: {name} part, {task.name}, pair {fault}")

    def check_overlaps(self) -> None:
        """Raises DataError for a text of the training part that another part has, or of validation that a test has."""
        for name, others in (("train", self.held), ("validation", self.tests)):
            texts = texts_in(self.tasks, self.parts, [name])
            for language, held in texts_in(self.tasks, self.parts, others).items():
                shared = min(texts.get(language, set()) & held, default=None)
                if shared is not None:
                    raise DataError(
                        f"{self.name}: {shared!r}, in language {language}, is in the {name} part and in one of "
                        f"{', '.join(others)} too; leave it out of one"
                    )

    @property
    def tests(self) -> tuple[str, ...]:
        """The names of the test part and of the further ones."""
        return tuple(self.parts)[2:]

    @property
    def held(self) -> tuple[str, ...]:
        """The names of all parts but the training part."""
        return tuple(self.parts)[1:]

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of all tasks, each once, in the order in which tasks name them."""
        return tuple(dict.fromkeys(language for task in self.tasks for language in task))

    def pairs(self, part: str, task: Task) -> Pairs:
        """Returns the pairs of a task in a part. Raises DataError, naming those known, for an unknown task."""
        return self.parts[part][self.place(task)]

    def place(self, task: Task) -> int:
        """Returns the number of a task. Raises DataError, naming those known, for an unknown one."""
        if task not in self.tasks:
            known = ", ".join(own.name for own in self.tasks)
            raise DataError(f"{self.name}: there is no task {task.name}; there are {known}")
        return self.tasks.index(task)

    def only(self, tasks: Iterable[Task]) -> TextPairs:
        """Returns the same pairs of some of the tasks, in the order given. Raises DataError for an unknown one."""
        chosen = tuple(tasks)
        places = [self.place(task) for task in chosen]
        parts = {name: tuple(part[i] for i in places) for name, part in self.parts.items()}
        return replace(self, tasks=chosen, parts=parts, removed=tuple(r for r in self.removed if r.task in chosen))

    def shortened(self, *, train: int | None = None, held: int | None = None) -> TextPairs:
        """Returns at most `train` training pairs a task, and `held` of every other part, each spread evenly over all;
        None keeps all, which are not copied."""
        if train is None and held is None:
            return self
        most = {name: train if name == "train" else held for name in self.parts}
        parts = {
            name: tuple(tuple(pairs[i] for i in spread(len(pairs), most[name])) for pairs in part)
            for name, part in self.parts.items()
        }
        return replace(self, parts=parts)

    def sizes(self) -> list[dict[str, str | int]]:
        """Returns a row a task: `task`, the number of pairs by name of the part, and how many were `removed`."""
        lost = {task: sum(own.pairs for own in self.removed if own.task == task) for task in self.tasks}
        return [
            {"task": task.name, **{name: len(part[i]) for name, part in self.parts.items()}, "removed": lost[task]}
            for i, task in enumerate(self.tasks)
        ]

    @cached_property
    def checksum(self) -> str:
        """Returns the SHA-256 over tasks, split and texts: equal data, equal checksums."""
        digest = hashlib.sha256()
        for name, part in self.parts.items():
            for task, pairs in zip(self.tasks, part, strict=True):
                digest.update(repr((name, tuple(task), pairs)).encode())
        return digest.hexdigest()
