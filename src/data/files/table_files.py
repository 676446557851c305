"""Files that hold tables, read into one frame; what cannot be read ends in one line that names the file."""

from __future__ import annotations

import glob
import gzip
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from data.base import DataError
from data.files.exact_numbers import EXACT
from data.files.npz import MOST_UNPACKED, read_arrays
from data.files.parquet import read_with_index
from data.files.text_checks import (
    BlankLines,
    blank_lines,
    check_quotes,
    warn_of_numbers_for_names,
    warn_of_short_rows,
)

SEQUENCE = "sequence"
JOIN = "join several into one, with a column that tells them apart (group, of time series)"
MOST_SHOWN = 80  # characters of a value that is no path
CHUNK = 1 << 20
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}
DECIMALS = {"comma": ",", "point": "."}
PARTING = ("semicolon", "tab", "pipe", "comma")  # what is likely to part columns
RAGGED = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")  # pandas, of a row that is too long


class Table(NamedTuple):
    """Holds the rows of a file. group: the column that tells its sequences apart, where the file itself has such (3-D
    NPZ). levels: the columns that were no columns of the file but its index (Parquet). blank: the blank lines of a text
    file, of which those between rows are rows too."""

    frame: pd.DataFrame
    group: str | None = None
    levels: tuple[str, ...] = ()
    blank: BlankLines = BlankLines()


def check_gzip(path: Path) -> None:
    """Checks how much a file unpacks to, without taking memory for it. Raises ValueError for more than
    `MOST_UNPACKED` bytes."""
    size = 0
    with gzip.open(path) as stream:
        while chunk := stream.read(CHUNK):
            size += len(chunk)
            if size > MOST_UNPACKED:
                raise ValueError(f"it unpacks to more than {MOST_UNPACKED} bytes; if you trust it, unpack it yourself")


class TextFormat(NamedTuple):
    """Says how a text file is written. delimiter: one character or a name of `DELIMITERS`; None: a comma, or a tab
    in .tsv. decimal: "." or ",", or a name of `DECIMALS`; where commas part columns too, numbers that have one stand in
    quotes. as_written: no cell is a number or missing; each is the text that it is, an empty one too. texts: columns,
    where the file has them, whose cells are texts though they look like numbers, without blanks at their ends, or
    missing. skips_blank: no blank line is a row; it is one else, but where cells are as written, at the end of the
    file, and where one follows each row."""

    delimiter: str | None = None
    decimal: str = "point"
    as_written: bool = False
    texts: tuple[str, ...] = ()
    skips_blank: bool = False

    @property
    def without_blank(self) -> bool:
        """Whether blank lines between rows are passed over."""
        return self.as_written or self.skips_blank

    @property
    def kinds(self) -> dict[str, Any]:
        """What pandas takes the cells for."""
        if self.as_written:
            return {"dtype": str, "keep_default_na": False}
        return {"dtype": dict.fromkeys(self.texts, str), **EXACT}

    def characters(self, path: Path) -> tuple[str, str]:
        """Returns delimiter and decimal point of the file. Raises ValueError for what can be neither."""
        own = "\t" if ".tsv" in path.suffixes else ","
        delimiter = own if self.delimiter is None else DELIMITERS.get(self.delimiter, self.delimiter)
        decimal = DECIMALS.get(self.decimal, self.decimal)
        if len(delimiter) != 1:
            raise ValueError(f"delimiter={delimiter} must be one character or one of {', '.join(DELIMITERS)}")
        if decimal not in DECIMALS.values():
            raise ValueError(f"decimal={decimal} must be point or comma")
        if delimiter == decimal == ".":
            raise DataError("'.' cannot part columns and be the decimal point; give", give={"decimal": "comma"})
        return delimiter, decimal

    def takes_comma(self, path: Path) -> bool:
        """Returns true when decimal=comma can be given for this file, and is not yet."""
        return bool({".csv", ".tsv"} & set(path.suffixes)) and self.characters(path)[1] != ","


def refuse_repeated(names: Any) -> None:
    """Raises ValueError for a name of a column that stands twice."""
    repeated = names[names.duplicated() & names.notna()]
    if len(repeated):
        raise ValueError(f"the column {repeated.iloc[0]!r} stands twice; rename one")


