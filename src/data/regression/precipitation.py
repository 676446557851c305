"""US daily precipitation in January 2010 (NOAA, DSI-3240): a point is a day at a station.

Inputs are longitude, latitude (degrees) and the day; the target is the precipitation in hundredths of an inch. In the
published file the headers of the two coordinates are swapped; here they are put right.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from data.base import DataError
from data.files.exact_numbers import EXACT
from data.files.published import Published
from data.points import Points, random_split
from data.ranges import Count, Held, Seed

# A public copy over https, pinned to a commit.
PUBLISHED = Published(
    "precipitation", "noaa",
    "https://raw.githubusercontent.com/kd383/GPML_SLD/6978138720fa9a681b7768e4d0915800ca382295/demo/precipitation/data/"
    "precipitation3240/",
    {"processed-data-2010-jan.csv": "58bcf553b6f0056517b0e54892c1a4087cfffe78e8c8e611d05e2858f8230220"},
)  # fmt: skip
COLUMN_NAMES = {"latitude": "longitude", "longitude": "latitude", "time": "day", "precipitation": "precipitation"}
INPUTS = ("longitude", "latitude", "day")
STATIONS, DAYS = 400, 31  # of the stand-in


def stand_in_table(*, seed: int) -> pd.DataFrame:
    """Generates smooth rain fronts that cross the country, at random stations."""
    generator = np.random.default_rng(seed)
    place = generator.uniform([-125, 25], [-67, 49], (STATIONS, 2)).repeat(DAYS, 0)
    day = np.tile(np.arange(DAYS, dtype=float), STATIONS)
    front = np.sin(0.15 * place[:, 0] - 0.9 * day + 0.1 * place[:, 1])
    rain = np.clip(60 * front + generator.normal(0, 15, len(day)), 0, None)
    return pd.DataFrame({"longitude": place[:, 0], "latitude": place[:, 1], "day": day, "precipitation": rain})


def load(
    *,
    points: Count | None = None,
    validation: Held = 0,
    test: Held = 0,
    seed: Seed = 0,
    source: str = "auto",
    root: str | None = None,
) -> Points:
    """Returns points of the table: `points` random rows (None: all), split at random, both under the seed.

    Raises DataError for an argument out of range, and for a missing file that cannot be fetched with source=noaa.
    """
    files = PUBLISHED.find(root, source=source)
    table = (
        pd.read_csv(files[0], usecols=list(COLUMN_NAMES), **EXACT).rename(columns=COLUMN_NAMES)
        if files
        else stand_in_table(seed=seed)
    )
    if points is not None and not 1 <= points <= len(table):
        raise DataError(f"points={points}: there are {len(table)} points")
    drawn = np.random.default_rng(seed).permutation(len(table))[:points]
    values = table.iloc[drawn].astype(float)
    split = random_split(len(values), validation=validation, test=test, seed=seed)
    return Points(
        "precipitation", torch.from_numpy(values[list(INPUTS)].to_numpy().copy()),
        torch.from_numpy(values["precipitation"].to_numpy().copy()), *split,
        input_names=INPUTS, target_name="precipitation, 0.01 inch", source="noaa" if files else "stand-in",
        stand_in=not files,
    )  # fmt: skip
