"""A table of a person's own: that its file is there is seen before any work is done."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.settings.messages import of_section

LOADERS = (
    "data.tables.sequences.load_table", "data.tables.points.load", "data.multimodal.table.load_utterances",
    "data.translation.table.PairTable", "data.documents.table.DocumentTable", "data.forms.forms_folder.FormsFolder",
    "data.forms.folder.WordsFolder",
)  # fmt: skip

SECTIONS = {"data": "data", "pretrain_on": "data@pretrain_on"}  # that may read such a table: what chooses each


def is_own_table(section: Any) -> bool:
    """Returns whether a section of the settings, such as `data`, reads a table of a person's own."""
    return isinstance(section, Mapping) and section.get("_target_") in LOADERS


def name_of_table(section: Any) -> str | None:
    """Returns what runs on a table of a person's own are kept under: the name of its file to the first dot. Returns
    None for other data, and where no file is named."""
    path = section.get("path") if is_own_table(section) else None
    return Path(str(path)).name.split(".")[0] or None if path else None


def refuse_missing_file(section: Any, name: str = "data", *, path: str | None = None) -> None:
    """Raises DataError for a section of the settings that reads a table whose file is not named or not there. name: of
    the section.

    Anything else is passed over. A relative path counts from the working directory, as the loader has it. path: in
    place of that of the section; None leaves it.
    """
    if not is_own_table(section):
        return
    from data.files.table_files import existing_file

    with of_section(name):
        existing_file(section.get("path") if path is None else path)
