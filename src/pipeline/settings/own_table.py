"""A table of a person's own: that its file is there is seen before any work is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.settings.messages import of_section

CHOICES = {  # loader: choice of `data`
    "data.tables.sequences.load_table": "table",
    "data.tables.points.load": "points",
    "data.multimodal.table.load_utterances": "utterances",
    "data.translation.table.PairTable": "text_pairs",
}


def refuse_missing_file(section: Any) -> None:
    """Raises DataError for a section `data` that reads a table whose file is not named or not there.

    Anything else is passed over. A relative path counts from the working directory, as the loader has it.
    """
    choice = CHOICES.get(str(section.get("_target_"))) if isinstance(section, Mapping) else None
    if choice is None:
        return
    from data.files.table_files import existing_file

    with of_section("data"):
        existing_file(section.get("path"), data=choice)
