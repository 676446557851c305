"""Documents as a table, a word a row, and what a model says of them as a table."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from models.documents.predictor import TAGS, DocumentPredictor
from models.documents.words import PageWords, check, visible
from models.runtime.parameters import shown
from models.runtime.request_values import cells_in_column, numbers_in_column

if TYPE_CHECKING:
    import pandas as pd

DOCUMENT, PAGE, WORD = "document", "page", "word"
SIDES, SIZE = ("x0", "y0", "x1", "y1"), ("page_width", "page_height")
COLUMNS = (DOCUMENT, PAGE, WORD, *SIDES, *SIZE)
LABEL, PROBABILITY, ENTITY, CHUNKS = "label", "probability", "entity", "chunks"
OF_FILE = "_of_file"  # behind the name of a column that a model's own would replace
ADVICE = "give a number, or leave it empty"
MOST_PAGE = 32_767


class Rows(NamedTuple):
    """Holds a document of a table, and the row of each of its words, int64 (word,)."""

    document: PageWords
    rows: np.ndarray


def documents_in(table: Any) -> list[Rows]:
    """Returns the documents of a table with `COLUMNS`, a word a row in reading order; other columns are not looked at.

    Boxes may be empty. Pages of a document are counted from 1, or from 0 where a row of it has page 0. Characters that
    are not seen are left out, and words of nothing else are no words; a warning says how many. Raises ValueError, in
    one line with document, page and word, or with the row from 0, for what is no such table, and as
    `models.documents.words.check`.
    """
    check_columns(table)
    names, starts = names_in(table)
    words = [word_in(value, row) for row, value in enumerate(cells_in_column(table[WORD]))]
    boxes = np.column_stack([numbers_in_column(table[side], ADVICE) for side in SIDES])
    sizes = np.column_stack([numbers_in_column(table[side], ADVICE) for side in SIZE])
    (pages, first_pages), there = pages_in(table, starts), np.array([bool(word) for word in words], bool)
    if not there.all():
        warnings.warn(f"{int((~there).sum())} of {len(words)} rows have no word; nothing is said of them", stacklevel=3)
    found = list[Rows]()
    documents = np.split(np.arange(len(words)), starts[1:])
    for name, rows, first_page in zip(names, documents, first_pages.tolist(), strict=True):
        own = rows[there[rows]]
        document = PageWords(
            tuple(words[row] for row in own), boxes[own], pages[own],
            page_sizes(name, pages[rows], sizes[rows], first_page=first_page), name, first_page,
        )  # fmt: skip
        check(document)
        found.append(Rows(document, own))
    return found


def check_columns(table: pd.DataFrame) -> None:
    """Raises ValueError for a column that is missing or there twice, and for no rows."""
    for name in COLUMNS:
        check_column(table, name, f"documents need {', '.join(COLUMNS)}")
    if not len(table):
        raise ValueError("there are no rows")


def check_column(table: pd.DataFrame, name: str, why: str) -> None:
    """Raises ValueError, with why it is needed, for a column that is there twice, and for one that is missing, then
    with the columns that are there."""
    count = list(table.columns).count(name)
    if count > 1:
        raise ValueError(f"column {name} is there twice; {why}")
    if not count:
        there = ", ".join(map(str, table.columns)) or "no columns"
        raise ValueError(f"column {name} is missing; {why}; the table has {there}")


def names_in(table: Any) -> tuple[list[str], np.ndarray]:
    """Returns the names of the documents and the first row of each. Raises ValueError for a document without a name,
    and for one that begins again."""
    import pandas as pd

    try:
        codes, names = pd.factorize(table[DOCUMENT])
    except TypeError as error:  # a list or an object in JSON
        raise ValueError(f"column {DOCUMENT} must hold texts or numbers") from error
    blank = (codes < 0) | np.isin(codes, [place for place, name in enumerate(names) if not str(name).strip()])
    if blank.any():
        raise ValueError(f"column {DOCUMENT}, row {int(blank.argmax())}: it is empty; fill it in or drop the row")
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    if len(starts) > len(names):
        again = int(starts[np.flatnonzero(pd.Series(codes[starts]).duplicated())[0]])
        raise ValueError(
            f"row {again}: document {names[codes[again]]} begins again; keep its rows together, in reading order"
        )
    return [str(name) for name in names], starts


def word_in(value: Any, row: int) -> str:
    """Returns a cell's word, "" for an empty cell. Raises ValueError for what is no word."""
    if value is None:
        return ""
    if isinstance(value, bool | list | dict) or not isinstance(value, str | int | float | np.number):
        raise ValueError(f"column {WORD}, row {row}: {shown(value)} is no word; write it as text")
    return visible(str(value))


