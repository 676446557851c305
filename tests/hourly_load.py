"""A table of hours for tests of forecasters."""

from __future__ import annotations

import numpy as np
import pandas as pd

HOURS = pd.date_range("2024-01-01", periods=260, freq="h", name="time")


def hourly_load(rows: int = 260) -> pd.DataFrame:
    """A load that follows the price of its own hour and a day's wave, and heat."""
    generator = np.random.default_rng(0)
    hour, price = 2 * np.pi * np.arange(260) / 24, generator.normal(size=260)
    load = np.sin(hour) + 0.5 * price + 0.05 * generator.normal(size=260)
    heat = 20 + 3 * np.cos(hour) + 0.1 * generator.normal(size=260)
    return pd.DataFrame({"load": load, "price": price, "heat": heat}, index=HOURS)[:rows]
