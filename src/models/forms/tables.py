"""Boxes of forms as a table with a row a box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from models.forms.reader import ReadBox

if TYPE_CHECKING:
    import pandas as pd

SIDES = ("x0", "y0", "x1", "y1")
TYPES = {"form": str, "order": "int64", **dict.fromkeys(SIDES, float), "class": str, "score": float, "text": str,
         "probability": float, "read": str}  # fmt: skip


def found_table(forms: Mapping[str, Sequence[ReadBox]]) -> pd.DataFrame:
    """Returns the boxes of forms, by their names: form, order (of words, from 0, else -1), x0, y0, x1, y1 in pixels,
    class, score, text ("" where nothing is read), probability, and read, the text that it is of: as it was before it
    was corrected. A form without a box has no row."""
    import pandas as pd

    rows = [
        {"form": name, "order": own.order, **dict(zip(SIDES, own.box, strict=True)), "class": own.kind,
         "score": own.score, "text": own.text, "probability": own.probability,
         "read": own.read}
        for name, boxes in forms.items() for own in boxes
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(TYPES)).astype(TYPES)
