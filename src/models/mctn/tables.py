"""Sentiment of a table: a text or a step a row in, a row a sample out; saved with its word vectors, without pickle."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from models.mctn.predictor import MOST_STEPS, SentimentPredictor, load_predictor
from models.runtime.request_values import numbers_in_column

if TYPE_CHECKING:
    import pandas as pd

SAMPLE, STEP, TEXT = "sample", "step", "text"
NETWORK, COLUMNS, WORDS = "network", "columns.json", "words.npz"
ADVICE = "leave the row out"
APOSTROPHE = re.compile(r"(?<=[a-z0-9])[\u2019\u02bc](?=[a-z0-9])")  # of print, in a word in lower case
Steps = TypeVar("Steps", list[str], np.ndarray)


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Holds a vector for each word that is known. words: each once; vectors: (word + 1, entry), of which row 0 stands
    for every other word; pattern: what is a word of a text in lower case, a regular expression, to which an apostrophe
    of print (’) in a word is one that is typed (')."""

    words: tuple[str, ...]
    vectors: np.ndarray
    pattern: str

    @cached_property
    def rows(self) -> dict[str, int]:
        """The row of each known word."""
        return {word: row for row, word in enumerate(self.words, start=1)}

    def steps(self, text: str, sample: str, most: int | None = None) -> np.ndarray:
        """Returns the vectors of the first `most` words of a text, None for all, float64 (word, entry). Raises
        ValueError, naming the sample, as `first_steps`."""
        words = first_steps(self._words(text), f"sample {sample}, {TEXT}", most)
        ids = [self.rows.get(word, 0) for word in words]
        return self.vectors[ids].astype(np.float64)

    def warn_of_unknown(self, texts: Sequence[str]) -> None:
        """Warns, with their number, of texts that have words of which none is known."""
        found = [self._words(text) for text in texts]
        unknown = sum(bool(words) and not any(word in self.rows for word in words) for words in found)
        if unknown:
            warnings.warn(f"{unknown} of {len(found)} texts have no known word; their scores say little", stacklevel=4)

    def _words(self, text: str) -> list[str]:
        return re.findall(self.pattern, APOSTROPHE.sub("'", text.lower()))


@dataclass(frozen=True, eq=False)
class TablePredictor:
    """Predicts the samples of a table.

    columns: of each modality that is read as numbers, by its name. vocabulary: where text is read as words, from a
    column `text`. positive_from: a score counts as positive from here on. most_steps: how many steps of each modality
    are read at most, as in the data that the network was scored on; None for all.
    """

    predictor: SentimentPredictor
    columns: Mapping[str, Sequence[str]]
    vocabulary: Vocabulary | None = None
    positive_from: float = 0.0
    most_steps: int | None = None

    @property
    def read(self) -> list[str]:
        """Returns the names of all columns that are read."""
        own = [name for names in self.columns.values() for name in names]
        return own if self.vocabulary is None else [TEXT, *own]

    def predict(self, table: pd.DataFrame) -> pd.DataFrame:
        """Returns a row per sample: sample, its name, with score and positive, or class and probability_<class>.

        With a column `sample` its rows are a sample's steps, in order; a row that is empty in all columns of a modality
        is no step of it, and the text of a sample stands in one row or in all of them. Without it each row is a sample,
        called by its number, from 1 on. Columns that the model does not read are not looked at. Of each modality the
        first `most_steps` steps are read. A sample without a step to read has empty values, and a warning says how many
        there are; another one how many texts have no known word.

        Raises ValueError, in one line, for a column that is missing or there twice, no rows, a value that is no finite
        number or no text, a row that is empty in some columns of a modality, steps that do not rise, and a sample of
        more than `MOST_STEPS` steps.
        """
        self._check(table)
        codes, names = numbered(table)
        if STEP in table.columns and SAMPLE in table.columns:
            check_rising(table, codes)
        most = self.most_steps
        samples = {name: steps_of(table, list(own), codes, names, most) for name, own in self.columns.items()}
        if self.vocabulary is not None:
            texts = texts_of(table, codes, len(names))
            self.vocabulary.warn_of_unknown(texts)
            samples["text"] = [self.vocabulary.steps(text, name, most) for text, name in zip(texts, names, strict=True)]
        return self._named(self.predictor.outputs(samples), names)

    def _check(self, table: pd.DataFrame) -> None:
        needed = [*self.read, *([] if self.vocabulary is not None else [SAMPLE])]
        absent = [name for name in needed if name not in table.columns]
        if absent:
            raise ValueError(f"column {', '.join(absent)} is missing; the model needs {', '.join(needed)}")
        if not len(table):
            raise ValueError("there are no rows")
        twice = [name for name in (*needed, SAMPLE, STEP) if list(table.columns).count(name) > 1]
        if twice:
            raise ValueError(f"column {twice[0]} is there twice")

    def _named(self, outputs: np.ndarray, names: Sequence[str]) -> pd.DataFrame:
        import pandas as pd

        table = pd.DataFrame({SAMPLE: names})
        if outputs.ndim == 1:
            positive = [bool(score >= self.positive_from) if score == score else None for score in outputs]
            return table.assign(score=outputs, positive=pd.Series(positive, dtype=object))
        classes = [str(name) for name in self.predictor.classes]
        best = [None if np.isnan(row).any() else classes[row.argmax()] for row in outputs]
        shares = {f"probability_{name}": outputs[:, place] for place, name in enumerate(classes)}
        return table.assign(**{"class": pd.Series(best, dtype=object), **shares})

    def save(self, folder: Path) -> None:
        """Writes plain numbers and texts into an existing folder."""
        self.predictor.save(folder / NETWORK)
        words = self.vocabulary
        described = {
            "columns": {name: list(own) for name, own in self.columns.items()}, "positive_from": self.positive_from,
            "most_steps": self.most_steps,
            "words": None if words is None else {"pattern": words.pattern, "words": words.words},
        }  # fmt: skip
        (folder / COLUMNS).write_text(json.dumps(described) + "\n", encoding="utf-8")
        if words is not None:
            np.savez(folder / WORDS, allow_pickle=False, vectors=words.vectors.astype(np.float16))


