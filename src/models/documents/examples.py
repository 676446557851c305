"""Documents with their answers, as a person hands them over: checked, and with a part that is held out."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from models.documents.predictor import CLASSES, TAGS
from models.documents.tables import Rows, check_column, documents_in
from models.documents.words import PageWords, check
from models.runtime.parameters import shown
from models.runtime.request_values import cells_in_column
from models.runtime.seeding import generator
from models.sequence.entities import OUTSIDE, follows

TAG, LABEL = "tag", "label"  # columns
EMPTY_LABEL = "its label is empty in some rows"
Answer = tuple[str, ...] | str


class Example(NamedTuple):
    """Holds a document with the tag of each word, or with its class."""

    document: PageWords
    answer: Answer


def examples_in(given: Any, answers: Any, task: str) -> list[Example]:
    """Returns documents with their answers.

    given: a table as `models.documents.tables.documents_in` reads it, with a column `tag` (empty is O) or `label`, the
    same in all rows of a document; or a list of `PageWords` beside their answers, a list of tags or a class each.
    Raises TypeError and ValueError, in one line, for what is none, for a document without words, and for tags that are
    not O, B-kind, or I-kind behind B or I of its kind.
    """
    found = examples_of_table(given, task) if hasattr(given, "columns") else examples_of_list(given, answers, task)
    if hasattr(given, "columns") and answers is not None:
        raise TypeError(f"answers stand in the table, in column {TAG if task == TAGS else LABEL}; leave answers out")
    if not found:
        raise ValueError("there are no documents; give at least one")
    for document, answer in found:
        if not document.words:
            raise ValueError(f"document {document.name}: it has no words; leave it out")
        check_tags(document, answer) if task == TAGS else check_label(document, answer)
    return found


def examples_of_table(table: Any, task: str) -> list[Example]:
    """Returns the documents of a table. Raises as `examples_in`."""
    name, other, rest = (TAG, LABEL, CLASSES) if task == TAGS else (LABEL, TAG, TAGS)
    instead = f"; task={rest} learns from {other}, which is there" if other in table.columns else ""
    check_column(table, name, f"task={task} learns from it and is scored by it{instead}")
    documents, cells = documents_in(table), cells_in_column(table[name])
    if task == TAGS:
        warn_of_missing_tags(documents, cells)
        return [Example(own, tuple(tag_in(cells[row], row) for row in rows)) for own, rows in documents]
    return [Example(own, label_in(own, [cells[row] for row in rows])) for own, rows in documents]


def tag_in(cell: Any, row: int) -> str:
    """Returns a cell's tag, O for an empty one. Raises ValueError for what is no text."""
    if is_empty(cell):
        return OUTSIDE
    if not isinstance(cell, str):
        raise ValueError(f"column {TAG}, row {row}: {shown(cell)} is no tag; give O, B-kind or I-kind")
    return cell.strip()


