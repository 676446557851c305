"""`data=utterances`: a table of the user's own, a text or a step a row, with a label for each sample."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Annotated

import numpy as np
import pandas as pd

from data.base import DataError
from data.drawn_parts import Rows, Shares, drawn
from data.files.column_names import column_name
from data.files.table_files import TextFormat
from data.multimodal.labels import labels_of
from data.multimodal.text import word_steps
from data.multimodal.utterance_file import SAMPLE, STEP, TEXT, UtteranceTable
from data.multimodal.word_vectors import make_words
from data.ranges import Count, Range, Seed, Share
from data.same_content import OwnSamples
from data.utterances import Part, Utterances, Words, words_of

LARGEST = 1e6  # size of a score
PREFIXES = {"text": "t_", "video": "v_", "audio": "a_"}


def modality_columns(table: UtteranceTable, used: set[str]) -> dict[str, list[str]]:
    """Returns the columns of each modality, by how their names begin. used: columns that are something else.

    Raises DataError for a text beside numbers of text, and where no modality is there.
    """
    names = [str(name) for name in table.frame.columns if name not in used]
    columns = {modality: [name for name in names if name.startswith(prefix)] for modality, prefix in PREFIXES.items()}
    columns = {modality: own for modality, own in columns.items() if own}
    if TEXT in table.frame.columns and "text" in columns:
        raise DataError(f"{table.file}: a column {TEXT!r} and {columns['text'][0]!r}; keep the words or the numbers")
    if TEXT not in table.frame.columns and not columns:
        raise DataError(f"{table.file}: no column {TEXT!r}, and none that begins with t_, a_ or v_; name them so")
    return columns


def warn_of_spare(table: UtteranceTable, used: set[str], columns: Mapping[str, list[str]]) -> None:
    """Warns of columns that are nothing. used: those that are labels or groups. columns: of each modality."""
    taken = {TEXT, SAMPLE, STEP, *used, *(name for own in columns.values() for name in own)}
    spare = [name for name in map(str, table.frame.columns) if name not in taken]
    if spare:
        warnings.warn(f"{table.file}: columns that are not used: {', '.join(spare)}", stacklevel=3)


def contents_of(table: UtteranceTable, numbers: Mapping[str, Sequence[np.ndarray]]) -> list[Hashable]:
    """Returns what each sample holds, the words of its text and its numbers, and None for nothing."""
    said = [tuple(words_of(text)) for text in spoken_texts(table)] if TEXT in table.frame.columns else None
    found = list[Hashable]()
    for sample in range(len(table.starts)):
        own = tuple(steps[sample].tobytes() for steps in numbers.values())
        found.append((said[sample] if said else (), own) if any(own) or (said and said[sample]) else None)
    return found


def parts_of(
    table: UtteranceTable, contents: Sequence[Hashable], group: str | None, shares: Shares
) -> tuple[list[str], Rows]:
    """Returns the group of each sample, by a column or by what it holds, and the samples of each part: of groups in a
    column the parts have shares, else of samples. Warns of samples that hold the same. Raises DataError as
    `Shares.counts`."""
    samples = OwnSamples(contents, table.names, table.file, called="sample", column="group")
    if group is None:
        return samples.groups, samples.drawn(shares, by_name=True)
    groups = [str(name) for name in table.one_each(group)]
    codes, names = pd.factorize(np.array(groups, dtype=object), sort=True)
    rows = drawn(codes, np.ones(len(names), int), shares.counts(len(names), "groups"), shares.seed)
    samples.warn_of_shared(rows)
    return groups, rows


def load_utterances(
    *,
    path: str | None = None,
    label: str = "label",
    labels: str = "auto",
    positive: Annotated[float, Range(at_least=-LARGEST, at_most=LARGEST)] = 0.0,
    group: str | None = None,
    words: str = "auto",
    steps: Count | None = None,
    validation: Share = 0.1,
    test: Share = 0.2,
    seed: Seed = 0,
    delimiter: str | None = None,
    decimal: str = "point",
) -> Utterances:
    """Reads a table of the user's: with a column `text` a row is a sample, else a step of the one named in `sample`.

    Columns t_…, a_… and v_… are numbers of text, audio and video; a row that is empty in all of one modality is no step
    of it. label: the column to predict. labels: score, binary, class, or auto; names of classes are texts as they are
    written, so that 1 and 01 are two, but binary labels that are all 0 and 1 are numbers, as TRUE and 1.0 are 1.
    positive: scores from here on count as positive. group: samples of one value stay
    in one part; without it samples that hold the same do, which is warned of. words: see
    `data.multimodal.word_vectors`. steps: of a modality at most. validation, test: shares of the groups, or else of the
    samples, drawn under the seed. delimiter, decimal: of a text file, see `data.files.table_files.TextFormat`.
    Raises DataError (one line: file, row, column) for what cannot be read or split.
    """
    label, group = column_name(label, "label"), column_name(group, "group")
    table = UtteranceTable.read(path, TextFormat(delimiter, decimal, texts=(label, *([group] if group else []))))
    used = {label, *([group] if group else [])}
    columns = modality_columns(table, used)
    told = labels_of(table, label, labels)
    warn_of_spare(table, used, columns)
    numbers = {modality: table.steps(own) for modality, own in columns.items()}
    groups, rows = parts_of(table, contents_of(table, numbers), group, Shares(validation, test, seed))
    texts, known = texts_of(table, rows["train"], words)
    spoken = {} if texts is None or known is None else {"text": word_steps(texts, known, name=str(table.file))}
    whole = Part.of(spoken | numbers, told.values, table.names, groups=groups, texts=texts)
    data = Utterances(
        table.file.name.split(".")[0], {part: whole.pick(own) for part, own in rows.items()}, told.kind,
        f"table:{table.file.name}",
        positive_from=positive, classes=told.classes, words=known,
        columns={modality: tuple(own) for modality, own in columns.items()},
    )  # fmt: skip
    return data.shortened(steps=steps)


def spoken_texts(table: UtteranceTable) -> list[str]:
    """Returns the text of each row, "" for an empty cell."""
    return [str(text) for text in table.column(TEXT).fillna("")]


def texts_of(table: UtteranceTable, train: np.ndarray, words: str) -> tuple[list[str] | None, Words | None]:
    """Returns the texts, "" for an empty cell, and the vectors of their words; None for a table without any."""
    if TEXT not in table.frame.columns:
        return None, None
    texts = spoken_texts(table)
    return texts, make_words(texts, [texts[i] for i in train], choice=words)