def load_table_predictor(folder: Path) -> TablePredictor:
    """Returns what `TablePredictor.save` wrote into a folder; it predicts the same. Nothing is unpickled. A model that
    was saved without a number of steps reads all."""
    described = json.loads((folder / COLUMNS).read_text(encoding="utf-8"))
    words, vocabulary = described["words"], None
    if words is not None:
        with np.load(folder / WORDS, allow_pickle=False) as file:
            vocabulary = Vocabulary(tuple(words["words"]), file["vectors"], words["pattern"])
    predictor, _ = load_predictor(folder / NETWORK)
    most = described.get("most_steps")
    return TablePredictor(predictor, described["columns"], vocabulary, described["positive_from"], most)


def numbered(table: pd.DataFrame) -> tuple[np.ndarray, list[str]]:
    """Returns each row's sample as a number from 0, by first appearance, and the names of the samples. Raises
    ValueError for a sample without a name."""
    import pandas as pd

    if SAMPLE not in table.columns:
        return np.arange(len(table)), [str(row + 1) for row in range(len(table))]
    try:
        codes, names = pd.factorize(table[SAMPLE])
    except TypeError as error:  # a list or an object in JSON
        raise ValueError(f"column {SAMPLE} must hold texts or numbers") from error
    if (codes < 0).any():
        raise ValueError(f"column {SAMPLE}, row {int(np.flatnonzero(codes < 0)[0])}: the sample has no name")
    return codes, [str(name) for name in names]


def check_rising(table: Any, codes: np.ndarray) -> None:
    """Raises ValueError where the column `step` does not rise within a sample."""
    steps = numbers_in_column(table[STEP], ADVICE)
    order = np.argsort(codes, kind="stable")
    same, rising = np.diff(codes[order]) == 0, np.diff(steps[order]) > 0
    bad = np.flatnonzero(same & ~rising)
    if len(bad):
        raise ValueError(f"column {STEP}, row {order[bad[0] + 1]}: it does not rise; put the rows of a sample in order")


def first_steps(steps: Steps, what: str, most: int | None) -> Steps:
    """Returns the first `most` steps, None for all. Raises ValueError, beginning with `what`, for more than
    `MOST_STEPS`, whatever `most` is."""
    if len(steps) > MOST_STEPS:
        raise ValueError(f"{what}: {len(steps)} steps; at most {MOST_STEPS}; send fewer")
    return steps[:most]


def steps_of(
    table: Any, columns: list[str], codes: np.ndarray, names: Sequence[str], most: int | None = None
) -> list[np.ndarray]:
    """Returns the first `most` steps of each sample, None for all, (step, column). Raises ValueError for a row that is
    empty in some columns, for a value that is no finite number, and as `first_steps`."""
    values: np.ndarray = np.column_stack([numbers_in_column(table[name], ADVICE) for name in columns])
    empty = np.isnan(values)
    bad = np.argwhere(np.isinf(values) | (empty & ~empty.all(axis=1, keepdims=True)))
    if len(bad):
        row, place = bad[0].tolist()
        raise ValueError(f"column {columns[place]}, row {row}: not a finite number; fill it in, or leave out the row")
    present = np.asarray(~empty.any(axis=1))
    order = np.argsort(codes, kind="stable")
    ends = np.bincount(codes, minlength=len(names)).cumsum()[:-1]
    samples = zip(np.split(order, ends), names, strict=True)
    return [first_steps(values[rows[present[rows]]], f"sample {name}, {columns[0]}", most) for rows, name in samples]


def texts_of(table: Any, codes: np.ndarray, count: int) -> list[str]:
    """Returns the text of each sample, "" where it has none. Raises ValueError for a value that is no text, and for a
    sample with two texts."""
    texts = [""] * count
    for row, (sample, text) in enumerate(zip(codes, table[TEXT], strict=True)):
        if text is None or (isinstance(text, float) and np.isnan(text)):
            continue
        if not isinstance(text, str):
            raise ValueError(f"column {TEXT}, row {row}: {shown(text)} is not a text; {ADVICE}")
        if texts[sample] not in ("", text):
            raise ValueError(f"column {TEXT}, row {row}: the sample has another text already; give it one")
        texts[sample] = text
    return texts


def shown(value: Any) -> str:
    """Returns a wrong value, cut short."""
    return repr(value)[:40]
