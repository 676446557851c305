"""Labels of utterances: scores are numbers, binary ones 0 and 1, and names of classes are texts as they are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pandas as pd

from data.base import DataError
from data.files.cells import numbers_of, said_of_point, with_point
from data.multimodal.utterance_file import UtteranceTable
from data.utterances import LABEL_KINDS

TRUTHS = {"false": 0.0, "true": 1.0}
MOST_SHOWN = 5  # values of labels, where there are too many


class Labels(NamedTuple):
    """Holds the labels of all samples, and what they are: see `Utterances`."""

    values: np.ndarray
    kind: str
    classes: tuple[str, ...] = ()


def labels_of(table: UtteranceTable, name: str, kind: str) -> Labels:
    """Returns labels of a kind; "auto": classes where half or more are no numbers, binary where all are 0 and 1, else
    scores.

    Raises DataError for an unknown kind, for scores that are no finite numbers, for too few or too many values of the
    others, and where "auto" finds that most labels are numbers and one is none.
    """
    table.refuse_empty(name)
    numbers = label_numbers(table.column(name), table.decimal)
    parsed = numbers[table.starts]
    cells = table.column(name).iloc[table.starts]
    words = np.isnan(parsed) & [not said_of_point(str(cell), table.decimal) for cell in cells]
    if kind == "auto" and 0 < int(words.sum()) < len(cells) / 2:
        refuse_mixed(table, name, int(words.argmax()))
    if kind not in ("auto", *LABEL_KINDS):
        raise DataError(f"labels={kind} is unknown; choose one of auto, {', '.join(LABEL_KINDS)}")
    if kind == "auto":
        kind = "class" if words.any() else "binary" if set(parsed) == {0, 1} else "score"
    if kind == "binary" and np.isin(numbers, (0, 1)).all():
        return zeros_and_ones(table, name, numbers)
    return scores(table, name, numbers) if kind == "score" else classes(table, name, kind, parsed)


def label_numbers(column: Any, decimal: str) -> np.ndarray:
    """Returns what labels are as numbers, (row,) float64 and nearest to what is written; NaN for words. Where all are
    true or false they are 1 or 0."""
    numbers = numbers_of(column, decimal)
    if pd.api.types.is_numeric_dtype(column):
        return numbers
    texts = column.map(str).str.strip()
    kinds = pd.Series(texts.unique(), dtype=object)
    if set(kinds.str.lower()) <= set(TRUTHS):
        return texts.str.lower().map(TRUTHS).to_numpy(np.float64)
    read = ~np.isnan(numbers)
    numbers = numbers.copy()
    codes, known = pd.factorize(texts[read])
    written = (with_point(text) if decimal == "," else text for text in known)
    numbers[read] = np.array([float(text) for text in written])[codes]
    return numbers


def scores(table: UtteranceTable, name: str, numbers: np.ndarray) -> Labels:
    """Returns labels that are the numbers (row,). Raises DataError for one that is not finite, and for a sample with
    two."""
    if not np.isfinite(numbers).all():
        table.numbers([name])
    return Labels(one_number_each(table, name, numbers), "score")


def one_number_each(table: UtteranceTable, name: str, numbers: np.ndarray) -> np.ndarray:
    """Returns the number of each sample, (sample,), of numbers (row,). Raises DataError for a sample with two."""
    return replace(table, frame=table.frame.assign(**{name: numbers})).one_each(name).to_numpy(np.float64)


def zeros_and_ones(table: UtteranceTable, name: str, numbers: np.ndarray) -> Labels:
    """Returns binary labels that are the numbers 0 and 1, (row,), however they are written; the first writing of each
    is the name of its class. Raises DataError where one of them is missing."""
    values, first, codes = np.unique(one_number_each(table, name, numbers), return_index=True, return_inverse=True)
    names = tuple(map(str, table.column(name).iloc[table.starts[first]]))
    if len(values) < 2:
        refuse_count(table, name, "binary", names)
    return Labels(codes.astype(np.int64), "binary", names)


def classes(table: UtteranceTable, name: str, kind: str, parsed: np.ndarray) -> Labels:
    """Returns labels that name classes, those of numbers in their order. parsed (sample,): the numbers that they are,
    NaN for words. Raises DataError for too few or too many values."""
    own = table.one_each(name)
    order = dict(zip(own, parsed, strict=True)) if not np.isnan(parsed).any() else {}
    values = sorted(set(own), key=lambda value: (order.get(value, 0.0), str(value)))
    if len(values) < 2 or (kind == "binary" and len(values) > 2):
        refuse_count(table, name, kind, list(map(str, values)))
    numbers = own.map({value: i for i, value in enumerate(values)}).to_numpy(np.int64)
    return Labels(numbers, kind, tuple(map(str, values)))


def refuse_count(table: UtteranceTable, name: str, kind: str, values: Sequence[str]) -> NoReturn:
    """Raises DataError for labels of too few or too many values."""
    wanted = "two or more" if kind == "class" else "two"
    shown = ", ".join(values[:MOST_SHOWN]) + (", …" if len(values) > MOST_SHOWN else "")
    how = "; names of classes are compared as they are written" if len(values) > 2 else ""
    raise DataError(
        f"{table.file}: column {name!r} has {len(values)} values ({shown}); {kind} labels have {wanted}{how}"
    )


def refuse_mixed(table: UtteranceTable, name: str, sample: int) -> NoReturn:
    """Raises DataError for the label of a sample that is no number where most are."""
    row = table.starts[sample]
    what = f"{str(table.column(name).iloc[row])[:40]!r} is no number, and most labels are; mend it, or give"
    raise DataError(f"{table.file}, row {row + 2}, column {name!r}: {what}", give={"labels": "class"})
