"""A table of a person's own: that its file is there is seen before any work is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.settings.messages import of_section

LOADERS = (
    "data.tables.sequences.load_table", "data.tables.points.load", "data.multimodal.table.load_utterances",
    "data.translation.table.PairTable",
)  # fmt: skip


def refuse_missing_file(section: Any, path: str | None = None) -> None:
    """Raises DataError for a section `data` that reads a table whose file is not named or not there.

    Anything else is passed over. A relative path counts from the working directory, as the loader has it. path: in
    place of that of the section; None leaves it.
    """
    if not isinstance(section, Mapping) or section.get("_target_") not in LOADERS:
        return
    from data.files.table_files import existing_file

    with of_section("data"):
        existing_file(section.get("path") if path is None else path)
