"""A file of texts that are known, such as the names of streets, one a line."""

from __future__ import annotations

from pathlib import Path

from data.base import DataError


def read_vocabulary(path: str | Path, *, where: str) -> tuple[str, ...]:
    """Returns the texts of `read_texts`, each once. Raises DataError as it does."""
    return tuple(dict.fromkeys(read_texts(path, where=where)))


def read_texts(path: str | Path, *, where: str) -> tuple[str, ...]:
    """Returns the lines of a text file in UTF-8 that are not blank, without the blanks around them, in the order of the
    file. Raises DataError, beginning with `where`, for a file that cannot be read and one without a text."""
    file = Path(path).expanduser()
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise DataError(f"{where}: {file} cannot be read ({error.strerror}); give a file with a text a line") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: {file} is not UTF-8 (byte {error.start}); save it as UTF-8") from None
    texts = tuple(text for line in lines if (text := line.strip()))
    if not texts:
        raise DataError(f"{where}: {file} has no text; give one a line")
    return texts