def is_empty(cell: Any) -> bool:
    """Returns whether a cell holds nothing, or blanks alone."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def warn_of_missing_tags(documents: Sequence[Rows], cells: Sequence[Any]) -> None:
    """Warns, with document and row, of words without a tag in a column that writes O at other words."""
    named = [(own.document.name, int(row)) for own in documents for row in own.rows]
    empty = [(name, row) for name, row in named if is_empty(cells[row])]
    if empty and any(isinstance(cells[row], str) and cells[row].strip() == OUTSIDE for _, row in named):
        name, row = empty[0]
        warnings.warn(
            f"{len(empty)} of {len(named)} words have no tag, the first in row {row}, document {name}; they are taken "
            f"for {OUTSIDE}, which others have; give them a tag, or leave documents without tags out",
            stacklevel=5,
        )


def label_in(document: PageWords, cells: Sequence[Any]) -> str:
    """Returns the class that all rows of a document give. Raises ValueError where they differ or some give none."""
    found = {label_text(cell) for cell in cells}
    if found == {""} or len(found) > 1:
        said = "it has two labels" if "" not in found else EMPTY_LABEL if len(found) > 1 else "it has no label"
        raise ValueError(f"document {document.name}: {said}; give all its rows the same one")
    return found.pop()


def label_text(cell: Any) -> str:
    """Returns a cell's class without blanks at its ends, "" for an empty one, and a whole number without decimals: a
    gap makes decimal numbers of a column."""
    if is_empty(cell):
        return ""
    whole = isinstance(cell, (float, np.floating)) and float(cell).is_integer()
    return f"{cell:.0f}" if whole else str(cell).strip()


def examples_of_list(given: Any, answers: Any, task: str) -> list[Example]:
    """Returns documents of a list. Raises as `examples_in`."""
    if not isinstance(given, Sequence) or not all(isinstance(own, PageWords) for own in given):
        raise TypeError(f"documents must be a table, or a list of PageWords; got {shown(given)}")
    if not isinstance(answers, Sequence) or isinstance(answers, str) or len(answers) != len(given):
        raise ValueError(f"answers must be a list with {task} of each of {len(given)} documents")
    for own in given:
        check(own)
    if task != TAGS:
        return [Example(own, answer) for own, answer in zip(given, answers, strict=True)]
    return [Example(own, tuple(tags)) for own, tags in zip(given, answers, strict=True)]


def check_tags(document: PageWords, tags: Answer) -> None:
    """Raises ValueError, naming document, page and word, unless there is a legal tag of each word."""
    if len(tags) != len(document.words):
        raise ValueError(f"document {document.name}: {len(document.words)} words and {len(tags)} tags; give one a word")
    for word, (last, tag) in enumerate(zip((OUTSIDE, *tags), tags, strict=False)):
        begins, _, kind = tag.partition("-") if isinstance(tag, str) else ("", "", "")
        if tag != OUTSIDE and not (begins in ("B", "I") and kind and follows(tag, last)):
            page, text = int(document.pages[word]) + document.first_page, shown(document.words[word])
            raise ValueError(
                f"document {document.name}, page {page}, word {word + 1} ({text}): its tag {shown(tag)} is not O, "
                "B-kind, or I-kind behind B or I of its kind; mend it"
            )


def check_label(document: PageWords, label: Any) -> None:
    """Raises ValueError for a label that is no text."""
    if not isinstance(label, str) or not label.strip():
        raise ValueError(f"document {document.name}: its label {shown(label)} is no text; give the name of its class")


def names_in(examples: Sequence[Example], task: str) -> set[str]:
    """Returns the kinds of entities that documents have, or the classes."""
    if task != TAGS:
        return {str(own.answer) for own in examples}
    return {tag[2:] for own in examples for tag in own.answer if tag != OUTSIDE}


def outputs_of(examples: Sequence[Example], task: str) -> tuple[str, ...]:
    """Returns the tags, O first and B and I of every kind, or the classes. Raises ValueError for fewer than two."""
    names = sorted(names_in(examples, task))
    if task != TAGS:
        if len(names) < 2:
            raise ValueError("there is one class alone; give documents of two at least")
        return tuple(names)
    if not names:
        raise ValueError("no word has a tag but O; give documents with tags")
    return (OUTSIDE, *(f"{mark}-{kind}" for kind in names for mark in "BI"))


def warn_of_unknown(examples: Sequence[Example], outputs: Sequence[str], task: str) -> None:
    """Warns of classes, or kinds of entities, that are none of a model's, by name."""
    known = {name[2:] for name in outputs} if task == TAGS else set(outputs)
    unknown = sorted(names_in(examples, task) - known)
    if unknown:
        what = "kinds of entities" if task == TAGS else "classes"
        warnings.warn(f"the model does not know the {what} {', '.join(unknown)}; they count as missed", stacklevel=3)


def split(examples: Sequence[Example], share: float, task: str, *, seed: int) -> tuple[list[Example], list[Example]]:
    """Returns the documents to learn from, and those that are held out: at most that share of them, drawn.

    Documents with the same words stay together, so that none that is held out is learned by heart. They are learned
    from where no other document has their class, or a kind of their entities. Warns where a share above 0 leaves none
    to hold out, and says where that is for documents that are alike, or that alone have a class.
    """
    alike, most, held = dict[tuple[str, ...], list[int]](), int(share * len(examples)), set[int]()
    for place, own in enumerate(examples):
        alike.setdefault(own.document.words, []).append(place)
    left = documents_by_name(examples, task)
    for place in torch.randperm(len(examples), generator=generator(seed, "documents/held_out")).tolist():
        together = alike[examples[place].document.words]
        names = documents_by_name([examples[row] for row in together], task)
        others = all(left[name] > count for name, count in names.items())
        if place not in held and len(held) + len(together) <= most and others:
            held.update(together)
            left -= names
    if share and not held:
        warn_of_none_held_out(min(map(len, alike.values())), most)
    parts = ([own for place, own in enumerate(examples) if (place in held) is out] for out in (False, True))
    learned, held_out = parts
    return learned, held_out


def documents_by_name(examples: Sequence[Example], task: str) -> Counter[str]:
    """Returns in how many documents each class, or each kind of entity, is."""
    return Counter(name for own in examples for name in names_in([own], task))


def warn_of_none_held_out(fewest: int, most: int) -> None:
    """Warns that no document is held out. fewest: documents of the same words, of those that are fewest. most: how many
    may be held out."""
    why, way = "", "give more documents, or raise held_out"
    if most and fewest > most:
        why = f", as each has the same words as {fewest - 1} others or more"
        way = "give other documents, or raise held_out"
    elif most:
        why, way = ", as none would be left of a class, or of a kind of entity", "give more documents of each"
    warnings.warn(f"no document is held out, so that no epoch is chosen{why}; {way}", stacklevel=4)