def pages_in(table: Any, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the page of each row, from 0 on, and what each document calls its first page, 0 or 1. starts: the first
    row of each document. Raises ValueError for what is no number of a page."""
    pages = numbers_in_column(table[PAGE], "give the number of its page")
    bad = np.flatnonzero(~((pages >= 0) & (pages <= MOST_PAGE) & (pages == np.floor(pages))))
    if len(bad):
        raise ValueError(f"column {PAGE}, row {bad[0]}: its page must be a whole number from 0 or 1 to {MOST_PAGE}")
    first_pages = np.minimum.reduceat(np.minimum(pages, 1), starts).astype(np.int64)
    return pages.astype(np.int64) - np.repeat(first_pages, np.diff(starts, append=len(pages))), first_pages


def page_sizes(name: str, pages: np.ndarray, sizes: np.ndarray, *, first_page: int) -> tuple[tuple[float, float], ...]:
    """Returns the size of each page of a document; one without a row is as large as the one before, or else the first.

    Raises ValueError, naming document and page, for a size that is missing or 0, and for two sizes of one page.
    """
    known: dict[int, tuple[float, float]] = {}
    for page, (wide, high) in zip(pages.tolist(), sizes.tolist(), strict=True):
        if not (0 < wide < np.inf and 0 < high < np.inf):
            raise ValueError(
                f"document {name}, page {page + first_page}: its size is missing or 0; give {' and '.join(SIZE)}"
            )
        if known.setdefault(page, (wide, high)) != (wide, high):
            raise ValueError(
                f"document {name}, page {page + first_page}: it has two sizes; give all its words the same"
            )
    found, last = list[tuple[float, float]](), known[min(known)]
    for page in range(max(known) + 1):
        last = known.get(page, last)
        found.append(last)
    return tuple(found)


def predicted_table(predictor: DocumentPredictor, table: pd.DataFrame) -> pd.DataFrame:
    """Returns what a model says of the documents of a table.

    Of tags the rows of the table with label, probability, entity (its number in the document, from 1) and chunks, in
    how many parts the document was read; they are empty where no word is read, and entity outside of one. A column of
    the table that has one of these names is kept under that name with `OF_FILE`. Of classes a row a document, in their
    order: document, label, its probability, chunks, and probability_<class> of every class.
    Raises as `documents_in` and `DocumentPredictor.tags`.
    """
    found = documents_in(table)
    return tagged_table(predictor, table, found) if predictor.head == TAGS else classified_table(predictor, found)


def tagged_table(predictor: DocumentPredictor, table: pd.DataFrame, found: list[Rows]) -> pd.DataFrame:
    """Returns the rows of the table, under its index, with what a model says of the words."""
    import pandas as pd

    labels = np.full(len(table), None, object)
    probabilities, numbers, chunks = np.full(len(table), np.nan), np.zeros(len(table), np.int64), labels.copy()
    for own, (_, rows) in zip(predictor.tags([each.document for each in found]), found, strict=True):
        read = rows[: len(own.labels)]
        labels[read], probabilities[read], numbers[read], chunks[read] = own.labels, *own[1:]
    entity = pd.Series(numbers).astype("Int64")
    said = {LABEL: labels, PROBABILITY: probabilities, ENTITY: entity.mask(entity == 0).array,
            CHUNKS: pd.Series(chunks).astype("Int64").array}  # fmt: skip
    return kept_columns(table, tuple(said)).assign(**said)


def kept_columns(table: pd.DataFrame, names: tuple[str, ...]) -> pd.DataFrame:
    """Returns the table with `OF_FILE` behind the names of columns that are called as those that a model adds, as often
    as makes each name one that is not there."""
    others = {name: name + OF_FILE for name in names if name in table.columns}
    while again := [name for name, other in others.items() if other in table.columns]:
        others |= {name: others[name] + OF_FILE for name in again}
    return table.rename(columns=others)


def classified_table(predictor: DocumentPredictor, found: list[Rows]) -> pd.DataFrame:
    """Returns a row a document with its class."""
    import pandas as pd

    said = predictor.classes([each.document for each in found])
    every = np.stack([own.probabilities for own in said])
    shares = {f"{PROBABILITY}_{name}": every[:, place] for place, name in enumerate(predictor.outputs)}
    return pd.DataFrame({
        DOCUMENT: [each.document.name for each in found], LABEL: pd.Series([own.label for own in said], dtype=object),
        PROBABILITY: every.max(1), CHUNKS: [own.chunks for own in said], **shares,
    })  # fmt: skip