def check_columns(header: Any, delimiter: str) -> None:
    """Checks the names of columns. Raises ValueError for a column that stands twice, and for one column that
    another delimiter would part."""
    refuse_repeated(header)
    for name, other in DELIMITERS.items():
        if len(header) == 1 and name in PARTING and other != delimiter and other in str(header.iloc[0]):
            raise DataError(f"its only column is {header.iloc[0]!r}; give", give={"delimiter": name})


def read_packed_csv(path: Path, text: TextFormat) -> Table:
    check_gzip(path)
    return read_csv(path, text)


def read_csv(path: Path, text: TextFormat) -> Table:
    delimiter, decimal = text.characters(path)
    header = pd.read_csv(path, sep=delimiter, skipinitialspace=True, header=None, nrows=1, dtype=str).iloc[0]
    check_columns(header, delimiter)
    blank = BlankLines() if text.without_blank else blank_lines(path, delimiter)
    if blank.doubled:
        warnings.warn(f"{path}: a blank line follows each row; blank lines are passed over", stacklevel=2)
        blank = BlankLines()
        text = text._replace(skips_blank=True)
    settings = {"sep": delimiter, "decimal": decimal, "skipinitialspace": True, "low_memory": False}
    rows = {"skip_blank_lines": text.without_blank, "skiprows": blank.start, **text.kinds}
    frame = with_own_names(path, {**settings, **rows})
    warn_of_numbers_for_names(path, header, frame)
    for name in set(text.texts) & set(frame.columns):
        stripped = frame[name].str.strip()
        frame[name] = stripped.where(stripped != "")
    check_quotes(path, frame, delimiter, refuses=text.as_written)
    warn_of_short_rows(path, frame, delimiter, skips_blank=text.without_blank)
    return Table(without_empty_end(path, frame.iloc[: len(frame) - blank.end]), blank=blank)


