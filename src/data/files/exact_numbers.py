"""How pandas is asked to read decimal numbers to the nearest double, in every version."""

from __future__ import annotations

from typing import Any

import pandas as pd

# until 3.0 the default may be off by a last digit; from 3.1 on this is the default, and the argument is deprecated
EXACT: dict[str, Any] = (
    {"float_precision": "round_trip"} if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1) else {}
)