def without_empty_end(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Returns a table without the rows of empty cells alone at its end, as spreadsheets write them, and warns of them.
    A table that has no other rows is left as it is."""
    if frame.empty or not frame.iloc[-1].isna().all():
        return frame
    filled = np.flatnonzero(frame.notna().any(axis=1).to_numpy())
    kept = int(filled[-1]) + 1 if len(filled) else len(frame)
    if kept < len(frame):
        rows = f"{len(frame) - kept} rows" if len(frame) - kept > 1 else "a row"
        warnings.warn(
            f"{path}, row {kept + 2}: the file ends with {rows} of empty cells alone, left out; delete what is "
            "no step, and give a step its time",
            stacklevel=4,
        )
    return frame.iloc[:kept]


def with_own_names(path: Path, settings: dict[str, Any]) -> pd.DataFrame:
    """Returns the table of a text file with every cell under the name at its place; empty cells behind the last name
    are left out.

    Raises ValueError for a filled one there. pandas by itself takes the first cells of such rows for names of rows, so
    that all others are shifted.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(path, index_col=False, **settings)
    except pd.errors.ParserWarning as error:
        raise ValueError(
            "its rows have more cells than the first line has names; name every column, and quote numbers that have a "
            "decimal comma, or write it without row names"
        ) from error


def read_parquet(path: Path, text: TextFormat) -> Table:
    refuse_text_format(text)
    frame, levels = read_with_index(path)
    return Table(frame, levels=levels)


def refuse_text_format(text: TextFormat) -> None:
    if text[:2] != TextFormat()[:2]:
        raise ValueError("delimiter and decimal are for text files; leave them out")


def names_of_features(values: np.ndarray, names: np.ndarray | None) -> list[str]:
    """Returns the names of the features of an array, x0, x1, … where it has none. Raises ValueError for another number
    of names, for one that stands twice, and for that of the column that tells the sequences of a 3-D array apart."""
    columns = [f"x{i}" for i in range(values.shape[-1])] if names is None else [str(name) for name in names]
    if len(columns) != values.shape[-1]:
        raise ValueError(f"{len(columns)} feature_names for {values.shape[-1]} features")
    refuse_repeated(pd.Series(columns, dtype=object))
    if values.ndim == 3 and SEQUENCE in columns:
        raise ValueError(f"a feature is called {SEQUENCE!r}, as the column that tells the sequences apart; rename it")
    return columns


def read_npz(path: Path, text: TextFormat) -> Table:
    """Reads `values`, or the only array, ([sequence,] time, feature), with names from `feature_names`, else x0, x1,
    …"""
    refuse_text_format(text)
    arrays = read_arrays(path)
    names = arrays.pop("feature_names", None)
    values = arrays.get("values", next(iter(arrays.values()))) if len(arrays) == 1 or "values" in arrays else None
    if values is None:
        raise ValueError(f"it holds {', '.join(arrays) or 'no array'}; name the one to use 'values'")
    if values.ndim not in (2, 3):
        raise ValueError(f"values have shape {values.shape}; (time, feature) or (sequence, time, feature) is needed")
    if values.dtype.kind in "mMc":
        raise ValueError(f"values are {values.dtype}; real numbers are needed, and times as numbers too")
    columns = names_of_features(values, names)
    frame = pd.DataFrame(values.reshape(-1, values.shape[-1]).astype(np.float64), columns=columns)
    if values.ndim == 2:
        return Table(frame)
    return Table(frame.assign(**{SEQUENCE: np.repeat(np.arange(len(values)), values.shape[1])}), SEQUENCE)


READERS: dict[str, Callable[[Path, TextFormat], Table]] = {
    ".csv": read_csv,
    ".csv.gz": read_packed_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
    ".npz": read_npz,
}


def way_into(folder: Path) -> str:
    """Says what to give in place of a folder: its table, or all of its tables in one; of a folder without any, a
    table."""
    tables = sorted(own for own in folder.iterdir() if own.name.lower().endswith(tuple(READERS)))
    if not tables:
        return "give a table (.csv, .tsv, .parquet or .npz)"
    return JOIN if tables[1:] else f"give {tables[0]}"


def existing_file(path: Any) -> Path:
    """Returns the path of a file that exists. Raises DataError for a list, a folder and where there is none."""
    if path is None:
        raise DataError("a table needs a file (.csv, .tsv, .parquet or .npz); give", give={"path": "FILE"})
    if not isinstance(path, str | Path):
        raise DataError(f"path must be one file, got {str(path)[:MOST_SHOWN]}; {JOIN}")
    file = Path(path).expanduser()
    if file.is_dir():
        raise DataError(f"{file} is a folder, and path must be one file; {way_into(file)}")
    if not file.is_file() and glob.has_magic(str(file)):
        raise DataError(f"{file}: there is no such file, and path takes no pattern; {JOIN}")
    if not file.is_file():
        raise DataError(f"{file}: there is no such file; give", give={"path": "FILE"})
    return file


def of_parser(reason: str) -> str:
    """Returns what the parser of pandas says of a text file, where it is of rows of unequal length in words of ours."""
    ragged = RAGGED.search(reason)
    if ragged is None:
        return reason.strip().splitlines()[0]
    wanted, line, seen = ragged.groups()
    lengths = f"line {line} has {seen} cells, the lines before it have {wanted}"
    return f"{lengths}; mend that line, or name what parts columns (delimiter)"


def read_frame(path: Path, text: TextFormat) -> Table:
    """Returns the table of a file, with names of columns that are texts.

    Raises DataError for an unknown ending, a file that cannot be read, and one without rows.
    """
    reader = next((read for ending, read in READERS.items() if path.name.lower().endswith(ending)), None)
    if reader is None:
        raise DataError(f"{path}: unknown kind of file; readable are {', '.join(READERS)}")
    try:
        table = reader(path, text)
    except pd.errors.EmptyDataError as error:
        raise DataError(f"{path}: the file is empty; it needs a line of column names, then rows") from error
    except pd.errors.ParserError as error:
        raise DataError(f"{path}: cannot be read: {of_parser(str(error))}") from error
    except DataError as error:
        raise DataError(f"{path}: cannot be read: {error.message}", give=error.give) from error.__cause__
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: cannot be read: it is not UTF-8 ({error.reason}); save the file as UTF-8 (in Excel: CSV UTF-8)"
        ) from error
    except (ValueError, OSError, EOFError, KeyError, MemoryError, zlib.error, zipfile.BadZipFile) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise DataError(f"{path}: cannot be read: {reason}") from error
    if table.frame.empty:
        raise DataError(f"{path}: there are no rows")
    return table._replace(frame=table.frame.rename(columns=str))
